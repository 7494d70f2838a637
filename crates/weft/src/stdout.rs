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
