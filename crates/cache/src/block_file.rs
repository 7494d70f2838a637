//! The file format of a block.
//!
//! ```text
//! 0    8  "WEFTBLK1"
//! 8   16  object (little-endian, like all numbers)
//! 24   4  block
//! 28   4  class: 0 data, 1 metadata
//! 32   4  length of the block in bytes (less than 1 MiB at the end of an object)
//! 36   4  mask: bit n is set if piece n is present
//! 40 128  checksum of each piece (XXH3, 64 bits; seeded with its position to find misplaced ones)
//! 168  8  checksum of the preceding 168 bytes
//! 256     pieces, each at its position; absent pieces are holes
//! ```
//!
//! Files are not synced. Checksums detect the effects of a kill or a machine crash: a piece whose
//! bytes did not reach the disk does not match its header. The header is written after the pieces
//! that it names.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;
use rustix::fs::Advice;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::block::{BlockKey, Class, PIECE_BYTES, PIECES, Pieces};

const MAGIC: &[u8; 8] = b"WEFTBLK1";
const HEADER_BYTES: u64 = 256;
const SUMS_AT: usize = 40;
const SUM_OF_HEADER_AT: usize = SUMS_AT + 8 * PIECES;
const HEADER_USED: usize = SUM_OF_HEADER_AT + 8;
/// Allocation unit of file systems.
const PAGE_BYTES: u64 = 4096;

/// Why pieces cannot be read from a file.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The file does not exist.
    Gone,
    /// Its writer was killed before it finished.
    Unfinished,
    /// A checksum does not match.
    Corrupt(String),
    /// I/O error.
    Io(io::Error),
}

struct Header {
    block_bytes: u32,
    mask: u16,
    sums: [u64; PIECES],
}

impl Header {
    fn to_bytes(&self, key: &BlockKey) -> [u8; HEADER_USED] {
        let mut bytes = [0; HEADER_USED];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..24].copy_from_slice(&key.object.0.to_le_bytes());
        bytes[24..28].copy_from_slice(&key.block.to_le_bytes());
        bytes[28..32].copy_from_slice(&class_number(key.class).to_le_bytes());
        bytes[32..36].copy_from_slice(&self.block_bytes.to_le_bytes());
        bytes[36..40].copy_from_slice(&u32::from(self.mask).to_le_bytes());
        for (sum, place) in self.sums.iter().zip(bytes[SUMS_AT..].chunks_exact_mut(8)) {
            place.copy_from_slice(&sum.to_le_bytes());
        }
        let sum = xxh3_64(&bytes[..SUM_OF_HEADER_AT]);
        bytes[SUM_OF_HEADER_AT..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8], key: &BlockKey) -> Result<Header, Fault> {
        let corrupt = |what: &str| Err(Fault::Corrupt(what.to_owned()));
        let Some(bytes) = bytes.get(..HEADER_USED) else {
            return Err(Fault::Unfinished);
        };
        if bytes.iter().all(|byte| *byte == 0) {
            return Err(Fault::Unfinished);
        }
        if number(bytes, SUM_OF_HEADER_AT) != xxh3_64(&bytes[..SUM_OF_HEADER_AT]) || &bytes[..8] != MAGIC {
            return corrupt("the checksum of its header does not match");
        }
        let half = |at: usize| (number(bytes, at) & u64::from(u32::MAX)) as u32;
        let is_its_own = bytes[8..24] == key.object.0.to_le_bytes()
            && half(24) == key.block
            && half(28) == class_number(key.class);
        if !is_its_own {
            return corrupt("it belongs to another block");
        }
        let mut sums = [0; PIECES];
        for (index, sum) in sums.iter_mut().enumerate() {
            *sum = number(bytes, SUMS_AT + 8 * index);
        }
        Ok(Header {
            block_bytes: half(32),
            // The upper half is zero: the header checksum was verified.
            mask: half(36) as u16,
            sums,
        })
    }

    /// Returns the length of a piece.
    fn length(&self, place: usize) -> usize {
        let rest = u64::from(self.block_bytes).saturating_sub(place as u64 * PIECE_BYTES);
        rest.min(PIECE_BYTES) as usize
    }
}

