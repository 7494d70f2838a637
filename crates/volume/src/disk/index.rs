//! The listing index of a volume: a cache of its files, in order of key.
//!
//! Invariants:
//!  - It has one entry per key, for the newest version whose file exists or should exist.
//!  - The entries, the table from half hash to key, and the counts change in one transaction.
//!  - An entry is removed durably before its file, so an index from before a crash never lists a
//!    file that was removed on purpose. All other changes may be lost: then the files are newer
//!    than the index.
//!
//! Changes of concurrent callers share a transaction.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use redb::{
    Database, Durability, ReadTransaction, ReadableDatabase, ReadableTable, Table, TableDefinition,
    WriteTransaction,
};
use serde::{Deserialize, Serialize};
use store_protocol::{BlockSet, Key, ListQuery, Meta, Partition, ReplicaEntry, ReplicaState, Version};
use system::{Broken, holds};

use super::names::{KeyHash, hash_of, hashes_of};
use crate::group::Grouped;

/// `bucket/name` -> entry as JSON.
const REPLICAS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("replicas");
/// Half hash of the key -> version, key.
const FILES: TableDefinition<'_, KeyHash, (&str, &str)> = TableDefinition::new("files");
/// Counts by name.
const COUNTS: TableDefinition<'_, &str, u64> = TableDefinition::new("counts");
/// The incarnation of the volume that this index belongs to.
const ABOUT: TableDefinition<'_, &str, &str> = TableDefinition::new("about");

/// Page cache of the index, in bytes. With less, every lookup would read pages again. More would be
/// taken from the system's cache, which also serves contents.
const CACHE_BYTES: usize = 32 << 20;

/// Indexes up to this length are fully checked on open (some 100 ms); longer ones are not.
const CHECKED_BYTES_MAX: u64 = 128 << 20;

/// An entry of the index: one replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The object.
    pub(super) meta: Meta,
    /// Length of the replica's file, in bytes.
    pub(super) file_bytes: u64,
    /// Why the replica is bad; `None` if no damage is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bad: Option<String>,
    /// The bad blocks, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bad_blocks: Option<BlockSet>,
}

/// What is wrong with a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flaw {
    /// The found and the expected value.
    pub(super) detail: String,
    /// The bad blocks; `None` if they are not known.
    pub(super) blocks: Option<BlockSet>,
}

/// A change to the index.
pub(super) enum Change {
    /// The file of a replica is in place.
    Put(Entry),
    /// Sets or clears the flaw of a version.
    Mark {
        key: Key,
        version: Version,
        bad: Option<Flaw>,
    },
    /// A version is about to be removed.
    Remove { key: Key, version: Version },
}

/// The result of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The change was made.
    Done,
    /// The change was made, and replaced the entry of this older version.
    Replaced(Version),
    /// No change: this newer version is indexed.
    Superseded(Version),
    /// No change: the index does not have this version.
    Absent,
}

/// Sums over all entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) replicas: u64,
    pub(super) replica_bytes: u64,
    pub(super) tombstones: u64,
    pub(super) bad: u64,
}

/// The index could not be read or written.
#[derive(Debug, Clone, thiserror::Error)]
#[error("index {path}: {detail}")]
pub(super) struct IndexError {
    path: PathBuf,
    detail: String,
    /// Whether the disk was full.
    pub(super) full: bool,
}

/// The open index.
pub(super) struct Index {
    path: PathBuf,
    database: Database,
    changes: Grouped<(Change, bool), Result<Outcome, IndexError>>,
}

impl Entry {
    /// Converts the entry for callers of the volume.
    pub(super) fn held(self) -> ReplicaEntry {
        ReplicaEntry {
            meta: self.meta,
            state: self.bad.map_or(ReplicaState::Good, ReplicaState::Bad),
            bad_blocks: self.bad_blocks,
        }
    }
}

impl Index {
    /// Opens the index of a volume's incarnation. An unusable index is recreated, because the files
    /// hold all its data.
    pub(super) fn open(path: &Path, incarnation: &str) -> Result<Self, IndexError> {
        match Self::open_existing(path, incarnation) {
            Ok(index) => Ok(index),
            Err(error) => {
                if path.exists() {
                    tracing::warn!(%error, "the index is unusable and is rebuilt from the files");
                }
                Self::create(path, incarnation)
            }
        }
    }

