//! Text in CSV that people open with spreadsheets.

use std::borrow::Cow;

/// A value that a spreadsheet would take for a formula is text there, too.
pub(crate) fn csv_text(value: &str) -> Cow<'_, str> {
    match value.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => Cow::Owned(format!("'{value}")),
        false => Cow::Borrowed(value),
    }
}
