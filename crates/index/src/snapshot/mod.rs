//! One consistent cut, and the answers made from it.
//!
//! This module has the cut itself, its inputs and its changes. The others have one kind of rows
//! each.

mod attachments;
mod captures;
mod captures_read;
mod covering;
mod domains;
mod history;
mod linking;
mod links;
mod originals;
mod past_links;
mod rendered;
mod shown;
mod totals;
mod versions;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

pub use captures_read::{Captures, Span};
pub(crate) use covering::Covering;
pub use linking::LinkingVersions;
pub use past_links::When;
pub use rendered::RenderedText;

use crate::codec::Corrupt;
use crate::cut::Cut;
use crate::epoch::PageChange;
use crate::error::SnapshotError;
use crate::external;
use crate::ids::{Epoch, InputId};
use crate::ledger;
use crate::ledger::{InputState, LedgerRow, QuarantineEntry};
use crate::rows::Totals;
use crate::tables::Table;
use crate::views::changes;
use crate::views::totals::TotalsRow;

/// One consistent cut of an archive: all its answers belong to the same epoch. Cheap to clone.
///
/// The rows of a snapshot stay on disk while it is held. Hold it for an answer, not longer.
#[derive(Clone)]
pub struct Snapshot {
    inner: Arc<Inner>,
}

struct Inner {
    dir: PathBuf,
    cut: Cut,
    totals: TotalsRow,
    inputs: Mutex<FxHashMap<InputId, Arc<LedgerRow>>>,
    /// Computed on first use, like the next field.
    has_lines: OnceLock<bool>,
    sums: OnceLock<Totals>,
}

impl Snapshot {
    pub(crate) fn new(dir: &Path, cut: Cut, totals: TotalsRow) -> Snapshot {
        let inner = Inner {
            dir: dir.to_owned(),
            cut,
            totals,
            inputs: Mutex::default(),
            has_lines: OnceLock::new(),
            sums: OnceLock::new(),
        };
        Snapshot {
            inner: Arc::new(inner),
        }
    }

    /// Returns whether this is the only handle.
    pub(crate) fn is_unshared(&self) -> bool {
        Arc::strong_count(&self.inner) == 1
    }

    pub(crate) fn cut(&self) -> &Cut {
        &self.inner.cut
    }

    /// Directory of the index, for temporary files.
    pub(crate) fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// The epoch of all answers.
    pub fn epoch(&self) -> Epoch {
        self.inner.totals.epoch
    }

    /// Returns the note of the last epoch that had one ([`crate::Index::apply_with_external`]).
    pub fn external_note(&self) -> Result<Option<Vec<u8>>, SnapshotError> {
        external::read(self.cut())
    }

    /// Returns the ledger entry of an input that some row names.
    pub fn input(&self, id: InputId) -> Result<Arc<LedgerRow>, SnapshotError> {
        if let Some(entry) = self.inner.inputs.lock().get(&id) {
            return Ok(entry.clone());
        }
        let key = ledger::entry_key(id);
        let row = self.cut().get(Table::Inputs, &key)?;
        let entry = row
            .as_deref()
            .ok_or(Corrupt("input is missing"))
            .and_then(ledger::decode_entry);
        let entry = Arc::new(self.cut().decode(Table::Inputs, &key, entry)?);
        self.inner.inputs.lock().insert(id, entry.clone());
        Ok(entry)
    }

    /// Returns the ledger, by input number.
    pub fn ledger(&self) -> Result<Vec<(InputId, LedgerRow)>, SnapshotError> {
        let mut entries = ledger::read_all(self.cut())?;
        entries.retain(|(_, entry)| entry.state != InputState::Forgotten);
        Ok(entries)
    }

    /// Returns the quarantine of one input or of all, by input number and offset: entries after
    /// `after`, at most `limit`.
    pub fn quarantine(
        &self,
        input: Option<InputId>,
        after: Option<&(InputId, QuarantineEntry)>,
        limit: usize,
    ) -> Result<Vec<(InputId, QuarantineEntry)>, SnapshotError> {
        let (mut from, to) = match input {
            None => (Vec::new(), vec![u8::MAX; 5]),
            Some(id) => (
                ledger::entry_key(id).to_vec(),
                ledger::entry_key(InputId(id.0 + 1)).to_vec(),
            ),
        };
        if let Some((id, entry)) = after {
            from = ledger::quarantine_key(*id, entry);
            from.push(0);
        }
        let rows = self.cut().range(Table::Quarantine, &from, &to);
        rows.take(limit)
            .map(|row| {
                let (key, value) = row?;
                self.cut()
                    .decode(Table::Quarantine, &key, ledger::decode_quarantine(&key, &value))
            })
            .collect()
    }

    /// Returns the changes of pages in all epochs after `since`, oldest first, for a search index
    /// to catch up. If `since` is 0 or very old, returns every page as an upsert and every other
    /// current version as a delete.
    pub fn pages_changed_since(
        &self,
        since: Epoch,
    ) -> impl Iterator<Item = Result<PageChange, SnapshotError>> + '_ {
        self.pages_changed_between(since, self.epoch())
    }

    /// As [`Snapshot::pages_changed_since`], up to epoch `until`.
    pub fn pages_changed_between(
        &self,
        since: Epoch,
        until: Epoch,
    ) -> impl Iterator<Item = Result<PageChange, SnapshotError>> + '_ {
        changes::read(self.cut(), since, until, self.epoch())
    }
}
