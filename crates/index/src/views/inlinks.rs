//! The sources of a URI, in its row or in rows of table `inlinks`, and their keys in order.
//!
//! Rows of `inlinks`: the key is the number of the URI and the epoch (8 bytes each, big-endian).
//! The value is the places of the sources, sorted, each as a varint of the difference to the one
//! before.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::codec::{self, Corrupt, Reader};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::Epoch;
use crate::tables::Table;
use crate::views::sources::{SourceId, SourceKeys};
use crate::write::Write;

/// The sources that link to a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sources {
    /// All sources, sorted by number; few enough for the URI's row.
    Inline(Vec<SourceId>),
    /// In table `inlinks` under this number of the URI.
    Spilled(u64),
}

impl Sources {
    /// The number of the URI in separate tables, if it has one.
    pub(crate) fn number(&self) -> Option<u64> {
        match self {
            Sources::Inline(_) => None,
            Sources::Spilled(number) => Some(*number),
        }
    }
}

impl Default for Sources {
    fn default() -> Self {
        Sources::Inline(Vec::new())
    }
}

/// Writes the sources of a URI that were numbered in one epoch; their places must be sorted.
pub(crate) fn put(write: &mut Write<'_>, number: u64, epoch: Epoch, places: impl IntoIterator<Item = u32>) {
    write.put(Table::Inlinks, row_key(number, epoch), encode_places(places));
}

/// Encodes the value of a row; the places must be sorted.
pub(crate) fn encode_places(places: impl IntoIterator<Item = u32>) -> Vec<u8> {
    let (mut row, mut before) = (Vec::new(), 0);
    for place in places {
        codec::put_varint(&mut row, u64::from(place - before));
        before = place;
    }
    row
}

/// Key of the row of a URI's sources that were numbered in one epoch.
pub(crate) fn row_key(number: u64, epoch: Epoch) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key[8..].copy_from_slice(&epoch.0.to_be_bytes());
    key
}

/// Decodes the places of a row, sorted.
pub(crate) fn decode_places(row: &[u8]) -> Result<Vec<u32>, Corrupt> {
    let (mut r, mut places, mut place) = (Reader::new(row), Vec::new(), 0u32);
    while !r.is_empty() {
        let more = r.varint_u32()?;
        place = place.checked_add(more).ok_or(Corrupt("position is too large"))?;
        places.push(place);
    }
    Ok(places)
}

/// Returns the keys of the sources of a URI, sorted: those after `after`.
pub(crate) fn sorted<'s, 'c>(
    keys: &'s mut SourceKeys<'c>,
    sources: &Sources,
    after: Option<&str>,
) -> Result<SortedSources<'s, 'c>, SnapshotError> {
    let mut sorted = SortedSources {
        epochs: of_epochs(keys.cut(), sources)?,
        heads: BinaryHeap::new(),
        keys,
    };
    for epoch in 0..sorted.epochs.len() {
        if let Some(after) = after {
            sorted.pass(epoch, after)?;
        }
        sorted.pull(epoch)?;
    }
    Ok(sorted)
}

/// Returns the numbers of the sources of a URI, in arbitrary order.
pub(crate) fn ids(cut: &Cut, sources: &Sources) -> Result<impl Iterator<Item = SourceId>, SnapshotError> {
    let numbers = |of: EpochSources| {
        of.places.into_iter().map(move |place| SourceId {
            epoch: of.epoch,
            place,
        })
    };
    Ok(of_epochs(cut, sources)?.into_iter().flat_map(numbers))
}

/// Sources that were numbered in one epoch: sorted by place, and so by key.
struct EpochSources {
    epoch: Epoch,
    places: Vec<u32>,
    /// Number of places already consumed.
    passed: usize,
}

fn of_epochs(cut: &Cut, sources: &Sources) -> Result<Vec<EpochSources>, SnapshotError> {
    let of = |epoch, places| EpochSources {
        epoch,
        places,
        passed: 0,
    };
    match sources {
        Sources::Inline(sources) => {
            let epochs = sources.chunk_by(|a, b| a.epoch == b.epoch);
            Ok(epochs
                .map(|sources| of(sources[0].epoch, sources.iter().map(|s| s.place).collect()))
                .collect())
        }
        Sources::Spilled(number) => {
            let rows = cut.prefix(Table::Inlinks, &number.to_be_bytes());
            rows.map(|row| {
                let (key, value) = row?;
                let epoch = key.last_chunk().filter(|_| key.len() == 16);
                let decoded = epoch
                    .ok_or(Corrupt("key has the wrong length"))
                    .and_then(|epoch| Ok(of(Epoch(u64::from_be_bytes(*epoch)), decode_places(&value)?)));
                cut.decode(Table::Inlinks, &key, decoded)
            })
            .collect()
        }
    }
}

/// Merges the keys of sources from the epochs in which they were numbered, in order. Looks up only
/// the returned keys, and one more of every epoch.
pub(crate) struct SortedSources<'s, 'c> {
    keys: &'s mut SourceKeys<'c>,
    epochs: Vec<EpochSources>,
    /// The next key of each epoch that has one.
    heads: BinaryHeap<Reverse<(String, usize)>>,
}

impl SortedSources<'_, '_> {
    fn key(&mut self, epoch: usize, at: usize) -> Result<Option<&str>, SnapshotError> {
        let of = &self.epochs[epoch];
        let Some(&place) = of.places.get(at) else {
            return Ok(None);
        };
        let id = SourceId {
            epoch: of.epoch,
            place,
        };
        self.keys.get(id).map(Some)
    }

    /// Skips the keys of an epoch that are not after `after`.
    fn pass(&mut self, epoch: usize, after: &str) -> Result<(), SnapshotError> {
        let (mut low, mut high) = (0, self.epochs[epoch].places.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.key(epoch, middle)?.is_some_and(|key| key <= after) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        self.epochs[epoch].passed = low;
        Ok(())
    }

    /// Adds the next key of an epoch to the heads.
    fn pull(&mut self, epoch: usize) -> Result<(), SnapshotError> {
        let key = self.key(epoch, self.epochs[epoch].passed)?.map(str::to_owned);
        self.epochs[epoch].passed += 1;
        self.heads.extend(key.map(|key| Reverse((key, epoch))));
        Ok(())
    }
}

impl Iterator for SortedSources<'_, '_> {
    type Item = Result<String, SnapshotError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((key, epoch)) = self.heads.pop()?;
        Some(self.pull(epoch).map(|()| key))
    }
}
