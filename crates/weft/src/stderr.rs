//! Standard error, for progress.

use std::io::{self, Write};

/// Prints a progress line. Errors are ignored: a closed standard error must not stop the command.
pub(crate) fn progress_line(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
