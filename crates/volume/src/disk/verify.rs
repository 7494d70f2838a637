//! Verifies whole replicas against their digests.

use std::fmt::Display;

use data_encoding::HEXLOWER;
use store_protocol::{
    BLOCK_BYTES, BlockHasher, BlockSet, BlockTable, Cause, Key, RANGES_MAX, Verdict, Version, VolumeError,
    block_bytes, block_count,
};

use super::index::{Change, Entry, Flaw, Outcome};
use super::inner::Inner;
use super::names::{hash_of, replica_path};
use super::read::read_piece;
use crate::io::{DiskFile, is_gone};
use crate::replica;

/// Mark of a replica whose file is gone.
pub(super) const FILE_MISSING: &str = "file missing";

impl Inner {
    pub(super) fn verify(&self, key: &Key, version: Version, cause: Cause) -> Result<Verdict, VolumeError> {
        let (hash, path) = (hash_of(key), replica_path(&self.root, &hash_of(key), version));
        loop {
            let entry = match self.entry(key, version) {
                Err(VolumeError::Missing { .. }) => return Ok(Verdict::Missing),
                other => other?,
            };
            let file = match self.disk.open(&path) {
                Ok(file) => file,
                Err(error) if is_gone(&error) => {
                    self.note_missing(key, version, cause);
                    return Ok(Verdict::Missing);
                }
                Err(error) => return Err(self.failed(format!("open {}", path.display()), &error)),
            };
            file.forget_cached();
            let found = compare(file.as_ref(), &entry);
            // Drops the file from the cache again: a full verification must not displace files in
            // use.
            file.forget_cached();
            // The key is locked only after the long read, so that it does not block writes.
            let _lock = self.key_lock(&hash);
            if self.is_at(file.as_ref(), &path) {
                return self.note_verdict(&entry, cause, found);
            }
            // The file was replaced or removed during the read, so the result does not apply to the
            // present file. Try again.
        }
    }

    /// Marks a version as missing if its file is still not found under the lock of the key.
    pub(super) fn note_missing(&self, key: &Key, version: Version, cause: Cause) {
        self.check_identity();
        let hash = hash_of(key);
        let _lock = self.key_lock(&hash);
        let there = self.disk.stat(&replica_path(&self.root, &hash, version));
        if there.is_err_and(|error| is_gone(&error)) {
            self.mark_missing(key, version, cause);
        }
    }

    /// Marks a version as missing and logs it, once. The caller holds the lock of the key, or has
    /// exclusive access to the volume.
    pub(super) fn mark_missing(&self, key: &Key, version: Version, cause: Cause) {
        let Ok(entry) = self.entry(key, version) else {
            return;
        };
        if entry.bad.as_deref() == Some(FILE_MISSING) {
            return;
        }
        self.tables.forget(hash_of(key), version);
        let flaw = Flaw {
            detail: FILE_MISSING.to_owned(),
            blocks: Some(all_blocks(&entry)),
        };
        if self.mark(key, version, Some(flaw)) {
            let detail = format!("the replica's file of {} bytes is gone", entry.file_bytes);
            self.log("missing", key, version, cause, &detail, true);
        }
    }

    /// Marks a replica as bad and logs it. The caller holds the lock of the key.
    pub(super) fn mark_bad(&self, key: &Key, version: Version, cause: Cause, flaw: Flaw) {
        self.tables.forget(hash_of(key), version);
        let detail = flaw.detail.clone();
        if self.mark(key, version, Some(flaw)) {
            self.log("bad", key, version, cause, &detail, true);
        }
    }

    /// Sets the mark of a version in the index. Returns false if the index does not have the
    /// version or cannot be written.
    fn mark(&self, key: &Key, version: Version, bad: Option<Flaw>) -> bool {
        let Ok(index) = self.index() else {
            return false;
        };
        let key = key.clone();
        match index.change(Change::Mark { key, version, bad }, false) {
            Ok(outcome) => outcome == Outcome::Done,
            Err(error) => {
                self.index_failed(&error);
                false
            }
        }
    }

    /// Returns whether the open file is the one at `path`; false if either cannot be examined.
    fn is_at(&self, file: &dyn DiskFile, path: &std::path::Path) -> bool {
        let (Ok(open), Ok(there)) = (file.stat(), self.disk.stat(path)) else {
            return false;
        };
        (open.device, open.inode) == (there.device, there.inode)
    }

