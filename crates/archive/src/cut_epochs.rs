//! The epochs of a cut, as the owner sends them to its clients.

use index::Snapshot;
use serde::{Deserialize, Serialize};

use crate::AskError;

/// The state that a cut shows.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct CutEpochs {
    pub(crate) epoch: u64,
    /// The last epoch that each table of facts must contain to show the same state.
    pub(crate) facts: facts::PerTable<u64>,
}

impl CutEpochs {
    pub(crate) fn of(snapshot: &Snapshot) -> Result<CutEpochs, AskError> {
        let note = snapshot.external_note()?;
        let facts = note.as_deref().and_then(facts::Note::of_bytes);
        Ok(CutEpochs {
            epoch: snapshot.epoch().0,
            facts: facts.map(|note| note.last_epochs()).unwrap_or_default(),
        })
    }
}
