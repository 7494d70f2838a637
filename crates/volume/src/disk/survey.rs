//! Surveys partitions by comparing files with the index, and settles strays.
//!
//! The directory listing and the index are read at different moments. Where they differ, the key is
//! locked against changes and both are read again. Only remaining differences are reported.

use std::collections::{BTreeSet, HashSet};

use data_encoding::HEXLOWER;
use store_protocol::{Cause, Partition, ReplicaState, SURVEY_ENTRIES, SurveyEntry, VolumeError};

use super::index::{Change, Entry, Flaw, Index, Outcome};
use super::inner::Inner;
use super::names::{
    KeyHash, file_name, hash_of, parse_file_name, parse_partition_name, partition_dir, partition_of,
    relative, replica_path,
};
use super::verify::bad_blocks;
use crate::io::{Stat, is_gone};
use crate::replica;
use crate::replica::Replica;

/// From this number of partitions on, their parent directory is listed first. The listing has up to
/// 4,096 names; for fewer partitions, one lookup each is cheaper.
const LISTED_FROM: usize = 16;

impl Inner {
    pub(super) fn survey(&self, partitions: &[Partition]) -> Result<Vec<Vec<SurveyEntry>>, VolumeError> {
        self.survey_until(partitions, SURVEY_ENTRIES)
    }

    /// Surveys these partitions in order, and stops once they have `most` entries in total.
    pub(super) fn survey_until(
        &self,
        partitions: &[Partition],
        most: usize,
    ) -> Result<Vec<Vec<SurveyEntry>>, VolumeError> {
        self.check_identity();
        let index = self.index()?;
        let empty = self.empty_among(&index, partitions)?;
        let (mut answer, mut entries) = (Vec::new(), 0);
        for partition in partitions {
            let found = if empty.contains(partition) {
                Vec::new()
            } else {
                self.survey_partition(&index, *partition)?
            };
            entries += found.len();
            answer.push(found);
            if entries >= most {
                break;
            }
        }
        Ok(answer)
    }

    /// Returns the partitions that have neither a directory nor an entry, with one listing and one
    /// read of the index. Returns none for few partitions, because looking at each is cheaper than
    /// the listing.
    fn empty_among(
        &self,
        index: &Index,
        partitions: &[Partition],
    ) -> Result<HashSet<Partition>, VolumeError> {
        if partitions.len() < LISTED_FROM {
            return Ok(HashSet::new());
        }
        // Directories are read before the index, like files below: an upload committed meanwhile is
        // then in the index.
        let there = self.partitions_there()?;
        let is_absent = |partition: &&Partition| partition.0 != 0 && !there.contains(*partition);
        let absent: HashSet<_> = partitions.iter().filter(is_absent).copied().collect();
        index
            .without_entries(absent)
            .map_err(|error| self.index_failed(&error))
    }

    /// Returns the partitions that have a directory.
    pub(super) fn partitions_there(&self) -> Result<HashSet<Partition>, VolumeError> {
        let objects = self.root.join("objects");
        match self.disk.list(&objects) {
            Ok(names) => Ok(names
                .iter()
                .filter_map(|name| parse_partition_name(name))
                .collect()),
            Err(error) if is_gone(&error) => Ok(HashSet::new()),
            Err(error) => Err(self.failed(format!("list {}", objects.display()), &error)),
        }
    }

    fn survey_partition(&self, index: &Index, partition: Partition) -> Result<Vec<SurveyEntry>, VolumeError> {
        // Files are read before the index: an upload committed meanwhile is then in the index.
        let mut files = self.files_of(partition)?;
        let names = index
            .names(partition)
            .map_err(|error| self.index_failed(&error))?;
        let mut replicas = Vec::new();
        for (hash, version) in names {
            files.remove(&file_name(&hash, version));
            replicas.extend(self.survey_entry(index, &hash)?);
        }
        let mut strays = Vec::new();
        for name in files {
            match self.survey_file(index, partition, &name)? {
                Some(stray @ SurveyEntry::Stray { .. }) => strays.push(stray),
                other => replicas.extend(other),
            }
        }
        if partition.0 == 0 {
            strays.extend(self.strays_above()?);
        }
        replicas.sort_by(|a, b| order(a).cmp(order(b)));
        // An entry added to the index meanwhile may also have been found as a file.
        replicas.dedup();
        strays.sort_by(|a, b| order(a).cmp(order(b)));
        replicas.extend(strays);
        Ok(replicas)
    }

