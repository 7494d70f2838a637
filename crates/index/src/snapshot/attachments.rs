//! The attachments of a page, which are rows of `index_lines` under the key of the page.

use super::Snapshot;
use crate::cut::Row;
use crate::error::SnapshotError;
use crate::rows::CaptureRow;
use crate::tables::Table;
use crate::views::capture_key::{is_of_key, key_prefix, time_prefix};
use crate::views::index_lines;

impl Snapshot {
    /// Returns the attachments of a URL key, newest first, with the location of their records.
    /// Reads at most `rows_max` rows.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn attachments(&self, url_key: &str, rows_max: usize) -> Result<Vec<CaptureRow>, SnapshotError> {
        if !self.has_lines() {
            return Ok(Vec::new());
        }
        let rows = self.cut().prefix(Table::IndexLines, &key_prefix(url_key));
        self.attachments_of(url_key, rows.rev().take(rows_max))
    }

    /// As [`Snapshot::attachments`], oldest first, for times from `from_ms` (inclusive) to `to_ms`
    /// (exclusive).
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn attachments_between(
        &self,
        url_key: &str,
        (from_ms, to_ms): (i64, i64),
        rows_max: usize,
    ) -> Result<Vec<CaptureRow>, SnapshotError> {
        if !self.has_lines() {
            return Ok(Vec::new());
        }
        let (from, to) = (time_prefix(url_key, from_ms), time_prefix(url_key, to_ms));
        let rows = self.cut().range(Table::IndexLines, &from, &to);
        self.attachments_of(url_key, rows.take(rows_max))
    }

    /// Returns the attachments of a URL key among rows of `index_lines`.
    fn attachments_of(
        &self,
        url_key: &str,
        rows: impl Iterator<Item = Result<Row, SnapshotError>>,
    ) -> Result<Vec<CaptureRow>, SnapshotError> {
        let mut found = Vec::new();
        for row in rows {
            let (key, value) = row?;
            if !is_of_key(&key, url_key) {
                continue;
            }
            let decoded = index_lines::decode(&key, &value);
            let (input, line) = self.cut().decode(Table::IndexLines, &key, decoded)?;
            if line.is_attachment() {
                found.push(self.line_row(input, line)?);
            }
        }
        Ok(found)
    }
}
