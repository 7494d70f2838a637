//! Commits and removes replicas. `crash` has the crash argument for each step.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use store_protocol::{Cause, Key, Partition, UploadId, Version, VolumeError};
use system::{Broken, holds};

use super::index::{Change, Entry, Outcome};
use super::inner::Inner;
use super::names::{KeyHash, hash_of, partition_dir, partition_of, relative, replica_path, staging_path};
use super::uploads::Prepared;
use crate::io::{is_gone, make_directory};

impl Inner {
    pub(super) fn commit(&self, upload: UploadId, cause: Cause, evidence: &str) -> Result<(), VolumeError> {
        self.index()?;
        let prepared = match self.take_prepared(upload) {
            // The caller retries because the answer was lost, or a later version was committed
            // before this one.
            Err(VolumeError::Missing { .. }) if self.uploads.was_committed(upload) => return Ok(()),
            taken => taken?,
        };
        let (key, version) = (prepared.meta.key.clone(), prepared.meta.version);
        match self.place(upload, prepared.clone()) {
            Ok(()) => {
                self.uploads.committed(upload);
                // A later version was chosen, so these are not needed any more.
                for older in self.uploads.supersede(&key, version) {
                    self.discard(older);
                }
            }
            Err(error) => {
                // The version may be visible on another volume, so the upload is kept.
                self.not_committed(upload, prepared);
                return Err(error);
            }
        }
        if let Some(event) = event_of(cause) {
            self.log(event, &key, version, cause, evidence, true);
        }
        Ok(())
    }

    pub(super) fn remove(
        &self,
        key: &Key,
        version: Version,
        cause: Cause,
        evidence: &str,
    ) -> Result<(), VolumeError> {
        let index = self.index()?;
        let hash = hash_of(key);
        {
            let _lock = self.key_lock(&hash);
            let key = key.clone();
            // The entry is removed first, and durably: an older index would report the removed file
            // as missing.
            let outcome = index
                .change(Change::Remove { key, version }, true)
                .map_err(|error| self.index_failed(&error))?;
            if outcome == Outcome::Absent {
                return Ok(());
            }
            self.tables.forget(hash, version);
            self.step("remove.after_index")?;
            // Versions that this one replaced must not reappear after its removal: their removal is
            // perhaps not durable yet.
            self.sync_partition(partition_of(&hash))?;
            self.remove_file(&replica_path(&self.root, &hash, version))?;
            self.step("remove.after_unlink")?;
            self.sync_partition(partition_of(&hash))?;
        }
        self.log("dropped", key, version, cause, evidence, true);
        Ok(())
    }

    /// Renames a prepared upload into place and indexes it. Removes an older version.
    fn place(&self, upload: UploadId, prepared: Prepared) -> Result<(), VolumeError> {
        let index = self.index()?;
        let Prepared { meta, file_bytes, .. } = prepared;
        let (hash, version) = (hash_of(&meta.key), meta.version);
        let _lock = self.key_lock(&hash);
        let held = index.get(&meta.key).map_err(|error| self.index_failed(&error))?;
        if held.is_some_and(|held| held.meta.version > version) {
            self.discard(upload);
            return Ok(());
        }
        self.step("commit.before_rename")?;
        let path = replica_path(&self.root, &hash, version);
        self.rename_into(&staging_path(&self.root, upload), &path, partition_of(&hash))?;
        self.step("commit.after_rename")?;
        self.sync_partition(partition_of(&hash))?;
        self.step("commit.after_dir_sync")?;
        // The cached table may belong to the replaced file.
        self.tables.forget(hash, version);
        let entry = Entry {
            meta,
            file_bytes,
            bad: None,
            bad_blocks: None,
        };
        let outcome = index
            .change(Change::Put(entry), false)
            .map_err(|error| self.index_failed(&error))?;
        check_order(version, outcome).map_err(|broken| self.broken(&broken))?;
        self.step("commit.after_index")?;
        self.remove_older(&hash, version, outcome)?;
        self.step("commit.after_remove")
    }

