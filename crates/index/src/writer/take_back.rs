//! Takes an input back to an earlier position: everything indexed from there on is removed from every
//! view.
//!
//! This is for inputs whose apparent end was not the real one (an interrupted copy, whose last
//! record was indexed as far as it went), and for forgotten inputs.
//!
//! Invariant: one epoch changes rows of captures and quarantine, versions, links, sums and the
//! ledger's position together.

use system::{Broken, holds};

use super::removal::{RemovalScan, RemovedRows, Reread};
use super::{Index, Inner, Writer};
use crate::chain::Removal;
use crate::cut::{Cut, after_prefix};
use crate::epoch::EpochReport;
use crate::error::{SnapshotError, TakeBackError};
use crate::ids::{Epoch, InputId};
use crate::ledger;
use crate::ledger::{InputState, LedgerRow, Names};
use crate::tables::Table;
use crate::takedown::{kept_out_key, kept_out_of};

/// Where an input is taken back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollBack {
    /// The new position. Everything that begins there or later is removed.
    pub bytes_done: u64,
    /// As [`LedgerRow::exchange_from`].
    pub exchange_from: u64,
    /// Number of records before that position.
    pub records: u64,
    /// The new state. [`InputState::Forgotten`], with position 0, removes the entry from the
    /// ledger.
    pub state: InputState,
}

impl Index {
    /// Takes an input back; durable when it returns. `reread` reads a indexed capture again. `note`
    /// returns the note of the new epoch ([`Snapshot::external_note`](crate::Snapshot::external_note)).
    /// The writer waits meanwhile, and all rows of `captures` are read, so this must be rare.
    ///
    /// # Errors
    /// [`TakeBackError`].
    pub fn take_back(
        &self,
        id: InputId,
        to: &RollBack,
        reread: &mut Reread<'_>,
        note: Option<&dyn Fn(Epoch) -> Vec<u8>>,
    ) -> Result<EpochReport, TakeBackError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        let tables = inner.usable(&writer)?;
        inner.poison_on_error(tables.wait_for_room())?;
        let snapshot = inner.published.read().clone();
        let mut removal = inner.checked(removal(&writer, &snapshot, (id, to), reread))?;
        removal.note = note.map(|note| note(writer.totals.epoch.next()));
        Ok(inner.remove(&tables, &mut writer, snapshot.cut(), removal)?)
    }
}

impl Inner {
    /// Refuses further writes after a broken invariant, because memory is no longer trusted.
    pub(super) fn checked<T>(&self, result: Result<T, TakeBackError>) -> Result<T, TakeBackError> {
        result.inspect_err(|error| {
            if let TakeBackError::Apply(error) = error {
                self.poison_if_broken(error);
            }
        })
    }
}

fn removal(
    writer: &Writer,
    snapshot: &crate::Snapshot,
    (id, to): (InputId, &RollBack),
    reread: &mut Reread<'_>,
) -> Result<Removal, TakeBackError> {
    let entry = writer.entry(id)?;
    let cut = snapshot.cut();
    let from = to.bytes_done;
    let scan = RemovalScan {
        snapshot,
        totals: &writer.totals,
        names: Names::new(&writer.ledger),
        // Finding its captures reads all rows, so an input without captures and lines gets an empty
        // range.
        span: (
            Vec::new(),
            (entry.captures == 0 && entry.index_lines == 0).then(Vec::new),
        ),
        is_removed: &|_, place| place.input == id && place.offset >= from,
        skips_unreadable: false,
    };
    let removed = scan.gather(reread)?;
    let quarantined = quarantined(cut, id, from)?;
    let kept_out: Vec<[u8; 12]> = kept_out_of(cut, id, from)
        .map(|kept_out| Ok(kept_out_key(id, kept_out?.offset)))
        .collect::<Result<_, SnapshotError>>()?;
    let now = entry_after(entry, (id, to), &removed, (quarantined.len(), kept_out.len()))?;
    Ok(Removal {
        rows: removed.rows,
        lines: removed.lines,
        redecide: removed.redecide,
        changed_revisits: removed.changed_revisits,
        reference_rows: removed.reference_rows,
        quarantined,
        fetch_time_ms: removed.fetch_time_ms,
        entries: vec![(id, now)],
        admitted: kept_out,
        ..Removal::default()
    })
}

/// Returns the entry of an input after the removal.
fn entry_after(
    entry: &LedgerRow,
    (id, to): (InputId, &RollBack),
    removed: &RemovedRows,
    (quarantined, kept_out): (usize, usize),
) -> Result<LedgerRow, Broken> {
    holds!(
        "index.positions",
        to.bytes_done <= entry.bytes_done && to.records <= entry.records,
        "input {} is rolled back from {} ({} records) to {} ({} records)",
        id.0,
        entry.bytes_done,
        entry.records,
        to.bytes_done,
        to.records
    );
    holds!(
        "index.taken_back",
        entry.captures >= removed.rows.len() as u64
            && entry.index_lines >= removed.lines.len() as u64
            && entry.quarantined >= quarantined as u64
            && entry.taken_down >= kept_out as u64,
        "{} captures, {quarantined} in quarantine and {kept_out} taken down are removed from input {}, \
         which had {}, {} and {}",
        removed.rows.len(),
        id.0,
        entry.captures,
        entry.quarantined,
        entry.taken_down
    );
    let mut now = entry.clone();
    now.bytes_done = to.bytes_done;
    now.exchange_from = to.exchange_from.min(to.bytes_done);
    now.records = to.records;
    now.captures -= removed.rows.len() as u64;
    now.index_lines -= removed.lines.len() as u64;
    now.quarantined -= quarantined as u64;
    now.taken_down -= kept_out as u64;
    now.state = to.state.clone();
    now.cut = String::new();
    if to.state == InputState::Forgotten {
        debug_assert!(
            now.captures == 0 && now.index_lines == 0 && now.quarantined == 0,
            "a forgotten input keeps no captures, index lines or quarantine entries"
        );
        now = LedgerRow::forgotten();
    }
    Ok(now)
}

/// Returns the keys of an input's quarantine rows from an offset on.
pub(super) fn quarantined(cut: &Cut, id: InputId, from_offset: u64) -> Result<Vec<Vec<u8>>, SnapshotError> {
    let first = ledger::entry_key(id);
    let mut from = first.to_vec();
    from.extend_from_slice(&from_offset.to_be_bytes());
    let rows = match after_prefix(&first) {
        Some(to) => cut.range(Table::Quarantine, &from, &to),
        None => cut.from(Table::Quarantine, &from),
    };
    rows.map(|row| Ok(row?.0.to_vec())).collect()
}
