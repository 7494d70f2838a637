//! Standard error, for progress.

use std::io::{self, Write};

/// Prints a line about progress. A closed standard error is ignored: it is no reason to stop.
pub(crate) fn progress_line(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