    pub(super) fn settle_stray(&self, path: &str) -> Result<(), VolumeError> {
        self.index()?;
        let names: Vec<&str> = path.split('/').collect();
        let inside = matches!(names.as_slice(), ["objects", _] | ["objects", _, _])
            && names.iter().all(|name| !matches!(*name, "" | "." | ".."));
        if !inside {
            return Err(self.missing(format!("stray {path:?}: expected a path below objects/")));
        }
        let named = names.last().and_then(|name| parse_file_name(name));
        let named =
            named.filter(|(hash, version)| self.root.join(path) == replica_path(&self.root, hash, *version));
        let Some((hash, version)) = named else {
            // No other operation works on files with such names.
            return match self.whole(path) {
                Some(replica) => {
                    let _lock = self.key_lock(&hash_of(&replica.meta.key));
                    self.adopt_stray(path, replica)
                }
                None => self.put_aside(path),
            };
        };
        let _lock = self.key_lock(&hash);
        let entry = self
            .index()?
            .get_hash(&hash)
            .map_err(|error| self.index_failed(&error))?;
        if entry.is_some_and(|entry| entry.meta.version == version) {
            // Indexed after the survey, so it is not a stray any more.
            return Ok(());
        }
        let is_its_own =
            |replica: &Replica| (hash_of(&replica.meta.key), replica.meta.version) == (hash, version);
        match self.whole(path).filter(is_its_own) {
            Some(replica) => self.adopt_stray(path, replica),
            None => self.put_aside(path),
        }
    }

    /// Returns the replica in a file, if all its blocks are intact.
    fn whole(&self, path: &str) -> Option<Replica> {
        let file = self.disk.open(&self.root.join(path)).ok()?;
        let replica = replica::read(file.as_ref()).ok()?;
        let bad = bad_blocks(file.as_ref(), &replica.table, replica.meta.size);
        bad.is_empty().then_some(replica)
    }

    /// Returns the names in the directory of a partition, in order; none if the directory does not
    /// exist.
    pub(super) fn files_of(&self, partition: Partition) -> Result<BTreeSet<String>, VolumeError> {
        let dir = partition_dir(&self.root, partition);
        match self.disk.list(&dir) {
            Ok(names) => Ok(names.into_iter().collect()),
            Err(error) if is_gone(&error) => Ok(BTreeSet::new()),
            Err(error) => Err(self.failed(format!("list {}", dir.display()), &error)),
        }
    }

    /// Compares the entry of a hash with its file, under the lock of the key.
    fn survey_entry(&self, index: &Index, hash: &KeyHash) -> Result<Option<SurveyEntry>, VolumeError> {
        let _lock = self.key_lock(hash);
        let entry = index.get_hash(hash).map_err(|error| self.index_failed(&error))?;
        let Some(mut entry) = entry else {
            return Ok(None);
        };
        let (key, version) = (entry.meta.key.clone(), entry.meta.version);
        let path = replica_path(&self.root, hash, version);
        match self.disk.stat(&path) {
            Ok(found) => {
                if entry.bad.is_none() && !fits(&entry, &found) {
                    let detail = if found.is_dir {
                        "a directory is in its place".to_owned()
                    } else {
                        format!(
                            "length of the file: found {}, expected {}",
                            found.bytes, entry.file_bytes
                        )
                    };
                    // A read of the replica determines the lost blocks.
                    let flaw = Flaw {
                        detail: detail.clone(),
                        blocks: None,
                    };
                    self.mark_bad(&key, version, Cause::Scrub, flaw);
                    entry.bad = Some(detail);
                }
                Ok(Some(surveyed(entry)))
            }
            Err(error) if is_gone(&error) => {
                self.mark_missing(&key, version, Cause::Scrub);
                Ok(Some(SurveyEntry::FileMissing {
                    key,
                    version,
                    deleted: entry.meta.deleted,
                }))
            }
            Err(error) => Err(self.failed(format!("stat {}", path.display()), &error)),
        }
    }

    /// Checks a file that did not seem to be indexed again, under the lock of the key.
    fn survey_file(
        &self,
        index: &Index,
        partition: Partition,
        name: &str,
    ) -> Result<Option<SurveyEntry>, VolumeError> {
        let path = partition_dir(&self.root, partition).join(name);
        if let Some((hash, version)) =
            parse_file_name(name).filter(|(hash, _)| partition_of(hash) == partition)
        {
            // Under the lock, the file is neither indexed nor removed.
            let lock = self.key_lock(&hash);
            let entry = index.get_hash(&hash).map_err(|error| self.index_failed(&error))?;
            if entry.is_some_and(|entry| entry.meta.version == version) {
                // `survey_entry` takes the lock itself, and the lock is not re-entrant.
                drop(lock);
                return self.survey_entry(index, &hash);
            }
            return Ok(self.stray(&path, "it is not in the index"));
        }
        Ok(self.stray(&path, "its name is not a replica name"))
    }

