//! Removes inputs from the ledger, and everything that they contributed from every view.
//!
//! Invariant: one epoch removes all of them. If a capture that would become current cannot be read
//! again, nothing changes.

use std::collections::BTreeSet;

use system::holds;

use super::removal::{RemovalScan, Reread};
use super::take_back::quarantined;
use super::{Index, NoteTakenDown, Writer};
use crate::chain::Removal;
use crate::epoch::EpochReport;
use crate::error::TakeBackError;
use crate::ids::InputId;
use crate::ledger::{LedgerRow, Names};
use crate::snapshot::Snapshot;
use crate::takedown::{kept_out_key, kept_out_of};

impl Index {
    /// Forgets inputs; durable when it returns. As with [`Index::take_down`], the writer waits
    /// meanwhile, and all removed captures are in memory at once. `note` is called if there are
    /// any.
    ///
    /// # Errors
    /// [`TakeBackError`].
    pub fn forget(
        &self,
        ids: &[InputId],
        reread: &mut Reread<'_>,
        note: Option<&NoteTakenDown<'_>>,
    ) -> Result<EpochReport, TakeBackError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        let tables = inner.usable(&writer)?;
        inner.poison_on_error(tables.wait_for_room())?;
        let snapshot = inner.published.read().clone();
        let ids: BTreeSet<InputId> = ids.iter().copied().collect();
        let (mut removal, places) = inner.checked(removal(&writer, &snapshot, &ids, reread))?;
        removal.note = note
            .filter(|_| !places.is_empty())
            .map(|note| note(writer.totals.epoch.next(), &places));
        Ok(inner.remove(&tables, &mut writer, snapshot.cut(), removal)?)
    }
}

/// Returns the rows to remove, and input and offset of each removed capture.
fn removal(
    writer: &Writer,
    snapshot: &Snapshot,
    ids: &BTreeSet<InputId>,
    reread: &mut Reread<'_>,
) -> Result<(Removal, Vec<(InputId, u64)>), TakeBackError> {
    let (mut captures, mut lines) = (0, 0);
    for id in ids {
        let entry = writer.entry(*id)?;
        captures += entry.captures;
        lines += entry.index_lines;
    }
    let scan = RemovalScan {
        snapshot,
        totals: &writer.totals,
        names: Names::new(&writer.ledger),
        // Finding captures reads all rows, so inputs without captures and lines get an empty
        // range.
        span: (Vec::new(), (captures + lines == 0).then(Vec::new)),
        is_removed: &|_, place| ids.contains(&place.input),
        skips_unreadable: false,
    };
    let removed = scan.gather(reread)?;
    holds!(
        "index.forgotten",
        (captures, lines) == (removed.rows.len() as u64, removed.lines.len() as u64),
        "{} captures and {} lines leave with inputs that have {captures} and {lines}",
        removed.rows.len(),
        removed.lines.len()
    );
    let places = removed.places.iter().map(|place| (place.0, place.1)).collect();
    let mut removal = Removal {
        rows: removed.rows,
        lines: removed.lines,
        redecide: removed.redecide,
        changed_revisits: removed.changed_revisits,
        reference_rows: removed.reference_rows,
        fetch_time_ms: removed.fetch_time_ms,
        ..Removal::default()
    };
    for id in ids {
        let quarantined = quarantined(snapshot.cut(), *id, 0)?;
        removal.quarantined.extend(quarantined);
        for kept_out in kept_out_of(snapshot.cut(), *id, 0) {
            removal.admitted.push(kept_out_key(*id, kept_out?.offset));
        }
        removal.entries.push((*id, LedgerRow::forgotten()));
    }
    Ok((removal, places))
}
