//! A consistent cut through all tables, and reading rows from it.
//!
//! Only the writer takes a cut, after an epoch is durable; [`crate::Index::snapshot`] hands it out.
//! So a cut never shows half an epoch, whatever the engine guarantees about snapshots taken during
//! a commit. The epoch number is read from the cut itself.

use std::sync::Arc;

use engine::diagnosis::ErrorMessage;
use fjall::{Keyspace, Readable, Slice};

use crate::codec::Corrupt;
use crate::error::{SnapshotError, is_damage};
use crate::packed::Dictionary;
use crate::tables::{Table, Tables};

/// A row as stored.
pub(crate) type Row = (Slice, Slice);

/// A consistent cut.
#[derive(Clone)]
pub(crate) struct Cut {
    /// If the index is closed, the reason.
    open: Result<Open, Arc<str>>,
}

#[derive(Clone)]
struct Open {
    tables: Arc<Tables>,
    snapshot: fjall::Snapshot,
}

impl Cut {
    /// Takes a cut. Must be called only between commits.
    pub(crate) fn take(tables: &Arc<Tables>) -> Cut {
        Cut {
            open: Ok(Open {
                tables: tables.clone(),
                snapshot: tables.db.snapshot(),
            }),
        }
    }

    /// Returns a cut of a closed index. Every read of it fails with the reason `since`.
    pub(crate) fn closed(since: &str) -> Cut {
        Cut {
            open: Err(since.into()),
        }
    }

    /// The tables, if the index is open.
    pub(crate) fn tables(&self) -> Option<&Arc<Tables>> {
        self.open.as_ref().ok().map(|open| &open.tables)
    }

    /// The dictionary that rows of links are compressed with, if there is one.
    pub(crate) fn link_dictionary(&self) -> Option<&Arc<Dictionary>> {
        self.tables().and_then(|tables| tables.link_dictionary())
    }

    fn open(&self) -> Result<&Open, SnapshotError> {
        self.open.as_ref().map_err(|since| SnapshotError::Closed {
            since: since.to_string(),
        })
    }

    pub(crate) fn get(&self, table: Table, key: &[u8]) -> Result<Option<Slice>, SnapshotError> {
        let open = self.open()?;
        let found = open.snapshot.get(open.tables.space(table), key);
        found.map_err(|e| failed(table, &e))
    }

    pub(crate) fn contains(&self, table: Table, key: &[u8]) -> Result<bool, SnapshotError> {
        let open = self.open()?;
        let found = open.snapshot.contains_key(open.tables.space(table), key);
        found.map_err(|e| failed(table, &e))
    }

    /// All rows in key order.
    pub(crate) fn iter(&self, table: Table) -> Rows {
        self.rows(table, |snapshot, space| snapshot.iter(space))
    }

    /// Rows whose key begins with `prefix`.
    pub(crate) fn prefix(&self, table: Table, prefix: &[u8]) -> Rows {
        self.rows(table, |snapshot, space| snapshot.prefix(space, prefix))
    }

    /// Rows with keys from `from` (inclusive) to `to` (exclusive).
    pub(crate) fn range(&self, table: Table, from: &[u8], to: &[u8]) -> Rows {
        if from >= to {
            return Rows {
                table,
                rows: None,
                failure: None,
            };
        }
        self.rows(table, |snapshot, space| {
            snapshot.range::<&[u8], _>(space, from..to)
        })
    }

    /// Rows with keys from `from` on.
    pub(crate) fn from(&self, table: Table, from: &[u8]) -> Rows {
        self.rows(table, |snapshot, space| snapshot.range::<&[u8], _>(space, from..))
    }

    fn rows(&self, table: Table, rows: impl FnOnce(&fjall::Snapshot, &Keyspace) -> fjall::Iter) -> Rows {
        let (rows, failure) = match self.open() {
            Ok(open) => (Some(rows(&open.snapshot, open.tables.space(table))), None),
            Err(closed) => (None, Some(closed)),
        };
        Rows { table, rows, failure }
    }

    /// Adds table and key to the error if a row cannot be decoded.
    pub(crate) fn decode<T>(
        &self,
        table: Table,
        key: &[u8],
        decoded: Result<T, Corrupt>,
    ) -> Result<T, SnapshotError> {
        decoded.map_err(|Corrupt(detail)| SnapshotError::Corrupt {
            table: table.name(),
            key: key.escape_ascii().to_string(),
            detail,
        })
    }
}

/// Rows of one table in key order, from either end.
pub(crate) struct Rows {
    table: Table,
    rows: Option<fjall::Iter>,
    /// Returned once, in place of rows.
    failure: Option<SnapshotError>,
}

impl Rows {
    fn row(&self, guard: fjall::Guard) -> Result<Row, SnapshotError> {
        guard.into_inner().map_err(|e| failed(self.table, &e))
    }
}

impl Iterator for Rows {
    type Item = Result<Row, SnapshotError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(failure) = self.failure.take() {
            return Some(Err(failure));
        }
        let guard = self.rows.as_mut()?.next()?;
        Some(self.row(guard))
    }
}

impl DoubleEndedIterator for Rows {
    fn next_back(&mut self) -> Option<Self::Item> {
        if let Some(failure) = self.failure.take() {
            return Some(Err(failure));
        }
        let guard = self.rows.as_mut()?.next_back()?;
        Some(self.row(guard))
    }
}

fn failed(table: Table, error: &fjall::Error) -> SnapshotError {
    let (table, detail) = (table.name(), ErrorMessage(error).to_string());
    if is_damage(error) {
        SnapshotError::Damaged { table, detail }
    } else {
        SnapshotError::Engine { table, detail }
    }
}

/// Returns the smallest key that sorts after every key with `prefix`; `None` if there is no such
/// key.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    // Trailing bytes of 0xff cannot be incremented, so the byte before them is.
    let last = prefix.iter().rposition(|&b| b != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}