    fn open_existing(path: &Path, incarnation: &str) -> Result<Self, IndexError> {
        let bytes = std::fs::metadata(path)
            .map_err(|error| failed(path, error))?
            .len();
        // The engine may panic on a damaged file.
        let opened = std::panic::catch_unwind(|| {
            let mut builder = Database::builder();
            builder.set_cache_size(CACHE_BYTES);
            builder.set_check_integrity_on_open(bytes <= CHECKED_BYTES_MAX);
            let index = Self::new(path, builder.open(path).map_err(|error| failed(path, error))?);
            let found = index.incarnation()?;
            if found == incarnation {
                return Ok(index);
            }
            Err(failed(
                path,
                format!("found incarnation {found}, expected {incarnation}"),
            ))
        });
        opened.unwrap_or_else(|_| Err(failed(path, "the database engine panicked")))
    }

    /// Creates an empty index and replaces an existing one.
    #[expect(
        clippy::disallowed_methods,
        reason = "the engine writes the index itself; it is only a cache"
    )]
    pub(super) fn create(path: &Path, incarnation: &str) -> Result<Self, IndexError> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(path, error)),
            _ => {}
        }
        // The engine would create the file with default permissions, but it accepts an existing
        // empty one.
        system::private::file()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|error| failed(path, error))?;
        let database = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create(path)
            .map_err(|error| failed(path, error))?;
        let index = Self::new(path, database);
        index
            .set_up(incarnation)
            .map_err(|error| engine_failed(path, error))?;
        Ok(index)
    }

    fn new(path: &Path, database: Database) -> Self {
        Self {
            path: path.to_owned(),
            database,
            changes: Grouped::default(),
        }
    }

    fn set_up(&self, incarnation: &str) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        transaction.open_table(REPLICAS)?;
        transaction.open_table(FILES)?;
        transaction.open_table(COUNTS)?;
        transaction
            .open_table(ABOUT)?
            .insert("incarnation", incarnation)?;
        transaction.commit()?;
        Ok(())
    }

    fn incarnation(&self) -> Result<String, IndexError> {
        self.reading(|transaction| {
            let about = transaction.open_table(ABOUT)?;
            let found = about.get("incarnation")?;
            Ok(found.map_or_else(String::new, |found| found.value().to_owned()))
        })
    }

    /// Returns the entry of a key.
    pub(super) fn get(&self, key: &Key) -> Result<Option<Entry>, IndexError> {
        self.reading(|transaction| {
            let replicas = transaction.open_table(REPLICAS)?;
            let found = replicas.get(key.as_str())?;
            found.map(|found| decode(found.value())).transpose()
        })
    }

    /// Returns the entry of a half hash.
    pub(super) fn get_hash(&self, hash: &KeyHash) -> Result<Option<Entry>, IndexError> {
        self.reading(|transaction| {
            let files = transaction.open_table(FILES)?;
            let Some(file) = files.get(hash)? else {
                return Ok(None);
            };
            let replicas = transaction.open_table(REPLICAS)?;
            let found = replicas.get(file.value().1)?;
            found.map(|found| decode(found.value())).transpose()
        })
    }

    /// Returns the entries that match a query, in order of key.
    pub(super) fn list(&self, query: &ListQuery) -> Result<Vec<Entry>, IndexError> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let prefix = query.prefix.as_str();
        let from = match query.after.as_deref() {
            Some(after) if after >= prefix => Excluded(after),
            _ => Included(prefix),
        };
        self.reading(|transaction| {
            let replicas = transaction.open_table(REPLICAS)?;
            let mut entries = Vec::new();
            for found in replicas.range::<&str>((from, Unbounded))? {
                let (key, value) = found?;
                if entries.len() == query.limit || !key.value().starts_with(prefix) {
                    break;
                }
                entries.push(decode(value.value())?);
            }
            Ok(entries)
        })
    }

    /// Returns the half hashes and versions of a partition, in order of hash.
    pub(super) fn names(&self, partition: Partition) -> Result<Vec<(KeyHash, Version)>, IndexError> {
        let (first, last) = hashes_of(partition);
        self.reading(|transaction| {
            let files = transaction.open_table(FILES)?;
            let mut names = Vec::new();
            for found in files.range(first..=last)? {
                let (hash, file) = found?;
                let version = file.value().0.parse().map_err(corrupted)?;
                names.push((hash.value(), version));
            }
            Ok(names)
        })
    }

    /// Returns those of `partitions` that have no entry.
    pub(super) fn without_entries(
        &self,
        mut partitions: HashSet<Partition>,
    ) -> Result<HashSet<Partition>, IndexError> {
        self.reading(|transaction| {
            let files = transaction.open_table(FILES)?;
            let mut held = Vec::new();
            for partition in &partitions {
                let (first, last) = hashes_of(*partition);
                if files.range(first..=last)?.next().transpose()?.is_some() {
                    held.push(*partition);
                }
            }
            Ok(held)
        })
        .map(|held| {
            held.iter().for_each(|partition| {
                partitions.remove(partition);
            });
            partitions
        })
    }

    /// Returns the sums over all entries.
    pub(super) fn counts(&self) -> Result<Counts, IndexError> {
        self.reading(|transaction| {
            let counts = transaction.open_table(COUNTS)?;
            let count = |name| Ok::<_, redb::Error>(counts.get(name)?.map_or(0, |found| found.value()));
            Ok(Counts {
                replicas: count("replicas")?,
                replica_bytes: count("replica_bytes")?,
                tombstones: count("tombstones")?,
                bad: count("bad")?,
            })
        })
    }

    /// Makes a change in one transaction with changes of other callers; durably if asked.
    pub(super) fn change(&self, change: Change, durable: bool) -> Result<Outcome, IndexError> {
        let work = |batch: Vec<(Change, bool)>| {
            // One caller that needs durability makes the whole transaction durable.
            let durable = batch.iter().any(|(_, durable)| *durable);
            let changes: Vec<Change> = batch.into_iter().map(|(change, _)| change).collect();
            let wanted = changes.len();
            match self.write(changes, durable) {
                Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(engine_failed(&self.path, error)); wanted],
            }
        };
        self.changes
            .run((change, durable), work)
            .unwrap_or_else(|| Err(failed(&self.path, "the thread that wrote it panicked")))
    }

    /// Makes changes in one transaction, which is not durable until the next [`Self::sync`].
    pub(super) fn change_all(&self, changes: Vec<Change>) -> Result<Vec<Outcome>, IndexError> {
        self.write(changes, false)
            .map_err(|error| engine_failed(&self.path, error))
    }

    /// Sets all counts to zero, to simulate a bug.
    #[cfg(test)]
    pub(super) fn lose_counts(&self) {
        let transaction = self.database.begin_write().unwrap();
        transaction
            .open_table(COUNTS)
            .unwrap()
            .retain(|_, _| false)
            .unwrap();
        transaction.commit().unwrap();
    }

    /// Makes all changes so far durable.
    pub(super) fn sync(&self) -> Result<(), IndexError> {
        self.write(Vec::new(), true)
            .map(drop)
            .map_err(|error| engine_failed(&self.path, error))
    }

    fn write(&self, changes: Vec<Change>, durable: bool) -> Result<Vec<Outcome>, redb::Error> {
        let mut transaction = self.database.begin_write()?;
        if durable {
            // Quick repair saves the next open a scan of the whole file.
            transaction.set_quick_repair(true);
        } else {
            transaction.set_durability(Durability::None)?;
        }
        let outcomes = Tables::open(&transaction)?.change_all(changes)?;
        transaction.commit()?;
        Ok(outcomes)
    }

    fn reading<T>(
        &self,
        read: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, IndexError> {
        let transaction = self
            .database
            .begin_read()
            .map_err(|error| failed(&self.path, error))?;
        read(&transaction).map_err(|error| failed(&self.path, error))
    }
}