    /// Removes the older of two versions, given the `outcome` of indexing `version`.
    pub(super) fn remove_older(
        &self,
        hash: &KeyHash,
        version: Version,
        outcome: Outcome,
    ) -> Result<(), VolumeError> {
        let older = match outcome {
            Outcome::Done | Outcome::Absent => return Ok(()),
            Outcome::Replaced(older) => older,
            Outcome::Superseded(_) => version,
        };
        self.tables.forget(*hash, older);
        let path = replica_path(&self.root, hash, older);
        // The name may reappear after a power failure. Opening then removes it, because it is
        // older.
        if let Err(error) = self.disk.remove(&path)
            && !is_gone(&error)
        {
            tracing::warn!(path = %path.display(), %error, "cannot remove an older version; it stays until the volume is opened again");
        }
        Ok(())
    }

    /// Renames a file into the directory of a partition, and first makes that directory durable.
    pub(super) fn rename_into(
        &self,
        from: &Path,
        to: &Path,
        partition: Partition,
    ) -> Result<(), VolumeError> {
        self.require_dir(partition)?;
        let renamed = self.disk.rename(from, to).or_else(|error| {
            if is_directory(&error) {
                // A file cannot replace a directory, so the replica would stay bad forever.
                self.put_aside(&relative(&self.root, to))
                    .map_err(|error| io::Error::other(error.to_string()))?;
                return self.disk.rename(from, to);
            }
            if !is_gone(&error) {
                return Err(error);
            }
            // The directory may have been wiped.
            self.check_directories()?;
            self.forget_dir(partition);
            self.require_dir(partition)
                .map_err(|error| io::Error::other(error.to_string()))?;
            self.disk.rename(from, to)
        });
        renamed.map_err(|error| self.failed(format!("rename to {}", to.display()), &error))
    }

    fn require_dir(&self, partition: Partition) -> Result<(), VolumeError> {
        let Some(known) = self.known_dirs.get(usize::from(partition.0)) else {
            return Ok(()); // Unreachable: a partition has 12 bits.
        };
        if known.load(Ordering::Acquire) {
            return Ok(());
        }
        let dir = partition_dir(&self.root, partition);
        let made = make_directory(self.disk.as_ref(), &dir).or_else(|error| {
            if !is_gone(&error) {
                return Err(error);
            }
            // The parent directory may have been wiped.
            self.check_directories()?;
            make_directory(self.disk.as_ref(), &dir)
        });
        made.map_err(|error| self.failed(format!("create {}", dir.display()), &error))?;
        let objects = self.root.join("objects");
        // Needed even if another thread created the directory: that thread has perhaps not synced
        // it yet.
        self.disk
            .sync_dir(&objects)
            .map_err(|error| self.sync_failed(&objects, &error))?;
        known.store(true, Ordering::Release);
        Ok(())
    }

    fn forget_dir(&self, partition: Partition) {
        if let Some(known) = self.known_dirs.get(usize::from(partition.0)) {
            known.store(false, Ordering::Release);
        }
    }

    /// Removes a file. Succeeds if it does not exist.
    pub(super) fn remove_file(&self, path: &Path) -> Result<(), VolumeError> {
        match self.disk.remove(path) {
            Err(_) if self.disk.stat(path).is_ok_and(|found| found.is_dir) => {
                self.put_aside(&relative(&self.root, path))
            }
            Err(error) if !is_gone(&error) => Err(self.failed(format!("remove {}", path.display()), &error)),
            _ => Ok(()),
        }
    }

    /// Marks a durable step, for crash tests.
    pub(super) fn step(&self, name: &'static str) -> Result<(), VolumeError> {
        self.disk.step(name).map_err(|error| self.failed(name, &error))
    }
}

/// Checks that the later of two versions of a key is kept.
fn check_order(version: Version, outcome: Outcome) -> Result<(), Broken> {
    let in_order = match outcome {
        Outcome::Done => true,
        Outcome::Replaced(older) => older < version,
        Outcome::Superseded(newer) => newer > version,
        Outcome::Absent => false,
    };
    holds!(
        "volume.order",
        in_order,
        "version {version} was indexed with the outcome {outcome:?}"
    );
    Ok(())
}

/// Returns whether a rename failed because the target is a directory.
fn is_directory(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::IsADirectory | io::ErrorKind::DirectoryNotEmpty
    )
}

/// Returns the event of a commit for the fixity log. Writes of clients have none: the replica
/// itself records when it was written.
fn event_of(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::Write => None,
        Cause::Rebalance => Some("moved"),
        Cause::Scrub | Cause::Repair | Cause::Read | Cause::Request => Some("repaired"),
    }
}