    /// Marks and logs the result. The caller holds the lock of the key.
    fn note_verdict(
        &self,
        entry: &Entry,
        cause: Cause,
        found: Result<u64, Flaw>,
    ) -> Result<Verdict, VolumeError> {
        let (key, version) = (&entry.meta.key, entry.meta.version);
        // The key may have another version by now.
        let Ok(now) = self.entry(key, version) else {
            return Ok(Verdict::Missing);
        };
        match found {
            Ok(bytes) => {
                if now.bad.is_some() {
                    self.mark(key, version, None);
                }
                self.log("verified", key, version, cause, "", false);
                Ok(Verdict::Good { bytes })
            }
            Err(flaw) => {
                self.mark_bad(key, version, cause, flaw.clone());
                let Flaw { detail, blocks } = flaw;
                Ok(Verdict::Bad { detail, blocks })
            }
        }
    }
}

/// Compares a whole file with its index entry. Returns the number of bytes read, or the difference.
pub(super) fn compare(file: &dyn DiskFile, entry: &Entry) -> Result<u64, Flaw> {
    let size = entry.meta.size;
    // Head, table, meta or tail is damaged. The content may still be intact and needed.
    let around = |detail| {
        Err(Flaw {
            detail,
            blocks: bad_without_frame(file, entry),
        })
    };
    let found = match replica::read(file) {
        Ok(found) => found,
        Err(error) => return around(error.to_string()),
    };
    if found.meta != entry.meta {
        return around(differs("meta", json(&found.meta), json(&entry.meta)));
    }
    if found.file_bytes != entry.file_bytes {
        return around(differs("length of the file", found.file_bytes, entry.file_bytes));
    }
    let bad = bad_blocks(file, &found.table, size);
    match bad.ranges().first() {
        None => Ok(found.file_bytes),
        Some(first) => Err(Flaw {
            detail: told(file, &found.table, size, first.start, &bad),
            blocks: (bad.ranges().len() <= RANGES_MAX).then_some(bad),
        }),
    }
}

/// Returns the blocks of the content that differ from the table or cannot be read. Checks all
/// blocks: an intact block of a bad replica may be the last copy.
pub(super) fn bad_blocks(file: &dyn DiskFile, table: &BlockTable, size: u64) -> BlockSet {
    let mut bad = BlockSet::default();
    for block in 0..block_count(size) {
        if !read_block(file, block, size).is_ok_and(|bytes| table.holds(block, &bytes)) {
            bad.push(block..block + 1);
        }
    }
    bad
}

/// Returns the bad blocks of a replica with a damaged frame, by the digest in the index; `None` if
/// they cannot be determined.
fn bad_without_frame(file: &dyn DiskFile, entry: &Entry) -> Option<BlockSet> {
    let (size, blake3) = (entry.meta.size, entry.meta.digests.blake3);
    if let Ok(table) = replica::stored_table(file, size)
        && table.root() == Some(blake3)
    {
        let bad = bad_blocks(file, &table, size);
        return (bad.ranges().len() <= RANGES_MAX).then_some(bad);
    }
    let (mut hasher, mut unreadable) = (BlockHasher::default(), BlockSet::default());
    for block in 0..block_count(size) {
        match read_block(file, block, size) {
            Ok(bytes) => hasher.update(&bytes),
            Err(_) => unreadable.push(block..block + 1),
        }
    }
    if unreadable == all_blocks(entry) {
        return Some(unreadable);
    }
    (unreadable.is_empty() && hasher.finish().1 == blake3).then(BlockSet::default)
}

fn all_blocks(entry: &Entry) -> BlockSet {
    BlockSet::from_range(0..block_count(entry.meta.size))
}

fn read_block(file: &dyn DiskFile, block: u64, size: u64) -> std::io::Result<bytes::Bytes> {
    let start = block * BLOCK_BYTES;
    read_piece(file, &(start..start + block_bytes(block, size) as u64))
}

/// Describes the first bad block, and gives the number of others.
fn told(file: &dyn DiskFile, table: &BlockTable, size: u64, block: u64, bad: &BlockSet) -> String {
    let first = match read_block(file, block, size) {
        Err(error) => format!("block {block} cannot be read: {error}"),
        Ok(bytes) => {
            let index = usize::try_from(block).unwrap_or(usize::MAX);
            let expected = table
                .values()
                .get(index)
                .map_or_else(String::new, |value| HEXLOWER.encode(value));
            let found = HEXLOWER.encode(&table.value_of(block, &bytes));
            differs(format!("block {block}"), found, expected)
        }
    };
    match bad.count() {
        1 => first,
        count => format!("{first}; {} other blocks are bad too", count - 1),
    }
}

fn json(meta: &store_protocol::Meta) -> String {
    serde_json::to_string(meta).unwrap_or_default()
}

fn differs(part: impl Display, found: impl Display, expected: impl Display) -> String {
    format!("{part}: found {found}, expected {expected}")
}
