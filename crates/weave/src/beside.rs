//! What is kept beside the index and moves with its epochs: files that become visible when the epoch has committed.
//!
//! Who keeps such files writes them before the epoch commits, and gives a note that says what was written. The note
//! is a row of the same batch as the epoch. So after a crash it is known what is to be made visible: what the
//! last note says, and nothing else.

use extract::Capture;

use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::{Epoch, InputId};
use crate::ledger::LedgerEntry;
use crate::tables::Table;

/// Row of the last note, in table `meta`.
pub(crate) const ROW: &str = "beside";

/// Captures that an epoch is about to add.
#[derive(Debug, Clone, Copy)]
pub struct Arriving<'a> {
    /// The epoch, not yet committed.
    pub epoch: Epoch,
    captures: &'a [(InputId, Capture)],
    ledger: &'a [LedgerEntry],
}

impl<'a> Arriving<'a> {
    pub(crate) fn new(
        epoch: Epoch,
        captures: &'a [(InputId, Capture)],
        ledger: &'a [LedgerEntry],
    ) -> Arriving<'a> {
        Arriving {
            epoch,
            captures,
            ledger,
        }
    }

    /// The captures with their inputs, sorted by URL key, time, input and offset; none of them was there before.
    pub fn captures(
        &self,
    ) -> impl Iterator<Item = (InputId, &'a LedgerEntry, &'a Capture)> + Clone + use<'a> {
        let ledger = self.ledger;
        let of = move |(id, capture): &'a (InputId, Capture)| {
            // The chain has refused captures of inputs that are not registered.
            ledger.get(id.0 as usize - 1).map(|entry| (*id, entry, capture))
        };
        self.captures.iter().filter_map(of)
    }
}

/// Writes what is kept beside an epoch; gives the note, or why it could not.
pub type WriteBeside<'a> = dyn FnMut(Arriving<'_>) -> Result<Vec<u8>, String> + 'a;

/// Says what is to be noted of an input that gets another name, or why nothing can be.
pub type NoteRenamed<'a> = dyn FnMut(InputId, &str) -> Result<Vec<u8>, String> + 'a;

/// The last note.
pub(crate) fn read(cut: &Cut) -> Result<Option<Vec<u8>>, SnapshotError> {
    Ok(cut.get(Table::Meta, ROW.as_bytes())?.map(|row| row.to_vec()))
}
