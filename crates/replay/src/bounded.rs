//! Text of bounded length that is built from parts.
//!
//! A few bytes of a page can repeatedly expand to a long text: each picture of a `srcset` can grow
//! to the length of the page's `<base>`. So the length is checked before each part is added.

use std::io;

/// Maximum number of bytes of the attributes of one tag, of one text, or of one document in them
/// after rewriting: twice the longest style sheet that is rewritten
/// ([`CSS_BYTES_MAX`](crate::CSS_BYTES_MAX)). Ordinary references grow to two or three times their
/// length, and an ordinary page has far less than a megabyte of them in one place.
pub const REWRITTEN_BYTES_MAX: usize = 16 << 20;

/// Maximum memory of a document being rewritten, without its pieces, in bytes. A longer tag or text
/// of a style sheet ends the rewriting with an error.
pub const MEMORY_BYTES_MAX: usize = 64 << 20;

/// Text of at most [`REWRITTEN_BYTES_MAX`] bytes.
#[derive(Debug, Default)]
pub(crate) struct Bounded(String);

/// The result would have more than [`REWRITTEN_BYTES_MAX`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {REWRITTEN_BYTES_MAX} bytes after rewriting")]
pub(crate) struct TooLong;

impl Bounded {
    pub(crate) fn push(&mut self, part: &str) -> Result<(), TooLong> {
        check(self.0.len() + part.len())?;
        self.0.push_str(part);
        Ok(())
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// Fails if this number of bytes exceeds the limit.
pub(crate) fn check(bytes: usize) -> Result<(), TooLong> {
    if bytes <= REWRITTEN_BYTES_MAX {
        Ok(())
    } else {
        Err(TooLong)
    }
}

impl From<TooLong> for io::Error {
    fn from(error: TooLong) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_at_the_bound() {
        let mut text = Bounded::default();
        let half = "x".repeat(REWRITTEN_BYTES_MAX / 2);
        assert_eq!((text.push(&half), text.push(&half)), (Ok(()), Ok(())));
        assert_eq!((text.push("x"), text.push("")), (Err(TooLong), Ok(())));
        assert_eq!(text.into_text().len(), REWRITTEN_BYTES_MAX);
    }
}
