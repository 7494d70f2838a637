//! External files that are committed with an epoch: they become visible when it has committed.
//!
//! The writer of such files writes them before the epoch commits and returns a note that names
//! them. The note is a row in the same batch as the epoch. After a crash, exactly the files that
//! the last note names are made visible.

use extract::Capture;

use crate::cut::Cut;
use crate::error::{CallerError, SnapshotError};
use crate::ids::{Epoch, InputId};
use crate::ledger::LedgerRow;
use crate::tables::Table;

/// Key of the last note in table `meta`.
pub(crate) const ROW: &str = "beside";

/// Captures that an epoch is about to add.
#[derive(Debug, Clone, Copy)]
pub struct NewCaptures<'a> {
    /// The epoch, not yet committed.
    pub epoch: Epoch,
    captures: &'a [(InputId, Capture)],
    ledger: &'a [LedgerRow],
}

impl<'a> NewCaptures<'a> {
    pub(crate) fn new(
        epoch: Epoch,
        captures: &'a [(InputId, Capture)],
        ledger: &'a [LedgerRow],
    ) -> NewCaptures<'a> {
        NewCaptures {
            epoch,
            captures,
            ledger,
        }
    }

    /// The captures with their inputs, sorted by URL key, time, input and offset. All of them are
    /// new to the index.
    pub fn captures(&self) -> impl Iterator<Item = (InputId, &'a LedgerRow, &'a Capture)> + Clone + use<'a> {
        let ledger = self.ledger;
        let of = move |(id, capture): &'a (InputId, Capture)| {
            // The chain has already refused captures of unregistered inputs.
            ledger.get(id.0 as usize - 1).map(|entry| (*id, entry, capture))
        };
        self.captures.iter().filter_map(of)
    }
}

/// Writes the external files of an epoch. Returns the note.
pub type WriteExternal<'a> = dyn FnMut(NewCaptures<'_>) -> Result<Vec<u8>, CallerError> + 'a;

/// Returns the note to commit when an input is renamed.
pub type NoteRenamed<'a> = dyn FnMut(InputId, &str) -> Result<Vec<u8>, CallerError> + 'a;

/// Returns the last note.
pub(crate) fn read(cut: &Cut) -> Result<Option<Vec<u8>>, SnapshotError> {
    Ok(cut.get(Table::Meta, ROW.as_bytes())?.map(|row| row.to_vec()))
}
