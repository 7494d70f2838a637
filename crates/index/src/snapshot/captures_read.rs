//! Captures of a snapshot in order, forward and backward.

use super::{Covering, Snapshot};
use crate::cut::{Row, Rows, after_prefix};
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::rows::{CaptureRow, KeyRange};
use crate::tables::Table;
use crate::views::capture_key::{is_of_key, key_prefix};
use crate::views::captures;
use crate::views::index_lines;
use extract::IndexLine;

/// Row keys of captures from `from` (inclusive) to `to` (exclusive).
#[derive(Debug, Clone)]
pub struct Span {
    /// First row key, which need not exist.
    pub from: Vec<u8>,
    /// End of the row keys; `None` for all from `from` on.
    pub to: Option<Vec<u8>>,
    /// Limits the rows to this URL key: rows of a longer key that contains a NUL may be among them.
    pub(super) exact: Option<String>,
}

impl Span {
    /// Returns the row keys of a range.
    pub fn of(range: KeyRange) -> Span {
        let (from, to, exact) = match range {
            KeyRange::All => (Vec::new(), None, None),
            KeyRange::Prefix(prefix) => {
                let to = after_prefix(prefix.as_bytes());
                (prefix.into_bytes(), to, None)
            }
            KeyRange::Between(start, end) => (start.into_bytes(), Some(end.into_bytes()), None),
            KeyRange::Exact(url_key) => {
                let from = key_prefix(&url_key);
                let to = after_prefix(&from);
                (from, to, Some(url_key))
            }
        };
        Span { from, to, exact }
    }

    /// Returns the part after a row key, or before it in a backward walk.
    #[must_use]
    pub fn beyond(mut self, reversed: bool, at: Option<&[u8]>) -> Span {
        let Some(at) = at else { return self };
        if reversed {
            if self.to.as_deref().is_none_or(|to| at < to) {
                self.to = Some(at.to_vec());
            }
        } else if at >= self.from.as_slice() {
            self.from = at.to_vec();
            self.from.push(0);
        }
        self
    }

    /// Returns whether a row key from `from` to `to` belongs to the range.
    pub fn has(&self, key: &[u8]) -> bool {
        self.exact.as_ref().is_none_or(|exact| is_of_key(key, exact))
    }
}

/// Captures in order; see [`Snapshot::captures`] and [`Snapshot::captures_reversed`].
pub struct Captures {
    pub(super) snapshot: Snapshot,
    pub(super) rows: Rows,
    pub(super) reversed: bool,
    pub(super) exact: Option<String>,
    pub(super) cursor: Vec<u8>,
    /// Index lines, which are merged with the captures.
    pub(super) line_merge: Option<Box<LineMerge>>,
}

/// Index lines merged with captures. Holds the next row of each, once it is read.
pub(super) struct LineMerge {
    lines: Rows,
    line: Option<(Vec<u8>, InputId, IndexLine)>,
    capture: Option<Row>,
    covering: Covering,
}

/// A row of either table.
enum MergedRow {
    Capture(Row),
    Line(Vec<u8>, InputId, Box<IndexLine>),
}

impl MergedRow {
    fn key(&self) -> &[u8] {
        match self {
            MergedRow::Capture((key, _)) => key,
            MergedRow::Line(key, ..) => key,
        }
    }
}

impl Captures {
    pub(super) fn with_lines(mut self, lines: Rows) -> Captures {
        self.line_merge = Some(Box::new(LineMerge {
            lines,
            line: None,
            capture: None,
            covering: Covering::default(),
        }));
        self
    }

    /// Cursor of the last returned capture. Continuing after it returns the next one; in a backward
    /// walk, the previous one.
    pub fn cursor(&self) -> &[u8] {
        &self.cursor
    }

    /// Skips `count` captures without decoding them. Returns how many there were.
    ///
    /// # Errors
    /// [`SnapshotError`] if a row cannot be read.
    pub fn skip_rows(&mut self, count: usize) -> Result<usize, SnapshotError> {
        for passed in 0..count {
            let Some(found) = self.next_found().transpose()? else {
                return Ok(passed);
            };
            self.cursor.clear();
            self.cursor.extend_from_slice(found.key());
        }
        Ok(count)
    }

    /// Returns the next row that belongs to the range.
    fn next_row(&mut self) -> Option<Result<Row, SnapshotError>> {
        loop {
            let row = if self.reversed {
                self.rows.next_back()?
            } else {
                self.rows.next()?
            };
            if let (Ok((key, _)), Some(exact)) = (&row, &self.exact)
                && !is_of_key(key, exact)
            {
                continue;
            }
            return Some(row);
        }
    }

    /// Returns the next row of either table.
    fn next_found(&mut self) -> Option<Result<MergedRow, SnapshotError>> {
        let Some(mut line_merge) = self.line_merge.take() else {
            return self.next_row().map(|row| row.map(MergedRow::Capture));
        };
        let found = self.next_of_both(&mut line_merge);
        self.line_merge = Some(line_merge);
        found.transpose()
    }

    fn next_of_both(&mut self, line_merge: &mut LineMerge) -> Result<Option<MergedRow>, SnapshotError> {
        if line_merge.capture.is_none() {
            line_merge.capture = self.next_row().transpose()?;
        }
        if line_merge.line.is_none() {
            line_merge.line = self.next_line(line_merge)?;
        }
        let is_line_first = match (&line_merge.line, &line_merge.capture) {
            (Some((line, ..)), Some((capture, _))) => (line.as_slice() < &capture[..]) != self.reversed,
            (line, _) => line.is_some(),
        };
        Ok(if is_line_first {
            let line = line_merge.line.take();
            line.map(|(key, input, line)| MergedRow::Line(key, input, Box::new(line)))
        } else {
            line_merge.capture.take().map(MergedRow::Capture)
        })
    }

    /// Returns the next line that no capture covers.
    fn next_line(
        &self,
        line_merge: &mut LineMerge,
    ) -> Result<Option<(Vec<u8>, InputId, IndexLine)>, SnapshotError> {
        loop {
            let row = if self.reversed {
                line_merge.lines.next_back()
            } else {
                line_merge.lines.next()
            };
            let Some((key, value)) = row.transpose()? else {
                return Ok(None);
            };
            if self.exact.as_ref().is_some_and(|exact| !is_of_key(&key, exact)) {
                continue;
            }
            let decoded = index_lines::decode(&key, &value);
            let (input, line) = self.snapshot.cut().decode(Table::IndexLines, &key, decoded)?;
            let is_capture = line.alias_of.is_none() && !line.is_attachment();
            if is_capture && !line_merge.covering.covers(&self.snapshot, input, &line)? {
                return Ok(Some((key.to_vec(), input, line)));
            }
        }
    }

    fn row(&self, key: &[u8], value: &[u8]) -> Result<CaptureRow, SnapshotError> {
        let stored = captures::read_row(self.snapshot.cut(), key, value)?;
        self.snapshot.capture_row(stored)
    }
}

impl Iterator for Captures {
    type Item = Result<CaptureRow, SnapshotError>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = match self.next_found()? {
            Ok(found) => found,
            Err(e) => return Some(Err(e)),
        };
        self.cursor.clear();
        self.cursor.extend_from_slice(found.key());
        Some(match found {
            MergedRow::Capture((key, value)) => self.row(&key, &value),
            MergedRow::Line(_, input, line) => self.snapshot.line_row(input, *line),
        })
    }
}
