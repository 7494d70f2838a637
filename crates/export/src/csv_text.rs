//! Text in CSV that people open with spreadsheets.

use std::borrow::Cow;

/// Returns a value with a leading `'` if a spreadsheet would take it for a formula.
pub(crate) fn csv_text(value: &str) -> Cow<'_, str> {
    if value.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{value}"))
    } else {
        Cow::Borrowed(value)
    }
}
