//! Sums over the archive.
//!
//! The ledger is read for them once per snapshot: nothing in a snapshot changes.

use format::file_name::is_index_name;

use super::Snapshot;
use crate::error::SnapshotError;
use crate::ledger::InputState;
use crate::rows::Totals;

impl Snapshot {
    /// Returns sums over the archive.
    ///
    /// # Errors
    /// [`SnapshotError`] if a row could not be read; the same applies to all other reads.
    pub fn totals(&self) -> Result<Totals, SnapshotError> {
        if let Some(sums) = self.inner.sums.get() {
            return Ok(sums.clone());
        }
        let sums = self.sums()?;
        Ok(self.inner.sums.get_or_init(|| sums).clone())
    }

    fn sums(&self) -> Result<Totals, SnapshotError> {
        let row = &self.inner.totals;
        let mut totals = Totals {
            epoch: row.epoch,
            records: row.records,
            captures: row.captures,
            pages: row.pages,
            links: row.links,
            uris: row.uris,
            domains: row.domains,
            quarantined: row.quarantined,
            fetch_time_ms: (row.captures > 0).then_some((row.fetch_time_ms_first, row.fetch_time_ms_last)),
            ..Totals::default()
        };
        for (_, entry) in self.ledger()? {
            totals.inputs += 1;
            match entry.state {
                InputState::Pending => totals.inputs_pending += 1,
                InputState::Loading => totals.inputs_loading += 1,
                InputState::Done => totals.inputs_done += 1,
                InputState::Failed { .. } => totals.inputs_failed += 1,
                InputState::TakenDown => totals.inputs_taken_down += 1,
                // Forgotten inputs are no longer in the ledger.
                InputState::Forgotten => {}
            }
            totals.captures_taken_down += entry.taken_down;
            // An input has lines or attachments, never both.
            if is_index_name(&entry.location) {
                totals.index_lines += entry.index_lines;
            } else {
                totals.attachments += entry.index_lines;
            }
            totals.collections.push(entry.collection);
        }
        totals.collections.retain(|label| !label.is_empty());
        totals.collections.sort_unstable();
        totals.collections.dedup();
        Ok(totals)
    }
}
