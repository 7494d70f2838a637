//! The error of texts that are not a value of their kind.

/// A text of a user is not a value of its kind, for example an unknown name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{before}{text:?}: expected {expected}")]
pub struct ParseValueError {
    before: &'static str,
    text: String,
    expected: &'static str,
}

impl ParseValueError {
    /// Makes an error such as `unknown format "x": expected csv or parquet`. The words `before` the
    /// text may be empty.
    pub fn new(before: &'static str, text: &str, expected: &'static str) -> ParseValueError {
        ParseValueError {
            before,
            text: text.to_owned(),
            expected,
        }
    }
}
