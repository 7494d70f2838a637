//! A peekable cursor over sorted rows, for merging several tables by key.

use super::Failure;

/// A cursor over rows that has already read the next one.
pub(super) struct Peeked<I, T> {
    rows: I,
    next: Option<(Vec<u8>, T)>,
}

impl<T, I: Iterator<Item = Result<(Vec<u8>, T), Failure>>> Peeked<I, T> {
    pub(super) fn of(mut rows: I) -> Result<Peeked<I, T>, Failure> {
        let next = rows.next().transpose()?;
        Ok(Peeked { rows, next })
    }

    /// Key of the next row.
    pub(super) fn key(&self) -> Option<&[u8]> {
        self.next.as_ref().map(|(key, _)| key.as_slice())
    }

    /// Returns the next row if it has this key.
    pub(super) fn take(&mut self, key: &[u8]) -> Result<Option<T>, Failure> {
        if self.key() != Some(key) {
            return Ok(None);
        }
        let following = self.rows.next().transpose()?;
        Ok(std::mem::replace(&mut self.next, following).map(|(_, row)| row))
    }

    /// Returns the key of the next row if it is before `key`, and advances.
    pub(super) fn take_before(&mut self, key: Option<&[u8]>) -> Result<Option<Vec<u8>>, Failure> {
        let is_before = self.key().is_some_and(|next| key.is_none_or(|key| next < key));
        if !is_before {
            return Ok(None);
        }
        let following = self.rows.next().transpose()?;
        Ok(std::mem::replace(&mut self.next, following).map(|(key, _)| key))
    }
}
