//! Taking an input back to an earlier position: what was woven of it from there on leaves every view.
//!
//! For inputs whose end turns out to have been none (an interrupted copy, which was woven with its last record as far as it
//! went), and for those that are forgotten.
//!
//! Invariant: one epoch: rows of captures and quarantine, versions, links, sums and the ledger's position leave together.

use system::{Broken, holds};

use super::leave::{Gone, Leave, Reread};
use super::{Inner, Weave, Writer};
use crate::chain::Leaving;
use crate::cut::{Cut, after_prefix};
use crate::epoch::EpochReport;
use crate::error::{ApplyError, SnapshotError};
use crate::ids::{Epoch, InputId};
use crate::ledger;
use crate::ledger::{InputState, LedgerEntry, Names};
use crate::tables::Table;
use crate::takedown::{kept_out_key, kept_out_of};

/// Where an input is taken back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeBack {
    /// What begins here or later leaves; the position from now on.
    pub bytes_done: u64,
    /// As [`LedgerEntry::exchange_from`].
    pub exchange_from: u64,
    /// Records before that position.
    pub records: u64,
    /// State from now on; with [`InputState::Forgotten`], and position 0, the ledger has no entry of it any more.
    pub state: InputState,
}

/// Why an input was not taken back; nothing was changed then.
#[derive(Debug, thiserror::Error)]
pub enum TakeBackError {
    /// As [`Weave::apply`] fails.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A capture that would become current could not be read again.
    #[error("the capture of {url} at offset {offset} of {input} cannot be read again: {why}")]
    Reread {
        /// Its URL.
        url: String,
        /// The input that holds it.
        input: String,
        /// Where.
        offset: u64,
        /// Why not, as the caller says it.
        why: String,
    },
}

impl From<Broken> for TakeBackError {
    fn from(broken: Broken) -> TakeBackError {
        TakeBackError::Apply(broken.into())
    }
}

impl From<SnapshotError> for TakeBackError {
    fn from(error: SnapshotError) -> TakeBackError {
        TakeBackError::Apply(error.into())
    }
}

impl Weave {
    /// Takes an input back; `reread` reads a capture again as it was woven, and `note` says, of the epoch to be, what it is to
    /// keep as its note ([`Weave::note_beside`]). Durable when it returns. The writer waits
    /// meanwhile, and all rows of `captures` are looked at once: this is for what happens seldom.
    ///
    /// # Errors
    /// [`TakeBackError`].
    pub fn take_back(
        &self,
        id: InputId,
        to: &TakeBack,
        reread: &mut Reread<'_>,
        note: Option<&dyn Fn(Epoch) -> Vec<u8>>,
    ) -> Result<EpochReport, TakeBackError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        let tables = inner.usable(&writer)?;
        inner.poison_on_error(tables.wait_for_room())?;
        let snapshot = inner.published.read().clone();
        let mut leaving = inner.checked(leaving(&writer, &snapshot, (id, to), reread))?;
        leaving.note = note.map(|note| note(writer.totals.epoch.next()));
        Ok(inner.leave(&tables, &mut writer, snapshot.cut(), leaving)?)
    }
}

impl Inner {
    /// Memory is not trusted any more where an invariant is broken.
    pub(super) fn checked<T>(&self, result: Result<T, TakeBackError>) -> Result<T, TakeBackError> {
        result.inspect_err(|error| {
            if let TakeBackError::Apply(error) = error {
                self.poison_if_broken(error);
            }
        })
    }
}

fn leaving(
    writer: &Writer,
    snapshot: &crate::Snapshot,
    (id, to): (InputId, &TakeBack),
    reread: &mut Reread<'_>,
) -> Result<Leaving, TakeBackError> {
    let entry = writer.entry(id)?;
    let cut = snapshot.cut();
    let from = to.bytes_done;
    let leave = Leave {
        snapshot,
        totals: &writer.totals,
        names: Names::new(&writer.ledger),
        // Its captures are found by looking at all there are, so not where it has none.
        span: (
            Vec::new(),
            (entry.captures == 0 && entry.index_lines == 0).then(Vec::new),
        ),
        leaves: &|_, place| place.input == id && place.offset >= from,
        passes_over: false,
    };
    let gone = leave.gather(reread)?;
    let quarantined = quarantined(cut, id, from)?;
    let kept_out: Vec<[u8; 12]> = kept_out_of(cut, id, from)
        .map(|kept_out| Ok(kept_out_key(id, kept_out?.offset)))
        .collect::<Result<_, SnapshotError>>()?;
    let now = entry_after(entry, (id, to), &gone, (quarantined.len(), kept_out.len()))?;
    Ok(Leaving {
        rows: gone.rows,
        lines: gone.lines,
        anew: gone.anew,
        turned: gone.turned,
        unreferred: gone.unreferred,
        quarantined,
        fetch_time_ms: gone.fetch_time_ms,
        entries: vec![(id, now)],
        admitted: kept_out,
        ..Leaving::default()
    })
}

/// The entry of an input once these have left.
fn entry_after(
    entry: &LedgerEntry,
    (id, to): (InputId, &TakeBack),
    gone: &Gone,
    (quarantined, kept_out): (usize, usize),
) -> Result<LedgerEntry, Broken> {
    holds!(
        "weave.positions",
        to.bytes_done <= entry.bytes_done && to.records <= entry.records,
        "input {} is taken back from {} ({} records) to {} ({} records)",
        id.0,
        entry.bytes_done,
        entry.records,
        to.bytes_done,
        to.records
    );
    holds!(
        "weave.taken_back",
        entry.captures >= gone.rows.len() as u64
            && entry.index_lines >= gone.lines.len() as u64
            && entry.quarantined >= quarantined as u64
            && entry.taken_down >= kept_out as u64,
        "{} captures, {quarantined} in quarantine and {kept_out} taken down leave of input {}, which had {}, {} and {}",
        gone.rows.len(),
        id.0,
        entry.captures,
        entry.quarantined,
        entry.taken_down
    );
    let mut now = entry.clone();
    now.bytes_done = to.bytes_done;
    now.exchange_from = to.exchange_from.min(to.bytes_done);
    now.records = to.records;
    now.captures -= gone.rows.len() as u64;
    now.index_lines -= gone.lines.len() as u64;
    now.quarantined -= quarantined as u64;
    now.taken_down -= kept_out as u64;
    now.state = to.state.clone();
    now.cut = String::new();
    if to.state == InputState::Forgotten {
        debug_assert!(
            now.captures == 0 && now.index_lines == 0 && now.quarantined == 0,
            "nothing is left of it"
        );
        now = LedgerEntry::forgotten();
    }
    Ok(now)
}

/// Keys of the rows of the quarantine that an input has from an offset on.
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