fn class_number(class: Class) -> u32 {
    match class {
        Class::Data => 0,
        Class::Metadata => 1,
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    let there = &bytes[at.min(bytes.len())..bytes.len().min(at + 8)];
    eight[..there.len()].copy_from_slice(there);
    u64::from_le_bytes(eight)
}

fn sum(key: &BlockKey, place: usize, bytes: &[u8]) -> u64 {
    let seed = (key.object.0 as u64) ^ (u64::from(key.block) << 8 | place as u64);
    xxh3_64_with_seed(bytes, seed)
}

/// Returns an upper bound on the disk space of a file with these pieces, including its directory
/// entry.
pub(crate) fn space(mask: u16, block_bytes: u32) -> u64 {
    let length = |place: u32| {
        u64::from(block_bytes)
            .saturating_sub(u64::from(place) * PIECE_BYTES)
            .min(PIECE_BYTES)
    };
    let pieces: u64 = (0..PIECES as u32)
        .filter(|place| mask >> place & 1 == 1)
        .map(length)
        .sum();
    // Each run of pieces may start and end inside a page. The header shares a page with the first
    // piece or has its own.
    let runs = u64::from((mask & !(mask << 1)).count_ones());
    pieces.next_multiple_of(PAGE_BYTES) + (runs + 1) * PAGE_BYTES
}

/// Adds pieces to the file of a block, and creates it if necessary. Returns the resulting mask.
pub(crate) fn write(path: &Path, key: &BlockKey, block_bytes: u32, pieces: &Pieces) -> io::Result<u16> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    let before = read_header(&file, key)
        .ok()
        .filter(|header| header.block_bytes == block_bytes);
    let mut header = before.unwrap_or(Header {
        block_bytes,
        mask: 0,
        sums: [0; PIECES],
    });
    for (place, bytes) in pieces.iter() {
        if header.mask >> place & 1 == 1 {
            continue;
        }
        file.write_all_at(bytes, HEADER_BYTES + place as u64 * PIECE_BYTES)?;
        header.mask |= 1 << place;
        header.sums[place] = sum(key, place, bytes);
    }
    file.write_all_at(&header.to_bytes(key), 0)?;
    Ok(header.mask)
}

/// Reads the pieces of a block that are both wanted and present. Also returns the mask of all
/// pieces present.
pub(crate) fn read(path: &Path, key: &BlockKey, wanted: u16) -> Result<(Pieces, u16), Fault> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(Fault::Gone),
        Err(error) => return Err(Fault::Io(error)),
    };
    let header = read_header(&file, key)?;
    let wanted = wanted & header.mask;
    let mut pieces = Pieces::default();
    let mut place = 0;
    while place < PIECES {
        let run = (wanted >> place).trailing_ones() as usize;
        if run == 0 {
            place += 1;
            continue;
        }
        read_run(&file, key, &header, place..place + run, &mut pieces)?;
        place += run;
    }
    Ok((pieces, header.mask))
}

fn read_header(file: &File, key: &BlockKey) -> Result<Header, Fault> {
    let mut bytes = [0; HEADER_USED];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Fault::Io(error)),
        }
    }
    Header::parse(&bytes[..filled], key)
}

