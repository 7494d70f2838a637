//! Standard output: buffered, aware of terminals and of a reader that has closed its end.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;

use crate::style::Style;

/// Standard output.
pub(crate) struct Out {
    inner: BufWriter<Stdout>,
    closed: bool,
    /// Colours, if any.
    pub(crate) style: Style,
    /// Columns of the terminal; `None` if the output is not a terminal, in which case nothing is
    /// truncated.
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

    /// Returns whether the reader has closed its end. Later output is lost.
    pub(crate) fn closed(&self) -> bool {
        self.closed
    }

    /// Prints one JSON value on one line.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self, value)?;
        self.write_all(b"\n")
    }

    /// Returns a writer for untrusted bytes. On a terminal it replaces control characters except
    /// tabs and line ends; elsewhere it passes bytes through.
    pub(crate) fn untrusted(&mut self) -> UntrustedWriter<'_> {
        UntrustedWriter {
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

/// The writer returned by [`Out::untrusted`].
pub(crate) struct UntrustedWriter<'a> {
    out: &'a mut Out,
    is_for_terminal: bool,
    /// The last input byte, before replacement.
    last: u8,
}

impl Write for UntrustedWriter<'_> {
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

/// Returns the byte, made safe for a terminal, given the byte before it. Escape sequences begin
/// with ESC, or with `C2 9B` in UTF-8.
fn harmless_byte(before: u8, byte: u8) -> u8 {
    match byte {
        b'\n' | b'\t' => byte,
        0..0x20 | 0x7f => b' ',
        // A no-break space, which has the same first byte in UTF-8.
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
