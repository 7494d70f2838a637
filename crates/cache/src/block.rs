//! Objects consist of blocks, and blocks of pieces.
//!
//! A **block** of 1 MiB is the unit that tiers store, count and evict. A **piece** of 64 KiB is the
//! smallest unit of a fetch, so that a small read need not wait for a whole block. A bit mask
//! records which pieces of a block are present.
//!
//! Data that readers of many objects need first (footers of Parquet files, logs of Delta tables) is
//! stored in blocks of a separate class, so that scans of data cannot evict it.

use std::ops::Range;

use bytes::Bytes;
use xxhash_rust::xxh3::Xxh3Default;

use crate::origin::Validator;

/// Length of a block.
pub(crate) const BLOCK_BYTES: u64 = 1 << 20;
/// Length of a piece.
pub(crate) const PIECE_BYTES: u64 = 64 << 10;
/// Number of pieces in a block.
pub(crate) const PIECES: usize = (BLOCK_BYTES / PIECE_BYTES) as usize;

/// Number of pieces at the end of a Parquet file that count as metadata: the footer, for up to
/// several hundred columns and row groups.
const FOOTER_PIECES: u64 = 2;

/// The key of one version of an object: a digest of its store, path, size and validator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectId(pub(crate) u128);

impl ObjectId {
    pub(crate) fn new(
        endpoint: &str,
        root: &str,
        path: &str,
        size_bytes: u64,
        validator: &Validator,
    ) -> ObjectId {
        let mut digest = Xxh3Default::new();
        let mut add = |part: &[u8]| {
            // Length prefixes keep "ab" + "c" distinct from "a" + "bc".
            digest.update(&(part.len() as u64).to_le_bytes());
            digest.update(part);
        };
        add(endpoint.as_bytes());
        add(root.as_bytes());
        add(path.as_bytes());
        add(&size_bytes.to_le_bytes());
        match validator {
            Validator::Tag(tag) => add(tag.as_bytes()),
            Validator::Modified(ms) => {
                add(b"modified");
                add(&ms.to_le_bytes());
            }
        }
        ObjectId(digest.digest128())
    }
}

/// The class of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Class {
    Data,
    Metadata,
}

/// A block of one version of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BlockKey {
    pub(crate) object: ObjectId,
    pub(crate) block: u32,
    pub(crate) class: Class,
}

/// Maps the pieces of an object to classes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Classes {
    /// First metadata piece.
    metadata_from: u64,
}

impl Classes {
    /// Derives the classes from the file names that Delta Lake and Parquet use.
    pub(crate) fn of(path: &str, size_bytes: u64) -> Classes {
        let pieces = size_bytes.div_ceil(PIECE_BYTES);
        let name = path.rsplit('/').next().unwrap_or(path);
        let metadata_from = if path.split('/').any(|part| part == "_delta_log") {
            0
        } else if name.ends_with(".parquet") {
            pieces.saturating_sub(FOOTER_PIECES)
        } else {
            pieces
        };
        Classes { metadata_from }
    }

    pub(crate) fn of_piece(self, piece: u64) -> Class {
        if piece >= self.metadata_from {
            Class::Metadata
        } else {
            Class::Data
        }
    }
}

/// Returns the block that holds a piece, and the position of the piece in it.
pub(crate) fn place(piece: u64) -> (u32, usize) {
    let pieces = PIECES as u64;
    let block = u32::try_from(piece / pieces).unwrap_or(u32::MAX);
    (block, (piece % pieces) as usize)
}

/// Returns the pieces that cover a range of bytes.
pub(crate) fn pieces_of(range: &Range<u64>) -> Range<u64> {
    range.start / PIECE_BYTES..range.end.div_ceil(PIECE_BYTES)
}

/// Returns the byte range of some pieces of an object of this size.
pub(crate) fn bytes_of(pieces: &Range<u64>, size_bytes: u64) -> Range<u64> {
    (pieces.start * PIECE_BYTES).min(size_bytes)..(pieces.end * PIECE_BYTES).min(size_bytes)
}

/// The pieces present in a block. Cheap to clone, because clones share the bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pieces([Option<Bytes>; PIECES]);

impl Pieces {
    pub(crate) fn get(&self, place: usize) -> Option<&Bytes> {
        self.0.get(place).and_then(Option::as_ref)
    }

    pub(crate) fn set(&mut self, place: usize, bytes: Bytes) {
        if let Some(slot) = self.0.get_mut(place) {
            *slot = Some(bytes);
        }
    }

    /// Returns a mask with a bit set for each piece present.
    pub(crate) fn mask(&self) -> u16 {
        let bits = self.0.iter().enumerate();
        bits.fold(0, |mask, (place, piece)| {
            mask | u16::from(piece.is_some()) << place
        })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().flatten().map(|piece| piece.len() as u64).sum()
    }

    /// Adds the pieces of another part of the same block.
    pub(crate) fn add(&mut self, other: &Pieces) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            if mine.is_none() {
                mine.clone_from(theirs);
            }
        }
    }

    /// Returns the positions and bytes of the pieces present.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Bytes)> {
        let places = self.0.iter().enumerate();
        places.filter_map(|(place, piece)| Some((place, piece.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_by_every_part() {
        let tag = |tag: &str| Validator::Tag(tag.to_owned());
        let ids = [
            ObjectId::new("", "s3://a", "bc", 1, &tag("x")),
            ObjectId::new("https://there", "s3://a", "bc", 1, &tag("x")),
            ObjectId::new("", "s3://ab", "c", 1, &tag("x")),
            ObjectId::new("", "s3://a", "bc", 2, &tag("x")),
            ObjectId::new("", "s3://a", "bc", 1, &tag("y")),
            ObjectId::new("", "s3://a", "bc", 1, &Validator::Modified(1)),
            ObjectId::new("", "s3://a", "bc", 1, &Validator::Modified(2)),
        ];
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
    }

    #[test]
    fn metadata_is_told_by_name_and_place() {
        let check = |path: &str, size_bytes: u64, expected: &[(u64, Class)]| {
            let classes = Classes::of(path, size_bytes);
            for (piece, class) in expected {
                assert_eq!(classes.of_piece(*piece), *class, "{path}, piece {piece}");
            }
        };
        let (data, metadata) = (Class::Data, Class::Metadata);
        check("t/_delta_log/00000000000000000001.json", 10, &[(0, metadata)]);
        check(
            "t/part-0.parquet",
            10 * PIECE_BYTES,
            &[(0, data), (7, data), (8, metadata), (9, metadata)],
        );
        check("t/part-0.parquet", 5, &[(0, metadata)]);
        check("crawl.warc.gz", 3 * PIECE_BYTES, &[(0, data), (2, data)]);
    }
}
