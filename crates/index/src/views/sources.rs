//! Numbers of sources. In the in-links of URIs, a number represents the URL key of a source.
//!
//! The key of a source would otherwise be stored once for each of its links, and take most of the
//! space of in-links. So a source gets a number together with its first links, stored in its row of
//! `links`; table `sources` maps the number to the key. A source that loses all its links loses its
//! number, and gets a new one with new links. Numbers are internal: views stay a pure function of
//! the captures.
//!
//! A number has the epoch that assigned it and the place of the source among those numbered in that
//! epoch, in order of their keys. So the sources of one epoch have the same order by key as by
//! number, and the in-links of a URI can be merged epoch by epoch without looking at all of them.
//!
//! Rows of `sources`: the key is the epoch (8 bytes, big-endian) and the first place (4,
//! big-endian) of [`GROUP`] places. The value is version 1 and front-coded keys; the key of a
//! source that lost its number is empty.

use fjall::Slice;
use rustc_hash::FxHashMap;

use crate::codec::{self, Corrupt, Reader};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::Epoch;
use crate::tables::Table;
use crate::write::Write;

const ROW_VERSION: u8 = 1;

/// Sources in a row: enough for their keys to share most of their bytes, few enough to scan.
const GROUP: u32 = 16;

/// Number of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct SourceId {
    /// The epoch that assigned it.
    pub(crate) epoch: Epoch,
    /// Place among those assigned in that epoch, from 0.
    pub(crate) place: u32,
}

impl SourceId {
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        codec::put_varint(out, self.epoch.0);
        codec::put_varint(out, u64::from(self.place));
    }

    pub(crate) fn get(r: &mut Reader<'_>) -> Result<SourceId, Corrupt> {
        Ok(SourceId {
            epoch: Epoch(r.varint()?),
            place: r.varint_u32()?,
        })
    }

    /// Key of the row in `sources` that has its key.
    pub(crate) fn row_key(self) -> [u8; 12] {
        row_key(self.epoch, self.place / GROUP * GROUP)
    }
}

fn row_key(epoch: Epoch, first: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&epoch.0.to_be_bytes());
    key[8..].copy_from_slice(&first.to_be_bytes());
    key
}

/// Assigns numbers to sources, in order of their keys.
pub(crate) struct Numbering {
    next: SourceId,
    /// Keys of the unfinished row.
    keys: Vec<Vec<u8>>,
}

impl Numbering {
    /// Assigns the numbers of `epoch`.
    pub(crate) fn of(epoch: Epoch) -> Numbering {
        Numbering {
            next: SourceId { epoch, place: 0 },
            keys: Vec::new(),
        }
    }

    /// Assigns a number to a source; its key must be greater than all before it.
    pub(crate) fn assign(&mut self, write: &mut Write<'_>, key: &str) -> SourceId {
        debug_assert!(
            self.keys
                .last()
                .is_none_or(|last| last.as_slice() < key.as_bytes()),
            "numbers are assigned in key order"
        );
        let id = self.next;
        self.keys.push(key.as_bytes().to_vec());
        self.next.place += 1;
        if self.next.place.is_multiple_of(GROUP) {
            self.finish(write);
        }
        id
    }

    /// Writes the unfinished row.
    pub(crate) fn finish(&mut self, write: &mut Write<'_>) {
        if !self.keys.is_empty() {
            let first = (self.next.place - 1) / GROUP * GROUP;
            write.put(
                Table::Sources,
                row_key(self.next.epoch, first),
                encode(&self.keys),
            );
            self.keys.clear();
        }
    }
}

