//! Standard output: it is buffered, knows whether it is a terminal, and remembers when its reader has gone.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;

use crate::style::Style;

/// Standard output.
pub(crate) struct Out {
    inner: BufWriter<Stdout>,
    closed: bool,
    /// Colours, if any.
    pub(crate) style: Style,
    /// Columns of the terminal; `None` if the output is no terminal, and then nothing may be cut.
    pub(crate) width: Option<usize>,
}

impl Out {
    /// Opens the standard output of the process.
    pub(crate) fn stdout() -> Out {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        let width = terminal
            .then(|| terminal_size::terminal_size_of(&stdout))
            .flatten()
            .map(|(width, _)| usize::from(width.0).max(40));
        Out {
            inner: BufWriter::with_capacity(1 << 16, stdout),
            closed: false,
            style: Style::new(terminal),
            width,
        }
    }

    /// Whether the reader has gone: everything written after that was lost.
    pub(crate) fn closed(&self) -> bool {
        self.closed
    }

    /// Prints one JSON value on one line.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self, value)?;
        self.write_all(b"\n")
    }

    /// For bytes that strangers wrote: on a terminal without control characters but tabs and line ends, elsewhere as they are.
    pub(crate) fn of_strangers(&mut self) -> OfStrangers<'_> {
        OfStrangers {
            is_for_terminal: self.width.is_some(),
            out: self,
            last: 0,
        }
    }

    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            self.closed = true;
        }
        result
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.note(result)
    }
}

/// [`Out::of_strangers`].
pub(crate) struct OfStrangers<'a> {
    out: &'a mut Out,
    is_for_terminal: bool,
    /// The last byte, before it was made harmless.
    last: u8,
}

impl Write for OfStrangers<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_for_terminal {
            return self.out.write(bytes);
        }
        let mut harmless = Vec::with_capacity(bytes.len());
        for byte in bytes {
            harmless.push(harmless_byte(self.last, *byte));
            self.last = *byte;
        }
        self.out.write_all(&harmless)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A byte as a terminal may have it, behind the one before: escape sequences begin with ESC, or in UTF-8 with `C2 9B`.
fn harmless_byte(before: u8, byte: u8) -> u8 {
    match byte {
        b'\n' | b'\t' => byte,
        0..0x20 | 0x7f => b' ',
        // A space that does not break, whose first byte is the same.
        0x80..0xa0 if before == 0xc2 => 0xa0,
        _ => byte,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_escape_sequences() {
        for (bytes, expected) in [
            ("a\tb\nc", "a\tb\nc"),
            ("\x1b]0;title\x07", " ]0;title "),
            ("\u{9b}31m\r\n", "\u{a0}31m \n"),
            ("Grüße, Â日本\u{a0}", "Grüße, Â日本\u{a0}"),
        ] {
            let mut before = 0;
            let found = bytes.bytes().map(|byte| {
                let harmless = harmless_byte(before, byte);
                before = byte;
                harmless
            });
            assert_eq!(String::from_utf8(found.collect()).as_deref(), Ok(expected));
        }
    }
}