    /// Returns the entries of `objects/` that are not partitions.
    fn strays_above(&self) -> Result<Vec<SurveyEntry>, VolumeError> {
        let objects = self.root.join("objects");
        let names = self
            .disk
            .list(&objects)
            .map_err(|error| self.failed(format!("list {}", objects.display()), &error))?;
        let foreign = names.iter().filter(|name| parse_partition_name(name).is_none());
        Ok(foreign
            .filter_map(|name| self.stray(&objects.join(name), "its name is not a partition name"))
            .collect())
    }

    /// Describes a stray; returns `None` if it is gone.
    fn stray(&self, path: &std::path::Path, detail: &str) -> Option<SurveyEntry> {
        let found = self.disk.stat(path).ok()?;
        let why = if found.is_dir {
            Some("it is a directory".to_owned())
        } else {
            let file = self.disk.open(path).ok()?;
            replica::read(file.as_ref()).err().map(|error| error.to_string())
        };
        Some(SurveyEntry::Stray {
            path: relative(&self.root, path),
            bytes: found.bytes,
            detail: match why {
                Some(why) => format!("{detail}; {why}"),
                None => format!("{detail}; it has the format of a replica"),
            },
        })
    }

    /// Moves a whole replica to its place and indexes it, unless the volume has a newer version.
    /// The caller holds the lock of its key.
    fn adopt_stray(&self, path: &str, replica: Replica) -> Result<(), VolumeError> {
        let index = self.index()?;
        let (hash, version) = (hash_of(&replica.meta.key), replica.meta.version);
        let key = replica.meta.key.clone();
        let held = index.get(&key).map_err(|error| self.index_failed(&error))?;
        if held.is_some_and(|held| {
            held.meta.version > version || (held.meta.version == version && held.bad.is_none())
        }) {
            return self.put_aside(path);
        }
        let (from, to) = (self.root.join(path), replica_path(&self.root, &hash, version));
        if from != to {
            self.rename_into(&from, &to, partition_of(&hash))?;
        }
        self.step("settle.after_rename")?;
        self.sync_partition(partition_of(&hash))?;
        let entry = Entry {
            meta: replica.meta,
            file_bytes: replica.file_bytes,
            bad: None,
            bad_blocks: None,
        };
        let outcome = index
            .change(Change::Put(entry), false)
            .map_err(|error| self.index_failed(&error))?;
        if let Outcome::Replaced(_) = outcome {
            self.remove_older(&hash, version, outcome)?;
        }
        self.log("adopted", &key, version, Cause::Repair, path, true);
        Ok(())
    }

    /// Moves a stray, or something in the place of a replica, to `lost+found/`, under a name that
    /// includes its former path.
    pub(super) fn put_aside(&self, path: &str) -> Result<(), VolumeError> {
        let from = self.root.join(path);
        let lost = self.root.join("lost+found");
        let random = HEXLOWER.encode(&system::random::<[u8; 4]>());
        let to = lost.join(format!("{}.{random}", path.replace('/', "_")));
        match self.disk.rename(&from, &to) {
            Err(error) if is_gone(&error) => return Err(self.missing(format!("stray {path:?}"))),
            other => other.map_err(|error| self.failed(format!("move {path} to lost+found"), &error))?,
        }
        self.step("settle.after_rename")?;
        self.disk
            .sync_dir(&lost)
            .map_err(|error| self.sync_failed(&lost, &error))?;
        let event = crate::fixity::event("put-aside", &self.id, None, Cause::Repair, path);
        self.fixity.append(&event, true);
        Ok(())
    }
}

fn fits(entry: &Entry, found: &Stat) -> bool {
    !found.is_dir && found.bytes == entry.file_bytes
}

fn surveyed(entry: Entry) -> SurveyEntry {
    SurveyEntry::Replica {
        blake3: HEXLOWER.encode(&entry.meta.digests.blake3),
        key: entry.meta.key,
        version: entry.meta.version,
        deleted: entry.meta.deleted,
        size: entry.meta.size,
        state: entry.bad.map_or(ReplicaState::Good, ReplicaState::Bad),
        bad_blocks: entry.bad_blocks,
    }
}

/// Returns the sort key of a survey entry.
fn order(surveyed: &SurveyEntry) -> &str {
    match surveyed {
        SurveyEntry::Replica { key, .. } | SurveyEntry::FileMissing { key, .. } => key.as_str(),
        SurveyEntry::Stray { path, .. } => path,
    }
}
