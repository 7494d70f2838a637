//! `volume::replica`: arbitrary bytes are a replica's file or not, and the parts of a valid one
//! agree.
//!
//! The first byte of an input chooses whether its digests are recalculated. Without that hardly any
//! mutation gets past the first digest; with it the rest of the reader is reached, as with a
//! malicious file.

use std::io;

use store_protocol::{Key, block_count};
use volume::replica::{CONTENT_AT, read, read_head, stored_table};
use volume::{DiskFile, Stat};

use super::Target;

/// The target; the head of this file describes inputs and properties.
pub const TARGET: Target = Target {
    name: "replica",
    about: "files of replicas, with and without corrected digests",
    run,
    seeds,
    from_file: |mut bytes| {
        bytes.insert(0, 0);
        bytes
    },
    tokens: &[
        b"WEFTREPL",
        b"WEFTTAIL",
        b"\"size\":",
        b"\"deleted\":true,",
        b"\"version\":\"",
        b"\"blake3\":\"",
        b"\0\0\0\0\0\0\0\0",
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
    ],
};

/// Lengths of the head and the tail (`docs/format-replica.md`).
const HEAD_BYTES: usize = CONTENT_AT as usize;
const TAIL_BYTES: usize = 64;

/// Reads the file and checks the result.
pub fn run(bytes: &[u8]) {
    let Some((choice, file)) = bytes.split_first() else {
        return;
    };
    let mut file = file.to_vec();
    if choice & 1 != 0 {
        seal(&mut file);
    }
    let file = MemoryFile(file);
    let head = read_head(&file);
    stored_table(&file, u64::from(*choice) << 50).ok();
    let Ok(replica) = read(&file) else { return };
    let head = head.expect("a whole replica has a valid head");
    let meta = &replica.meta;
    assert_eq!(replica.file_bytes, file.0.len() as u64);
    assert_eq!(
        (&head.key, head.size, head.deleted),
        (&meta.key, meta.size, meta.deleted)
    );
    assert_eq!((head.version, head.blake3), (meta.version, meta.digests.blake3));
    assert_eq!(replica.table.values().len() as u64, block_count(meta.size));
    assert_eq!(stored_table(&file, meta.size).ok().as_ref(), Some(&replica.table));
}

/// Recalculates the digests of head, key and tail for the changed bytes.
fn seal(file: &mut [u8]) {
    if file.len() < HEAD_BYTES + TAIL_BYTES {
        return;
    }
    let key_bytes = usize::from(u16::from_le_bytes([file[54], file[55]]));
    let key = file[128..HEAD_BYTES].get(..key_bytes);
    let key = key.and_then(|key| Key::parse(std::str::from_utf8(key).ok()?).ok());
    if let Some(key) = key {
        file[56..88].copy_from_slice(&key.hash());
    }
    let digest = blake3::hash(&file[..HEAD_BYTES - 32]);
    file[HEAD_BYTES - 32..HEAD_BYTES].copy_from_slice(digest.as_bytes());

    let (tail, end) = (file.len() - TAIL_BYTES, file.len() - 40);
    let size = file[tail..tail + 8]
        .iter()
        .rev()
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let after = usize::try_from(size.saturating_add(CONTENT_AT)).unwrap_or(usize::MAX);
    if after <= end {
        let digest = blake3::hash(&file[after..end]);
        file[end..end + 32].copy_from_slice(digest.as_bytes());
    }
}

/// A file in memory.
struct MemoryFile(Vec<u8>);

impl DiskFile for MemoryFile {
    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        // The reader must not request more bytes than the length of the file justifies.
        assert!(
            bytes.len() <= self.0.len().max(HEAD_BYTES),
            "{} bytes are requested",
            bytes.len()
        );
        let found = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.0.get(offset..offset.checked_add(bytes.len())?));
        bytes.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(Stat {
            bytes: self.0.len() as u64,
            is_dir: false,
            device: 0,
            inode: 0,
        })
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn forget_cached(&self) {}
}

/// Returns the fixtures of every format ever written, with their own and with recalculated digests.
fn seeds() -> Vec<Vec<u8>> {
    let fixtures: [&[u8]; 4] = [
        include_bytes!("../../../crates/volume/tests/fixtures/replica-format-1.bin"),
        include_bytes!("../../../crates/volume/tests/fixtures/replica-format-2.bin"),
        include_bytes!("../../../crates/volume/tests/fixtures/tombstone-format-1.bin"),
        include_bytes!("../../../crates/volume/tests/fixtures/tombstone-format-2.bin"),
    ];
    let mut seeds = Vec::new();
    for fixture in fixtures {
        for choice in [0, 1] {
            seeds.push([&[choice], fixture].concat());
        }
    }
    seeds
}
