//! What an epoch keeps about its facts, so that they can be published after a crash.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::delta::Add;
use crate::tables::Table;

/// What one epoch adds to the tables, or takes out of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The epoch.
    pub(crate) epoch: u64,
    /// Data files of each table, in the order of [`Table::ALL`](crate::Table::ALL); written and durable.
    pub(crate) added: [Vec<Add>; 3],
    /// The last epoch of each table before this one.
    #[serde(default)]
    pub(crate) before: [u64; 3],
    /// Rows that leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) taken_back: Option<TakenBack>,
    /// Captures whose rows leave, by the numbers of their inputs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) taken_down: BTreeMap<u32, BTreeSet<u64>>,
    /// An input that gets another name; the epoch is one that the tables have then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) renamed: Option<Renamed>,
}

/// An input that gets another name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Renamed {
    pub(crate) input_id: u32,
    pub(crate) name: String,
    /// Number of this change among those of the archive, from 1.
    pub(crate) number: u64,
}

/// Captures of an input that leave, from an offset on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenBack {
    /// Number of the input.
    pub input_id: u32,
    /// What begins here or later leaves.
    pub from_offset: u64,
}

impl Note {
    /// An epoch in which rows leave.
    pub fn of_taken_back(epoch: u64, taken_back: TakenBack) -> Note {
        Note {
            epoch,
            taken_back: Some(taken_back),
            ..Note::default()
        }
    }

    /// An epoch in which the rows of single captures leave: each by the number of its input and its offset.
    pub fn of_taken_down(epoch: u64, captures: impl Iterator<Item = (u32, u64)>) -> Note {
        let mut taken_down: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        for (input_id, offset) in captures {
            taken_down.entry(input_id).or_default().insert(offset);
        }
        Note {
            epoch,
            taken_down,
            ..Note::default()
        }
    }

    /// Whether rows leave.
    pub(crate) fn takes_out(&self) -> bool {
        self.taken_back.is_some() || !self.taken_down.is_empty()
    }

    /// Whether it says something about a table.
    pub(crate) fn concerns(&self, table: Table) -> bool {
        let is_renamed = self.renamed.is_some() && table != Table::Texts;
        is_renamed || self.takes_out() || !self.added[table as usize].is_empty()
    }

    /// Of each table, in the order of [`Table::ALL`](crate::Table::ALL), the last epoch that it has when this note is published; 0 if none.
    pub fn last_epochs(&self) -> [u64; 3] {
        Table::ALL.map(|table| match self.concerns(table) && self.renamed.is_none() {
            true => self.epoch,
            false => self.before[table as usize],
        })
    }

    /// For the epoch to keep.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Only maps with other keys than texts, and writers, can fail here: there are none.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// As an epoch kept it; `None` if it is not a note.
    pub fn of_bytes(bytes: &[u8]) -> Option<Note> {
        serde_json::from_slice(bytes).ok()
    }
}
