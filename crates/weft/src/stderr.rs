//! Standard error: how things go.

use std::io::{self, Write};

/// A line about how things go. A closed standard error is no reason to stop.
pub(crate) fn progress_line(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
