//! Reading a whole replica against its digests.

use std::fmt::Display;

use data_encoding::HEXLOWER;

use super::index::{Change, Entry, Outcome};
use super::inner::Inner;
use super::io::DiskFile;
use super::life::is_gone;
use super::names::{hash_of, replica_path};
use super::read::read_piece;
use crate::clock::Version;
use crate::key::Key;
use crate::meta::BLOCK_BYTES;
use crate::volume::blocks::{BlockTable, block_count};
use crate::volume::{Cause, Verdict, VolumeError, replica};

/// What the index says of a replica whose file is gone.
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
            // What was read goes out of memory again: re-reading everything must not displace what is in use.
            file.forget_cached();
            let _lock = self.key_lock(&hash);
            if self.is_at(file.as_ref(), &path) {
                return self.note_verdict(&entry, cause, found);
            }
            // Replaced or removed while it was read: what was found is not about what is there.
        }
    }

    /// Marks a version whose file was not found as missing, unless that has changed meanwhile.
    pub(super) fn note_missing(&self, key: &Key, version: Version, cause: Cause) {
        self.look_after_identity();
        let hash = hash_of(key);
        let _lock = self.key_lock(&hash);
        let there = self.disk.stat(&replica_path(&self.root, &hash, version));
        if there.is_err_and(|error| is_gone(&error)) {
            self.mark_missing(key, version, cause);
        }
    }

    /// Marks a version as missing and logs it, once. The key is locked, or nobody else has the volume yet.
    pub(super) fn mark_missing(&self, key: &Key, version: Version, cause: Cause) {
        let Ok(entry) = self.entry(key, version) else {
            return;
        };
        if entry.bad.as_deref() == Some(FILE_MISSING) {
            return;
        }
        self.tables.forget(hash_of(key), version);
        if self.mark(key, version, Some(FILE_MISSING.to_owned())) {
            let detail = format!("the replica's file of {} bytes is gone", entry.file_bytes);
            self.log("missing", key, version, cause, &detail, true);
        }
    }

    /// Marks a replica as bad and logs it. The key is locked.
    pub(super) fn mark_bad(&self, key: &Key, version: Version, cause: Cause, detail: &str) {
        self.tables.forget(hash_of(key), version);
        if self.mark(key, version, Some(detail.to_owned())) {
            self.log("bad", key, version, cause, detail, true);
        }
    }

    /// Sets what the index says of a version; false if it holds no such version or cannot be written.
    fn mark(&self, key: &Key, version: Version, bad: Option<String>) -> bool {
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

    /// Whether the open file is the one at `path`, or neither is anywhere any more.
    fn is_at(&self, file: &dyn DiskFile, path: &std::path::Path) -> bool {
        let (Ok(open), Ok(there)) = (file.stat(), self.disk.stat(path)) else {
            return false;
        };
        (open.device, open.inode) == (there.device, there.inode)
    }

    /// Marks and logs the outcome. The key is locked.
    fn note_verdict(
        &self,
        entry: &Entry,
        cause: Cause,
        found: Result<u64, String>,
    ) -> Result<Verdict, VolumeError> {
        let (key, version) = (&entry.meta.key, entry.meta.version);
        // The entry may be that of another version by now.
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
            Err(detail) => {
                self.mark_bad(key, version, cause, &detail);
                Ok(Verdict::Bad { detail })
            }
        }
    }
}

/// Compares a whole file with what the index says of it. Gives the bytes read, or what differs.
pub(super) fn compare(file: &dyn DiskFile, entry: &Entry) -> Result<u64, String> {
    let found = replica::read(file).map_err(|error| error.to_string())?;
    if found.meta != entry.meta {
        return Err(differs("meta", json(&found.meta), json(&entry.meta)));
    }
    if found.file_bytes != entry.file_bytes {
        return Err(differs("length of the file", found.file_bytes, entry.file_bytes));
    }
    compare_content(file, &found.table, entry.meta.size)?;
    Ok(found.file_bytes)
}

/// Compares the content with its table, block by block.
pub(super) fn compare_content(file: &dyn DiskFile, table: &BlockTable, size: u64) -> Result<(), String> {
    for block in 0..block_count(size) {
        let start = block * BLOCK_BYTES;
        let bytes = read_piece(file, &(start..(start + BLOCK_BYTES).min(size)))
            .map_err(|error| format!("block {block} cannot be read: {error}"))?;
        if !table.holds(block, &bytes) {
            let index = usize::try_from(block).unwrap_or(usize::MAX);
            let expected = table
                .values()
                .get(index)
                .map_or_else(String::new, |value| HEXLOWER.encode(value));
            let found = HEXLOWER.encode(&table.value_of(block, &bytes));
            return Err(differs(format!("block {block}"), found, expected));
        }
    }
    Ok(())
}

fn json(meta: &crate::meta::Meta) -> String {
    serde_json::to_string(meta).unwrap_or_default()
}

fn differs(part: impl Display, found: impl Display, expected: impl Display) -> String {
    format!("{part}: found {found}, expected {expected}")
}
