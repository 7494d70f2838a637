//! Captures of a snapshot in order, forward and backward.

use super::Snapshot;
use crate::cut::{Row, Rows, after_prefix};
use crate::error::SnapshotError;
use crate::rows::{CaptureRow, KeyRange};
use crate::tables::Table;
use crate::views::captures;

/// Row keys of captures from `from` on, up to but without `to`.
pub(super) struct Span {
    pub(super) from: Vec<u8>,
    pub(super) to: Option<Vec<u8>>,
    /// Only those of this URL key: rows of a longer key with a NUL in it stand among them.
    pub(super) exact: Option<String>,
}

impl Span {
    pub(super) fn of(range: KeyRange) -> Span {
        let (from, to, exact) = match range {
            KeyRange::All => (Vec::new(), None, None),
            KeyRange::Prefix(prefix) => {
                let to = after_prefix(prefix.as_bytes());
                (prefix.into_bytes(), to, None)
            }
            KeyRange::Between(start, end) => (start.into_bytes(), Some(end.into_bytes()), None),
            KeyRange::Exact(url_key) => {
                let from = captures::key_prefix(&url_key);
                let to = after_prefix(&from);
                (from, to, Some(url_key))
            }
        };
        Span { from, to, exact }
    }
}

/// Captures in order; see [`Snapshot::captures`] and [`Snapshot::captures_reversed`].
pub struct Captures {
    pub(super) snapshot: Snapshot,
    pub(super) rows: Rows,
    pub(super) reversed: bool,
    pub(super) exact: Option<String>,
    pub(super) cursor: Vec<u8>,
}

impl Captures {
    /// Where the capture given last stands: going on after it gives the next (going back before it, the one before).
    pub fn cursor(&self) -> &[u8] {
        &self.cursor
    }

    /// Passes over `count` captures without reading what they hold; gives how many there were.
    ///
    /// # Errors
    /// [`SnapshotError`] where a row cannot be read.
    pub fn skip_rows(&mut self, count: usize) -> Result<usize, SnapshotError> {
        for passed in 0..count {
            let Some(row) = self.next_row() else {
                return Ok(passed);
            };
            self.cursor.clear();
            self.cursor.extend_from_slice(&row?.0);
        }
        Ok(count)
    }

    /// The next row that belongs to the range.
    fn next_row(&mut self) -> Option<Result<Row, SnapshotError>> {
        loop {
            let row = if self.reversed {
                self.rows.next_back()?
            } else {
                self.rows.next()?
            };
            if let (Ok((key, _)), Some(exact)) = (&row, &self.exact)
                && !captures::is_of_key(key, exact)
            {
                continue;
            }
            return Some(row);
        }
    }

    fn row(&self, key: &[u8], value: &[u8]) -> Result<CaptureRow, SnapshotError> {
        let stored = captures::decode(key, value);
        let stored = self.snapshot.cut().decode(Table::Captures, key, stored)?;
        self.snapshot.capture_row(stored)
    }
}

impl Iterator for Captures {
    type Item = Result<CaptureRow, SnapshotError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = match self.next_row()? {
            Ok(row) => row,
            Err(e) => return Some(Err(e)),
        };
        self.cursor.clear();
        self.cursor.extend_from_slice(&key);
        Some(self.row(&key, &value))
    }
}
