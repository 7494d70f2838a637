//! Captures that were selected one by one.

use std::collections::BTreeMap;

use cdx::CdxRow;
use format::file_name::keep_base_name;

use super::ROWS_AT_ONCE;
use crate::results::ExportError;

/// Captures in the order of URL keys and then times, without duplicates. All of them are in memory.
#[derive(Debug, Clone)]
pub struct CaptureSelection {
    described: String,
    /// By key, time and name.
    rows: BTreeMap<(String, String, String), CdxRow>,
}

impl CaptureSelection {
    /// Makes an empty selection. `described` is written into the exported files: "pages found by a
    /// search for …".
    pub fn new(described: impl Into<String>) -> CaptureSelection {
        CaptureSelection {
            described: described.into(),
            rows: BTreeMap::new(),
        }
    }

    /// Adds a capture, which must have the whole name of its input.
    pub fn add(&mut self, row: CdxRow) {
        self.rows.insert(place(&row), row);
    }

    pub(super) fn described(&self) -> &str {
        &self.described
    }

    pub(super) fn has(&self, row: &CdxRow) -> bool {
        self.rows.contains_key(&place(row))
    }

    /// See [`Subset`](super::Subset).
    pub(super) fn for_each(
        &self,
        base_names: bool,
        progress: &mut dyn FnMut(u64) -> bool,
        each: &mut dyn FnMut(CdxRow) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let mut done = 0;
        for row in self.rows.values() {
            let mut row = row.clone();
            if base_names {
                keep_base_name(&mut row.filename);
            }
            each(row)?;
            done += 1;
            if done % ROWS_AT_ONCE as u64 == 0 && !progress(done) {
                return Err(ExportError::Stopped(done));
            }
        }
        if progress(done) {
            Ok(())
        } else {
            Err(ExportError::Stopped(done))
        }
    }
}

fn place(row: &CdxRow) -> (String, String, String) {
    (row.url_key.clone(), row.fetch_time.clone(), row.name())
}
