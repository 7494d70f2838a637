//! Rows of a table in the order of their keys, forward or backward.

use std::sync::Arc;

use facts::serving::{Group, ServingTable};
use index::{CaptureRow, KeyRange, SnapshotError, Span};

use super::ServedTables;
use crate::views::CaptureWalk;

/// A row, and its key as bytes.
pub(super) struct TableRow {
    pub(super) group: Arc<Group>,
    pub(super) row: usize,
    pub(super) key: Vec<u8>,
}

/// Rows with keys from `from` (inclusive) to `to` (exclusive).
pub(super) struct RowWalk {
    tables: ServedTables,
    table: ServingTable,
    from: Vec<u8>,
    to: Option<Vec<u8>>,
    reversed: bool,
    /// The row group that rows are taken from, and the place of the next row. In a backward walk the
    /// next row is before that place.
    current: Option<(Arc<Group>, usize)>,
    /// Number of the row group after that.
    next_group: Option<usize>,
}

impl RowWalk {
    pub(super) fn new(
        tables: &ServedTables,
        table: ServingTable,
        (from, to): (Vec<u8>, Option<Vec<u8>>),
        reversed: bool,
    ) -> Result<RowWalk, SnapshotError> {
        let places = tables.reader(table)?.places();
        let next_group = if reversed {
            let end = match &to {
                Some(to) => places.partition_point(|place| *place.first < **to),
                None => places.len(),
            };
            end.checked_sub(1)
        } else {
            let begin = places.partition_point(|place| *place.first <= *from);
            (!places.is_empty()).then_some(begin.saturating_sub(1))
        };
        Ok(RowWalk {
            tables: tables.clone(),
            table,
            from,
            to,
            reversed,
            current: None,
            next_group,
        })
    }

    /// Returns the next row.
    pub(super) fn next_row(&mut self) -> Result<Option<TableRow>, SnapshotError> {
        loop {
            let Some((group, place)) = self.current.take() else {
                match self.next_group.take() {
                    Some(number) => self.enter(number)?,
                    None => return Ok(None),
                }
                continue;
            };
            let row = if self.reversed {
                place.checked_sub(1)
            } else {
                (place < group.len()).then_some(place)
            };
            let Some(row) = row else { continue };
            let key = group.key(row);
            let is_past = if self.reversed {
                key < self.from
            } else {
                self.to.as_ref().is_some_and(|to| key >= *to)
            };
            if is_past {
                self.next_group = None;
                return Ok(None);
            }
            let next = if self.reversed { row } else { row + 1 };
            self.current = Some((Arc::clone(&group), next));
            return Ok(Some(TableRow { group, row, key }));
        }
    }

    /// Reads a row group, and finds the place of its first row in the range.
    fn enter(&mut self, number: usize) -> Result<(), SnapshotError> {
        let group = self.tables.group(self.table, number)?;
        let place = match (&self.to, self.reversed) {
            (Some(to), true) => group.lower_bound(to),
            (None, true) => group.len(),
            (_, false) => group.lower_bound(&self.from),
        };
        self.current = Some((group, place));
        self.next_group = if self.reversed {
            number.checked_sub(1)
        } else {
            let groups = self.tables.reader(self.table)?.places().len();
            Some(number + 1).filter(|next| *next < groups)
        };
        Ok(())
    }
}

/// Captures in order.
pub(super) struct TableCaptures {
    tables: ServedTables,
    span: Span,
    /// Whether captures known only from indexes are left out.
    records_only: bool,
    reversed: bool,
    /// `None` before the first capture and after a failure.
    rows: Option<RowWalk>,
    is_begun: bool,
    cursor: Vec<u8>,
}

impl TableCaptures {
    pub(super) fn new(
        tables: &ServedTables,
        range: KeyRange,
        at: Option<&[u8]>,
        reversed: bool,
        records_only: bool,
    ) -> TableCaptures {
        TableCaptures {
            tables: tables.clone(),
            span: Span::of(range).beyond(reversed, at),
            records_only,
            reversed,
            rows: None,
            is_begun: false,
            cursor: Vec::new(),
        }
    }

    /// Returns the next row that belongs to the range.
    fn next_found(&mut self) -> Result<Option<TableRow>, SnapshotError> {
        if !self.is_begun {
            self.is_begun = true;
            let keys = (self.span.from.clone(), self.span.to.clone());
            self.rows = Some(RowWalk::new(
                &self.tables,
                ServingTable::Captures,
                keys,
                self.reversed,
            )?);
        }
        let Some(mut rows) = self.rows.take() else {
            return Ok(None);
        };
        while let Some(found) = rows.next_row()? {
            let is_left_out = self.records_only && found.group.bool("index_only", found.row) == Some(true);
            if !is_left_out && self.span.has(&found.key) {
                self.cursor.clone_from(&found.key);
                self.rows = Some(rows);
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

impl Iterator for TableCaptures {
    type Item = Result<CaptureRow, SnapshotError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_found() {
            Ok(Some(found)) => Some(self.tables.capture_row(&found.group, found.row)),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl CaptureWalk for TableCaptures {
    fn cursor(&self) -> &[u8] {
        &self.cursor
    }

    fn skip_rows(&mut self, count: usize) -> Result<usize, SnapshotError> {
        for passed in 0..count {
            if self.next_found()?.is_none() {
                return Ok(passed);
            }
        }
        Ok(count)
    }
}
