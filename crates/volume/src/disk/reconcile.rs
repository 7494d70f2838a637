//! Compares files and index in both directions, by name, when a volume is opened. Only files that
//! are not indexed are read.
//!
//! Memory is bounded by the names of one partition.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use store_protocol::{Cause, PARTITIONS, Partition, Version, VolumeError};

use super::index::{Change, Entry, Index, Outcome};
use super::inner::Inner;
use super::names::{KeyHash, file_name, hash_of, parse_file_name, partition_of, replica_path};
use super::verify::FILE_MISSING;
use crate::replica;

/// The differences found between files and index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reconciled {
    /// Number of files that were added to the index.
    pub indexed: u64,
    /// Number of older versions removed: leftovers of a crash.
    pub outdated: u64,
    /// Number of entries without a file.
    pub missing: u64,
    /// Number of files that are not replicas. They stay in place until they are settled.
    pub strays: u64,
}

impl Inner {
    /// Compares all partitions. The caller has exclusive access to the volume, or has just
    /// initialized it.
    pub(super) fn reconcile(&self, index: &Index) -> Result<Reconciled, VolumeError> {
        // The previous process may have ended between a change and its sync: a new name is perhaps
        // not durable yet, and a removed one may reappear after a power failure. From here on,
        // other nodes rely on the names seen.
        self.disk
            .sync_all(&self.root)
            .map_err(|error| self.sync_failed(&self.root, &error))?;
        let counts = index.counts().map_err(|error| self.index_failed(&error))?;
        let mut comparing = Comparing {
            volume: self,
            index,
            any_bad: counts.bad > 0,
            found: Reconciled::default(),
        };
        let there = self.partitions_there()?;
        let absent = (0..PARTITIONS)
            .map(Partition)
            .filter(|partition| !there.contains(partition));
        let empty = index
            .without_entries(absent.collect())
            .map_err(|error| self.index_failed(&error))?;
        (0..PARTITIONS)
            .map(Partition)
            .filter(|partition| !empty.contains(partition))
            .try_for_each(|partition| comparing.partition(partition))?;
        let found = comparing.found;
        index.sync().map_err(|error| self.index_failed(&error))?;
        if found != Reconciled::default() {
            tracing::info!(volume = %self.id, ?found, "the index was reconciled with the files");
        }
        Ok(found)
    }
}

/// A comparison in progress.
struct Comparing<'a> {
    volume: &'a Inner,
    index: &'a Index,
    /// Whether some replicas were marked as bad before.
    any_bad: bool,
    found: Reconciled,
}

impl Comparing<'_> {
    fn partition(&mut self, partition: Partition) -> Result<(), VolumeError> {
        let names = self
            .index
            .names(partition)
            .map_err(|error| self.volume.index_failed(&error))?;
        let mut files = self.volume.files_of(partition)?;
        if !files.is_empty()
            && let Some(known) = self.volume.known_dirs.get(usize::from(partition.0))
        {
            known.store(true, Ordering::Release);
        }
        let mut gone = Vec::new();
        for (hash, version) in names {
            if !files.remove(&file_name(&hash, version)) {
                gone.push((hash, version));
            } else if self.any_bad {
                self.found_again(&hash)?;
            }
        }
        // Existing files come first: a missing file may have been replaced by a newer version.
        self.unknown(partition, files)?;
        gone.iter()
            .try_for_each(|(hash, version)| self.gone(hash, *version))
    }

    /// Indexes files that are not indexed, or removes them if the volume has a newer version.
    fn unknown(&mut self, partition: Partition, files: BTreeSet<String>) -> Result<(), VolumeError> {
        if files.is_empty() {
            return Ok(());
        }
        let (mut places, mut changes) = (Vec::new(), Vec::new());
        for name in files {
            let named = parse_file_name(&name).filter(|(hash, _)| partition_of(hash) == partition);
            let entry = match named {
                Some((hash, version)) => self.entry_of(&hash, version)?,
                None => None,
            };
            match (named, entry) {
                (Some(place), Some(entry)) => {
                    places.push(place);
                    changes.push(Change::Put(entry));
                }
                _ => self.found.strays += 1,
            }
        }
        let outcomes = self
            .index
            .change_all(changes)
            .map_err(|error| self.volume.index_failed(&error))?;
        for ((hash, version), outcome) in places.into_iter().zip(outcomes) {
            self.found.indexed += u64::from(!matches!(outcome, Outcome::Superseded(_)));
            self.found.outdated +=
                u64::from(matches!(outcome, Outcome::Superseded(_) | Outcome::Replaced(_)));
            self.volume.remove_older(&hash, version, outcome)?;
        }
        Ok(())
    }

    /// Returns the entry for a file; `None` if it must stay as a stray.
    fn entry_of(&self, hash: &KeyHash, version: Version) -> Result<Option<Entry>, VolumeError> {
        let path = replica_path(&self.volume.root, hash, version);
        let read = self
            .volume
            .disk
            .open(&path)
            .map_err(replica::ReplicaError::Io)
            .and_then(|file| replica::read(file.as_ref()));
        let replica = match read {
            Ok(replica) => replica,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a file is not a whole replica");
                return Ok(None);
            }
        };
        if (hash_of(&replica.meta.key), replica.meta.version) != (*hash, version) {
            return Ok(None);
        }
        let held = self
            .index
            .get_hash(hash)
            .map_err(|error| self.volume.index_failed(&error))?;
        if held.is_some_and(|held| held.meta.version > version && held.bad.is_some()) {
            // This may be the last readable version, so an operator must decide.
            return Ok(None);
        }
        Ok(Some(Entry {
            meta: replica.meta,
            file_bytes: replica.file_bytes,
            bad: None,
            bad_blocks: None,
        }))
    }

    /// Clears the mark of an entry whose missing file exists again.
    fn found_again(&self, hash: &KeyHash) -> Result<(), VolumeError> {
        let index_failed = |error| self.volume.index_failed(&error);
        let entry = self.index.get_hash(hash).map_err(index_failed)?;
        let Some(entry) = entry.filter(|entry| entry.bad.as_deref() == Some(FILE_MISSING)) else {
            return Ok(());
        };
        let change = Change::Mark {
            key: entry.meta.key,
            version: entry.meta.version,
            bad: None,
        };
        self.index.change(change, false).map(drop).map_err(index_failed)
    }

    /// Marks an entry as missing because its file does not exist.
    fn gone(&mut self, hash: &KeyHash, version: Version) -> Result<(), VolumeError> {
        let entry = self
            .index
            .get_hash(hash)
            .map_err(|error| self.volume.index_failed(&error))?;
        if let Some(entry) = entry.filter(|entry| entry.meta.version == version) {
            self.found.missing += 1;
            self.volume.mark_missing(&entry.meta.key, version, Cause::Request);
        }
        Ok(())
    }
}
