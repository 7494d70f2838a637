//! Text that is put together from parts and has an end.
//!
//! A few bytes of a page can stand for a long text, again and again: each of the pictures of a `srcset` grows to the length of the
//! page's `<base>`. So the length is checked before each part is added.

use std::io;

/// Most bytes that the attributes of one tag, one text or one document in them come to once they are rewritten: twice the longest
/// style that is rewritten ([`CSS_BYTES_MAX`](crate::CSS_BYTES_MAX)). Ordinary references grow to two or three times their length, and
/// an ordinary page has far less than a megabyte of them in one place.
pub const REWRITTEN_BYTES_MAX: usize = 16 << 20;

/// Text of [`REWRITTEN_BYTES_MAX`] bytes at most.
#[derive(Debug, Default)]
pub(crate) struct Bounded(String);

/// There would be more than [`REWRITTEN_BYTES_MAX`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {REWRITTEN_BYTES_MAX} bytes once it is rewritten")]
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

/// Whether so many bytes are not too many.
pub(crate) fn check(bytes: usize) -> Result<(), TooLong> {
    match bytes <= REWRITTEN_BYTES_MAX {
        true => Ok(()),
        false => Err(TooLong),
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
