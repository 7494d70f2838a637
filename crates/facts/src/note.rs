//! The note of an epoch about its facts, with which they can be published after a crash.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::data_file::has_input_names;
use crate::delta::Add;
use crate::per_table::PerTable;
use crate::tables::Table;

/// The rows that an epoch adds to the tables, or removes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The epoch.
    pub(crate) epoch: u64,
    /// Data files of each table; already durable.
    pub(crate) added: PerTable<Vec<Add>>,
    /// The last epoch of each table before this one.
    #[serde(default)]
    pub(crate) before: PerTable<u64>,
    /// Removed rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) taken_back: Option<TakenBack>,
    /// Captures with removed rows, by the numbers of their inputs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) taken_down: BTreeMap<u32, BTreeSet<u64>>,
    /// Numbers of inputs without rows from now on. Earlier programs listed the captures in
    /// `taken_down`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) forgotten: BTreeSet<u32>,
    /// A renamed input; the epoch is one that the tables already have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) renamed: Option<Renamed>,
}

/// A renamed input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Renamed {
    pub(crate) input_id: u32,
    pub(crate) name: String,
    /// Number of this rename among those of the archive, from 1.
    pub(crate) number: u64,
}

/// Removed captures of an input, from an offset on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenBack {
    /// Number of the input.
    pub input_id: u32,
    /// Captures that begin here or later are removed.
    pub from_offset: u64,
}

impl Note {
    /// Returns the note of an epoch that removes rows.
    pub fn of_taken_back(epoch: u64, taken_back: TakenBack) -> Note {
        Note {
            epoch,
            taken_back: Some(taken_back),
            ..Note::default()
        }
    }

    /// Returns the note of an epoch that removes the rows of single captures, each given by the
    /// number of its input and its offset.
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

    /// Returns the note of an epoch that removes all rows of some inputs, given by their numbers.
    pub fn of_forgotten(epoch: u64, inputs: impl Iterator<Item = u32>) -> Note {
        Note {
            epoch,
            forgotten: inputs.collect(),
            ..Note::default()
        }
    }

    /// Returns whether rows are removed.
    pub(crate) fn removes_rows(&self) -> bool {
        self.taken_back.is_some() || !self.taken_down.is_empty() || !self.forgotten.is_empty()
    }

    /// Returns whether the rows of a capture are removed.
    pub(crate) fn removes(&self, input_id: u32, offset: u64) -> bool {
        let is_taken_back = |taken: &TakenBack| taken.input_id == input_id && offset >= taken.from_offset;
        let is_taken_down = || {
            let offsets = self.taken_down.get(&input_id);
            offsets.is_some_and(|offsets| offsets.contains(&offset))
        };
        self.forgotten.contains(&input_id)
            || self.taken_back.as_ref().is_some_and(is_taken_back)
            || is_taken_down()
    }

    /// Returns the numbers of the inputs of which rows are removed, each once.
    pub(crate) fn inputs_with_removed_rows(&self) -> Vec<u32> {
        let taken_back = self.taken_back.iter().map(|taken| taken.input_id);
        let others = self.taken_down.keys().chain(&self.forgotten).copied();
        let inputs: BTreeSet<u32> = taken_back.chain(others).collect();
        inputs.into_iter().collect()
    }

    /// Returns whether it changes a table.
    pub(crate) fn concerns(&self, table: Table) -> bool {
        let is_renamed = self.renamed.is_some() && has_input_names(table.fields());
        is_renamed || self.removes_rows() || !self.added[table].is_empty()
    }

    /// Returns the last epoch of each table after this note is published; 0 if none.
    pub fn last_epochs(&self) -> PerTable<u64> {
        let mut epochs = self.before;
        for table in Table::ALL {
            if self.concerns(table) && self.renamed.is_none() {
                epochs[table] = self.epoch;
            }
        }
        epochs
    }

    /// Encodes the note for the epoch's commit.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Serialising can fail only for maps with keys other than text, and for writers; the note
        // has neither.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Decodes a note; `None` if the bytes are not a note.
    pub fn of_bytes(bytes: &[u8]) -> Option<Note> {
        serde_json::from_slice(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_removes_whole_inputs_and_single_captures() {
        let down = Note::of_taken_down(7, [(1, 10), (1, 20), (3, 0)].into_iter());
        let forgotten = Note::of_forgotten(7, [2, 2, 4].into_iter());
        let back = Note::of_taken_back(
            7,
            TakenBack {
                input_id: 5,
                from_offset: 10,
            },
        );
        for (note, inputs, removed, kept) in [
            (down, &[1, 3][..], [(1, 20), (3, 0)], [(1, 11), (2, 20)]),
            (forgotten, &[2, 4][..], [(2, 0), (4, 99)], [(1, 0), (3, 99)]),
            (back, &[5][..], [(5, 10), (5, 11)], [(5, 9), (4, 10)]),
        ] {
            let note = Note::of_bytes(&note.to_bytes()).unwrap();
            assert!(note.removes_rows());
            assert_eq!(note.inputs_with_removed_rows(), inputs);
            for (input, offset) in removed {
                assert!(note.removes(input, offset), "{input}, {offset}");
            }
            for (input, offset) in kept {
                assert!(!note.removes(input, offset), "{input}, {offset}");
            }
        }
    }

    /// Earlier programs wrote this for a forgotten input.
    #[test]
    fn a_note_without_forgotten_inputs_is_read() {
        let text = r#"{"epoch":7,"added":[[],[]],"before":[3,3],"taken_down":{"1":[10]}}"#;
        let written = Note::of_taken_down(7, [(1, 10)].into_iter()).to_bytes();
        assert!(!String::from_utf8(written).unwrap().contains("forgotten"));
        let note = Note::of_bytes(text.as_bytes()).unwrap();
        assert!(note.removes(1, 10) && !note.removes(1, 11));
    }
}
