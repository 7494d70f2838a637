//! Removes single index lines that their inputs no longer have.
//!
//! Invariant: one epoch removes the rows and changes the digests of their inputs in the ledger. All
//! other lines keep their offsets, so these inputs have as many bytes as before.

use std::collections::BTreeSet;

use system::holds;

use super::{Index, Writer};
use crate::chain::Removal;
use crate::cut::Cut;
use crate::epoch::EpochReport;
use crate::error::ApplyError;
use crate::ids::InputId;
use crate::tables::Table;
use crate::views::index_lines;
use extract::IndexLine;

/// Lines removed from one input.
#[derive(Debug, Clone)]
pub struct RemovedLines {
    /// The input.
    pub input: InputId,
    /// The indexed lines; missing ones are skipped.
    pub lines: Vec<IndexLine>,
    /// Digest of the input without them.
    pub digest: String,
}

impl Index {
    /// Removes lines from the index; durable when it returns.
    ///
    /// # Errors
    /// [`ApplyError`], as [`Index::apply`].
    pub fn remove_lines(&self, removed: Vec<RemovedLines>) -> Result<EpochReport, ApplyError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        let tables = inner.usable(&writer)?;
        inner.poison_on_error(tables.wait_for_room())?;
        let snapshot = inner.published.read().clone();
        let removal = inner.poison_on_broken(removal(&writer, snapshot.cut(), removed))?;
        inner.remove(&tables, &mut writer, snapshot.cut(), removal)
    }
}

fn removal(writer: &Writer, cut: &Cut, removed: Vec<RemovedLines>) -> Result<Removal, ApplyError> {
    let mut removal = Removal {
        // The times are those of captures, which all stay.
        fetch_time_ms: Some((
            writer.totals.fetch_time_ms_first,
            writer.totals.fetch_time_ms_last,
        )),
        ..Removal::default()
    };
    for RemovedLines { input, lines, digest } in removed {
        let before = writer.entry(input)?;
        let mut now = before.clone();
        now.digest = digest;
        writer.check_identity(input, &now)?;
        let rows: BTreeSet<Vec<u8>> = lines
            .iter()
            .map(|line| index_lines::row_key(input, line))
            .collect();
        for row in rows {
            if cut.contains(Table::IndexLines, &row)? {
                holds!(
                    "index.lines_gone",
                    now.index_lines > 0,
                    "more lines are removed from input {} than the {} that it has",
                    input.0,
                    before.index_lines
                );
                now.index_lines -= 1;
                removal.lines.push(row);
            }
        }
        if now != *before {
            removal.entries.push((input, now));
        }
    }
    Ok(removal)
}