/// The tables of one write transaction.
struct Tables<'t> {
    replicas: Table<'t, &'static str, &'static [u8]>,
    files: Table<'t, KeyHash, (&'static str, &'static str)>,
    counts: Table<'t, &'static str, u64>,
}

impl<'t> Tables<'t> {
    fn open(transaction: &'t WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Self {
            replicas: transaction.open_table(REPLICAS)?,
            files: transaction.open_table(FILES)?,
            counts: transaction.open_table(COUNTS)?,
        })
    }

    fn change_all(mut self, changes: Vec<Change>) -> Result<Vec<Outcome>, redb::Error> {
        changes.into_iter().map(|change| self.change(change)).collect()
    }

    fn change(&mut self, change: Change) -> Result<Outcome, redb::Error> {
        match change {
            Change::Put(entry) => self.put(&entry),
            Change::Mark { key, version, bad } => self.mark(&key, version, bad),
            Change::Remove { key, version } => self.remove(&key, version),
        }
    }

    fn put(&mut self, entry: &Entry) -> Result<Outcome, redb::Error> {
        let version = entry.meta.version;
        let old = self.get(&entry.meta.key)?;
        if let Some(old) = &old {
            if old.meta.version > version {
                return Ok(Outcome::Superseded(old.meta.version));
            }
            self.count(old, u64::checked_sub)?;
        }
        self.insert(entry)?;
        match old {
            Some(old) if old.meta.version < version => Ok(Outcome::Replaced(old.meta.version)),
            _ => Ok(Outcome::Done),
        }
    }

    fn mark(&mut self, key: &Key, version: Version, bad: Option<Flaw>) -> Result<Outcome, redb::Error> {
        let Some(mut entry) = self.get(key)?.filter(|entry| entry.meta.version == version) else {
            return Ok(Outcome::Absent);
        };
        self.count(&entry, u64::checked_sub)?;
        (entry.bad, entry.bad_blocks) = bad.map_or((None, None), |flaw| (Some(flaw.detail), flaw.blocks));
        self.insert(&entry)?;
        Ok(Outcome::Done)
    }

    fn remove(&mut self, key: &Key, version: Version) -> Result<Outcome, redb::Error> {
        let Some(entry) = self.get(key)?.filter(|entry| entry.meta.version == version) else {
            return Ok(Outcome::Absent);
        };
        self.count(&entry, u64::checked_sub)?;
        self.replicas.remove(key.as_str())?;
        self.files.remove(hash_of(key))?;
        Ok(Outcome::Done)
    }

    fn get(&self, key: &Key) -> Result<Option<Entry>, redb::Error> {
        let found = self.replicas.get(key.as_str())?;
        found.map(|found| decode(found.value())).transpose()
    }

    fn insert(&mut self, entry: &Entry) -> Result<(), redb::Error> {
        let key = &entry.meta.key;
        let value = serde_json::to_vec(entry).map_err(corrupted)?;
        self.replicas.insert(key.as_str(), value.as_slice())?;
        let version = entry.meta.version.to_string();
        self.files
            .insert(hash_of(key), (version.as_str(), key.as_str()))?;
        self.count(entry, u64::checked_add)
    }

    /// Adds an entry to the counts or subtracts it, by `step`.
    fn count(&mut self, entry: &Entry, step: fn(u64, u64) -> Option<u64>) -> Result<(), redb::Error> {
        let (deleted, bad) = (u64::from(entry.meta.deleted), u64::from(entry.bad.is_some()));
        let parts = [
            ("replicas", 1 - deleted),
            ("replica_bytes", entry.meta.size),
            ("tombstones", deleted),
            ("bad", bad),
        ];
        for (name, by) in parts.into_iter().filter(|(_, by)| *by > 0) {
            let count = self.counts.get(name)?.map_or(0, |found| found.value());
            let now = moved(entry, (name, count, by), step(count, by)).map_err(corrupted)?;
            self.counts.insert(name, now)?;
        }
        Ok(())
    }
}

/// Returns a count after a step. An entry that is subtracted was added before.
fn moved(entry: &Entry, (name, count, by): (&str, u64, u64), now: Option<u64>) -> Result<u64, Broken> {
    let key = &entry.meta.key;
    holds!(
        "volume.counts",
        now.is_some(),
        "the count {name} is {count}, which cannot change by {by} for {key}"
    );
    Ok(now.unwrap_or_default())
}

fn decode(value: &[u8]) -> Result<Entry, redb::Error> {
    serde_json::from_slice(value).map_err(corrupted)
}

fn corrupted(error: impl ToString) -> redb::Error {
    redb::Error::Corrupted(error.to_string())
}

fn failed(path: &Path, error: impl ToString) -> IndexError {
    IndexError {
        path: path.to_owned(),
        detail: error.to_string(),
        full: false,
    }
}

fn engine_failed(path: &Path, error: redb::Error) -> IndexError {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    let full =
        matches!(&error, redb::Error::Io(cause) if matches!(cause.kind(), StorageFull | QuotaExceeded));
    IndexError {
        full,
        ..failed(path, error)
    }
}
