//! An error in the text of rules, and its place.

/// An error in the text.
pub(super) struct SyntaxError {
    /// Byte offset at which it was found.
    pub(super) offset: usize,
    /// Describes the error and the expected input.
    pub(super) message: String,
}

impl SyntaxError {
    pub(super) fn new(offset: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError {
            offset,
            message: message.into(),
        }
    }
}

pub(super) type ParseResult<T> = Result<T, SyntaxError>;