fn read_run(
    file: &File,
    key: &BlockKey,
    header: &Header,
    places: std::ops::Range<usize>,
    pieces: &mut Pieces,
) -> Result<(), Fault> {
    let length: usize = places.clone().map(|place| header.length(place)).sum();
    let mut bytes = Vec::with_capacity(length);
    let start = HEADER_BYTES + places.start as u64 * PIECE_BYTES;
    // Without this hint the system starts with a small read-ahead for each file and increases it
    // only as the file is read. If the hint fails, the read is only slower.
    let _ = rustix::fs::fadvise(file, start, NonZeroU64::new(length as u64), Advice::WillNeed);
    let mut from = file;
    // The file was opened here, so no other reader uses its position.
    io::Seek::seek(&mut from, io::SeekFrom::Start(start)).map_err(Fault::Io)?;
    from.take(length as u64)
        .read_to_end(&mut bytes)
        .map_err(Fault::Io)?;
    if bytes.len() < length {
        return Err(Fault::Corrupt(format!(
            "it is {} bytes too short",
            length - bytes.len()
        )));
    }
    let mut rest = Bytes::from(bytes);
    for place in places {
        let piece = rest.split_to(header.length(place).min(rest.len()));
        if sum(key, place, &piece) != header.sums[place] {
            return Err(Fault::Corrupt(format!(
                "the checksum of piece {place} does not match"
            )));
        }
        pieces.set(place, piece);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::block::{BLOCK_BYTES, ObjectId};

    fn key() -> BlockKey {
        BlockKey {
            object: ObjectId(7 << 80 | 9),
            block: 3,
            class: Class::Data,
        }
    }

    fn of_places(places: &[usize], block_bytes: u32) -> Pieces {
        let mut pieces = Pieces::default();
        for place in places {
            let length = (u64::from(block_bytes) - *place as u64 * PIECE_BYTES).min(PIECE_BYTES);
            pieces.set(*place, Bytes::from(vec![*place as u8 + 1; length as usize]));
        }
        pieces
    }

    fn equal(a: &Pieces, b: &Pieces) -> bool {
        a.iter().eq(b.iter())
    }

    #[test]
    fn pieces_come_back_and_others_are_added() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("3");
        let length = BLOCK_BYTES as u32 - 100;
        assert_eq!(
            write(&path, &key(), length, &of_places(&[2, 3, 15], length)).unwrap(),
            0b1000_0000_0000_1100
        );
        assert_eq!(
            write(&path, &key(), length, &of_places(&[0, 2], length)).unwrap(),
            0b1000_0000_0000_1101
        );
        let (pieces, mask) = read(&path, &key(), u16::MAX).unwrap();
        assert_eq!(mask, 0b1000_0000_0000_1101);
        assert!(equal(&pieces, &of_places(&[0, 2, 3, 15], length)));
        assert!(matches!(
            read(&path, &BlockKey { block: 4, ..key() }, 1),
            Err(Fault::Corrupt(_))
        ));
        assert!(matches!(read(&dir.path().join("4"), &key(), 1), Err(Fault::Gone)));
    }

    #[test]
    fn the_space_of_a_file_is_not_more_than_is_counted() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        for (index, places) in [&[0_usize][..], &[15], &[1, 3, 5, 7], &(0..16).collect::<Vec<_>>()]
            .iter()
            .enumerate()
        {
            let path = dir.path().join(index.to_string());
            let mask = write(&path, &key(), 1 << 20, &of_places(places, 1 << 20)).unwrap();
            let used = path.metadata().unwrap().blocks() * 512;
            assert!(
                used <= space(mask, 1 << 20),
                "{places:?}: {used} of {}",
                space(mask, 1 << 20)
            );
        }
    }

    proptest! {
        #[test]
        fn damage_is_found(at in 0..(256 + 3 * 65536_u64), cut in any::<bool>()) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("3");
            let length = 3 * PIECE_BYTES as u32;
            let written = of_places(&[0, 1, 2], length);
            write(&path, &key(), length, &written).unwrap();
            let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
            if cut {
                file.set_len(at).unwrap();
            } else {
                let mut byte = [0];
                file.read_exact_at(&mut byte, at).unwrap();
                file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
            }
            match read(&path, &key(), 0b111) {
                // Unused bytes of the header.
                Ok((pieces, _)) => prop_assert!(!cut && (HEADER_USED as u64..HEADER_BYTES).contains(&at) && equal(&pieces, &written)),
                Err(Fault::Corrupt(_) | Fault::Unfinished) => {}
                Err(other) => prop_assert!(false, "{other:?}"),
            }
        }
    }
}