/// Removes the numbers of sources that have lost their links. Numbers assigned in this epoch are
/// not among them.
pub(crate) fn remove_numbers(
    cut: &Cut,
    write: &mut Write<'_>,
    mut gone: Vec<SourceId>,
) -> Result<(), SnapshotError> {
    gone.sort_unstable();
    for group in gone.chunk_by(|a, b| a.row_key() == b.row_key()) {
        let row_key = group[0].row_key();
        let Some(row) = cut.get(Table::Sources, &row_key)? else {
            continue;
        };
        let mut keys = cut.decode(Table::Sources, &row_key, decode(&row))?;
        for id in group {
            if let Some(key) = keys.get_mut((id.place % GROUP) as usize) {
                key.clear();
            }
        }
        if keys.iter().all(Vec::is_empty) {
            write.remove(Table::Sources, row_key);
        } else {
            write.put(Table::Sources, row_key, encode(&keys));
        }
    }
    Ok(())
}

/// Stores the key of a source at its place in its row.
pub(crate) fn place_key(keys: &mut Vec<Vec<u8>>, id: SourceId, key: Vec<u8>) {
    let place = (id.place % GROUP) as usize;
    if keys.len() <= place {
        keys.resize(place + 1, Vec::new());
    }
    keys[place] = key;
}

/// Returns whether a row has exactly these keys at their places.
pub(crate) fn has_keys(row: &[u8], keys: &[Vec<u8>]) -> bool {
    decode(row).is_ok_and(|mut found| {
        // Sources after the last one with a number have lost theirs.
        let length = found
            .iter()
            .rposition(|key| !key.is_empty())
            .map_or(0, |last| last + 1);
        found.truncate(length);
        found == keys
    })
}

pub(crate) fn encode(keys: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![ROW_VERSION];
    let mut previous: &[u8] = b"";
    for key in keys {
        codec::put_front_coded(&mut out, previous, key);
        previous = key;
    }
    out
}

fn decode(row: &[u8]) -> Result<Vec<Vec<u8>>, Corrupt> {
    let mut r = Reader::versioned(row, ROW_VERSION)?;
    let (mut keys, mut key) = (Vec::with_capacity(GROUP as usize), Vec::new());
    while !r.is_empty() {
        r.front_coded(&mut key)?;
        keys.push(key.clone());
    }
    Ok(keys)
}

/// Decodes the key at a place of a row into `key`.
fn decode_one(row: &[u8], place: u32, key: &mut Vec<u8>) -> Result<(), Corrupt> {
    let mut r = Reader::versioned(row, ROW_VERSION)?;
    key.clear();
    for _ in 0..=place {
        r.front_coded(key)?;
    }
    if key.is_empty() {
        return Err(Corrupt("number of a removed source"));
    }
    Ok(())
}

/// Maximum number of cached rows of [`SourceKeys`]: some 30 MiB.
const KEPT_MAX: usize = 1 << 15;

/// Maps numbers to keys and caches the rows that it has read.
pub(crate) struct SourceKeys<'c> {
    cut: &'c Cut,
    rows: FxHashMap<[u8; 12], Slice>,
    key: Vec<u8>,
}

impl<'c> SourceKeys<'c> {
    pub(crate) fn of(cut: &'c Cut) -> SourceKeys<'c> {
        SourceKeys {
            cut,
            rows: FxHashMap::default(),
            key: Vec::new(),
        }
    }

    pub(crate) fn cut(&self) -> &'c Cut {
        self.cut
    }

    /// Key of a source.
    pub(crate) fn get(&mut self, id: SourceId) -> Result<&str, SnapshotError> {
        let row_key = id.row_key();
        if !self.rows.contains_key(&row_key) {
            if self.rows.len() >= KEPT_MAX {
                self.rows.clear();
            }
            let row = self.cut.get(Table::Sources, &row_key)?;
            let row = row.ok_or(Corrupt("the row of a source number is missing"));
            let row = self.cut.decode(Table::Sources, &row_key, row)?;
            self.rows.insert(row_key, row);
        }
        let row = &self.rows[&row_key];
        let found = decode_one(row, id.place % GROUP, &mut self.key)
            .and_then(|()| std::str::from_utf8(&self.key).map_err(|_| Corrupt("text is not UTF-8")));
        self.cut.decode(Table::Sources, &row_key, found)
    }
}
