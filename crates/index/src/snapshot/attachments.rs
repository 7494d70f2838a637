//! The attachments of a page, which are rows of `index_lines` under the key of the page.

use super::Snapshot;
use crate::error::SnapshotError;
use crate::rows::CaptureRow;
use crate::tables::Table;
use crate::views::capture_key::{is_of_key, key_prefix};
use crate::views::index_lines;

impl Snapshot {
    /// Returns the attachments of a URL key, newest first, with the location of their records.
    /// Reads at most `rows_max` rows.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn attachments(&self, url_key: &str, rows_max: usize) -> Result<Vec<CaptureRow>, SnapshotError> {
        let mut found = Vec::new();
        if !self.has_lines() {
            return Ok(found);
        }
        let rows = self.cut().prefix(Table::IndexLines, &key_prefix(url_key));
        for row in rows.rev().take(rows_max) {
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
