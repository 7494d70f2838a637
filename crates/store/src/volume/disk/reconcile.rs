//! Opening: files and index compared in both directions, by names. Only files that the index does not know are read.
//!
//! Memory is that of one partition's names.

use std::sync::atomic::Ordering;

use super::index::{Change, Entry, Index, Outcome};
use super::inner::Inner;
use super::names::{KeyHash, file_name, parse_file_name, partition_of, replica_path};
use super::verify::FILE_MISSING;
use crate::clock::Version;
use crate::key::{PARTITIONS, Partition};
use crate::volume::{Cause, VolumeError, replica};

/// What was found when files and index were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reconciled {
    /// Files that the index did not know, and now does.
    pub indexed: u64,
    /// Older versions that were removed: leftovers of a crash.
    pub outdated: u64,
    /// Entries without a file.
    pub missing: u64,
    /// Files that are no replicas. They stay where they are until they are settled.
    pub strays: u64,
}

impl Inner {
    /// Compares all partitions. Nobody else has the volume yet, or it has just begun anew.
    pub(super) fn reconcile(&self, index: &Index) -> Result<Reconciled, VolumeError> {
        let mut found = Reconciled::default();
        let objects = self.root.join("objects");
        // From now on every directory that is there is there durably.
        self.disk
            .sync_dir(&objects)
            .map_err(|error| self.sync_failed(&objects, &error))?;
        for partition in (0..PARTITIONS).map(Partition) {
            self.reconcile_partition(index, partition, &mut found)?;
        }
        index.sync().map_err(|error| self.index_failed(&error))?;
        if found != Reconciled::default() {
            tracing::info!(volume = %self.id, ?found, "files and index were brought together");
        }
        Ok(found)
    }

    fn reconcile_partition(
        &self,
        index: &Index,
        partition: Partition,
        found: &mut Reconciled,
    ) -> Result<(), VolumeError> {
        let names = index
            .names(partition)
            .map_err(|error| self.index_failed(&error))?;
        let mut files = self.files_of(partition)?;
        if !files.is_empty()
            && let Some(known) = self.known_dirs.get(usize::from(partition.0))
        {
            known.store(true, Ordering::Release);
        }
        let mut gone = Vec::new();
        for (hash, version) in names {
            if files.remove(&file_name(&hash, version)) {
                self.found_again(index, &hash)?;
            } else {
                gone.push((hash, version));
            }
        }
        if !files.is_empty() {
            // A name that was given just before a crash may not be durable yet. From here on others rely on it, and the
            // older version goes.
            self.sync_partition(partition)?;
        }
        // First what is there: a file that is gone may have made way for a newer version.
        for name in files {
            match parse_file_name(&name).filter(|(hash, _)| partition_of(hash) == partition) {
                Some((hash, version)) => self.index_file(index, &hash, version, found)?,
                None => found.strays += 1,
            }
        }
        for (hash, version) in gone {
            self.miss(index, &hash, version, found)?;
        }
        Ok(())
    }

    /// An entry whose file was missing, and is there again, is to be looked at like any other.
    fn found_again(&self, index: &Index, hash: &KeyHash) -> Result<(), VolumeError> {
        if index.counts().map_err(|error| self.index_failed(&error))?.bad == 0 {
            return Ok(());
        }
        let entry = index.get_hash(hash).map_err(|error| self.index_failed(&error))?;
        let Some(entry) = entry.filter(|entry| entry.bad.as_deref() == Some(FILE_MISSING)) else {
            return Ok(());
        };
        let change = Change::Mark {
            key: entry.meta.key,
            version: entry.meta.version,
            bad: None,
        };
        index
            .change(change, false)
            .map(drop)
            .map_err(|error| self.index_failed(&error))
    }

    /// Indexes a file that the index does not know, or removes it if it is older than what the volume holds.
    fn index_file(
        &self,
        index: &Index,
        hash: &KeyHash,
        version: Version,
        found: &mut Reconciled,
    ) -> Result<(), VolumeError> {
        let path = replica_path(&self.root, hash, version);
        let read = self
            .disk
            .open(&path)
            .map_err(replica::ReplicaError::Io)
            .and_then(|file| replica::read(file.as_ref()));
        let replica = match read {
            Ok(replica)
                if replica_path(
                    &self.root,
                    &super::names::hash_of(&replica.meta.key),
                    replica.meta.version,
                ) == path =>
            {
                replica
            }
            Ok(_) => {
                found.strays += 1;
                return Ok(());
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a file is no whole replica");
                found.strays += 1;
                return Ok(());
            }
        };
        let held = index.get_hash(hash).map_err(|error| self.index_failed(&error))?;
        if held.is_some_and(|held| held.meta.version > version && held.bad.is_some()) {
            // Perhaps the last version that can be read: a person decides.
            found.strays += 1;
            return Ok(());
        }
        let entry = Entry {
            meta: replica.meta,
            file_bytes: replica.file_bytes,
            bad: None,
        };
        let outcome = index
            .change(Change::Put(entry), false)
            .map_err(|error| self.index_failed(&error))?;
        match outcome {
            Outcome::Done | Outcome::Absent => found.indexed += 1,
            Outcome::Replaced(_) => {
                found.indexed += 1;
                found.outdated += 1;
            }
            Outcome::Superseded(_) => found.outdated += 1,
        }
        self.remove_older(hash, version, outcome)
    }

    /// The index knows a file that is not there.
    fn miss(
        &self,
        index: &Index,
        hash: &KeyHash,
        version: Version,
        found: &mut Reconciled,
    ) -> Result<(), VolumeError> {
        let entry = index.get_hash(hash).map_err(|error| self.index_failed(&error))?;
        if let Some(entry) = entry.filter(|entry| entry.meta.version == version) {
            found.missing += 1;
            self.mark_missing(&entry.meta.key, version, Cause::Request);
        }
        Ok(())
    }
}
