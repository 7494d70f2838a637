//! The promises of this node: for every partition, the earliest term in which it still accepts
//! decided versions.
//!
//! Invariants:
//!  - a promise is on disk before it is answered, and a promised term only ever rises;
//!  - a version of an earlier term is refused. One that was admitted before is reported to every
//!    request for its key after the promise was answered: as in progress here, or as prepared by
//!    its volume.
//!
//! Each volume's `node/terms.json` is replaced as a whole, like the layouts. For each partition the
//! latest term on any of the node's volumes counts. If all volumes of a node are lost, so are its
//! promises: the new volumes start as being rebuilt.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use store_protocol::{
    Claim, Key, Meta, PARTITIONS, Partition, Pending, Term, UploadId, VolumeError, VolumeId,
};
use system::{Broken, holds};

use super::durable_file::{self, NodeFileError};

/// Name of the file.
const FILE: &str = "terms.json";

/// Version of the file's format.
const FORMAT: u32 = 1;

/// The content of `terms.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TermsFile {
    /// Version of the format.
    format: u32,
    /// The volume that stores the file.
    volume: VolumeId,
    /// Partitions by the term promised for them, as `3 7-12 4095`.
    terms: BTreeMap<Term, String>,
}

/// Why terms cannot be promised.
#[derive(Debug, thiserror::Error)]
pub enum PromiseError {
    /// An invariant of the promises would not hold.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// No volume could be written.
    #[error(transparent)]
    Write(#[from] NodeFileError),
}

/// Why the `terms.json` of a volume does not count.
#[derive(Debug, thiserror::Error)]
enum TermsFileError {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error("format {0}, expected {FORMAT}")]
    Format(u32),
    #[error("{0:?} is not a partition")]
    Partition(String),
}

/// The promises of a node, and the admitted versions that are still being prepared.
pub struct Promises {
    /// The volumes that store the promises. Empty if they are kept in memory only.
    places: Vec<(VolumeId, PathBuf)>,
    table: Mutex<Table>,
    /// Held while the files are written.
    writing: Mutex<()>,
}

#[derive(Default)]
struct Table {
    terms: BTreeMap<Partition, Term>,
    /// Versions being prepared.
    under_way: Vec<(VolumeId, Pending)>,
}

/// An admitted version. It is reported as in progress until this is dropped.
pub(crate) struct PreparationGuard {
    promises: Arc<Promises>,
    volume: VolumeId,
    upload: UploadId,
}

impl Promises {
    /// Reads the promises stored on the volumes in these directories. A volume that cannot be read
    /// is not used, or gets the file from the others again.
    pub(crate) fn read(places: Vec<(VolumeId, PathBuf)>) -> Arc<Self> {
        let mut table = Table::default();
        for (volume, dir) in &places {
            let path = durable_file::path_of(dir, FILE);
            let read = durable_file::read(&path).map_err(TermsFileError::from);
            let learnt = read.and_then(|file| file.map_or(Ok(()), |file| table.merge_file(&file)));
            if let Err(error) = learnt {
                let detail = error.to_string();
                tracing::warn!(%volume, path = %path.display(), detail, "the stored promises cannot be read");
            }
        }
        Arc::new(Self {
            places,
            table: Mutex::new(table),
            writing: Mutex::new(()),
        })
    }

    /// Makes the promises of a node whose volumes are in memory.
    pub fn in_memory() -> Arc<Self> {
        Arc::new(Self {
            places: Vec::new(),
            table: Mutex::default(),
            writing: Mutex::new(()),
        })
    }

    /// Promises the claimed terms, and returns the refused claims, each with the later term that
    /// was promised. A claim of the term that was already promised is a retry and is granted.
    ///
    /// # Errors
    /// [`PromiseError`] if no volume could be written. Nothing is promised then.
    pub async fn promise(self: &Arc<Self>, claims: &[Claim]) -> Result<Vec<Claim>, PromiseError> {
        let (me, claims) = (self.clone(), claims.to_vec());
        if self.places.is_empty() {
            return me.promise_now(&claims);
        }
        let promised = system::blocking(move || me.promise_now(&claims)).await;
        promised.map_err(|error| NodeFileError::Write(FILE.into(), io::Error::other(error)))?
    }

    fn promise_now(&self, claims: &[Claim]) -> Result<Vec<Claim>, PromiseError> {
        let _one = self.writing.lock();
        // A copy, so that `enter` does not wait for the disk while the new terms are written.
        let mut terms = self.table.lock().terms.clone();
        let mut refused = Vec::new();
        for claim in claims {
            let promised = terms.entry(claim.partition).or_default();
            if *promised > claim.term {
                refused.push(Claim {
                    term: *promised,
                    ..*claim
                });
            }
            *promised = claim.term.max(*promised);
        }
        check_risen(&self.table.lock().terms, &terms)?;
        if terms != self.table.lock().terms {
            // One success is enough.
            let write = |volume: &VolumeId, dir: &Path| write_one(volume, dir, &terms);
            durable_file::write_to_any(&self.places, FILE, write)?;
        }
        // After the save, because the promise must be durable first. From here on versions of
        // earlier terms are refused; `under_way` reports those admitted before.
        self.table.lock().terms = terms;
        Ok(refused)
    }

    /// Admits a version if no later term is promised. `still` is called under the same lock and
    /// must succeed too.
    ///
    /// # Errors
    /// `Superseded` if a later term is promised, or the error of `still`.
    pub(crate) fn enter(
        self: &Arc<Self>,
        volume: &VolumeId,
        upload: UploadId,
        meta: &Meta,
        still: impl FnOnce() -> Result<(), VolumeError>,
    ) -> Result<PreparationGuard, VolumeError> {
        let mut table = self.table.lock();
        still()?;
        let promised = table
            .terms
            .get(&meta.key.partition())
            .copied()
            .unwrap_or_default();
        if meta.version.term < promised {
            return Err(VolumeError::Superseded {
                volume: volume.clone(),
                promised,
            });
        }
        let meta = meta.clone();
        table.under_way.push((volume.clone(), Pending { upload, meta }));
        Ok(PreparationGuard {
            promises: self.clone(),
            volume: volume.clone(),
            upload,
        })
    }

    /// Returns the newest version of a key that is being prepared on a volume.
    pub(crate) fn being_prepared(&self, volume: &VolumeId, key: &Key) -> Option<Pending> {
        let table = self.table.lock();
        let of_key = table
            .under_way
            .iter()
            .filter(|(on, pending)| on == volume && pending.meta.key == *key);
        let newest = of_key.max_by_key(|(_, pending)| pending.meta.version)?;
        Some(newest.1.clone())
    }

    /// Returns the keys that begin with `prefix` and have a version being prepared on a volume.
    pub(crate) fn keys_being_prepared(&self, volume: &VolumeId, prefix: &str) -> Vec<Key> {
        let table = self.table.lock();
        let keys = table.under_way.iter().filter(|(on, _)| on == volume);
        let keys = keys.map(|(_, pending)| &pending.meta.key);
        keys.filter(|key| key.as_str().starts_with(prefix))
            .cloned()
            .collect()
    }

    /// Writes the file into the directory of a volume that is new or may have lost it. Blocks.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(crate) fn write_node_files(&self, volume: &VolumeId, dir: &Path) -> io::Result<()> {
        let _one = self.writing.lock();
        let terms = self.table.lock().terms.clone();
        if terms.is_empty() {
            return Ok(());
        }
        write_one(volume, dir, &terms)
    }
}

impl Table {
    fn merge_file(&mut self, file: &TermsFile) -> Result<(), TermsFileError> {
        if file.format != FORMAT {
            return Err(TermsFileError::Format(file.format));
        }
        for (term, partitions) in &file.terms {
            for partition in listed(partitions)? {
                let promised = self.terms.entry(partition).or_default();
                *promised = (*promised).max(*term);
            }
        }
        Ok(())
    }
}

impl Drop for PreparationGuard {
    fn drop(&mut self) {
        let mut table = self.promises.table.lock();
        let this =
            |(volume, pending): &(VolumeId, Pending)| *volume == self.volume && pending.upload == self.upload;
        if let Some(at) = table.under_way.iter().position(this) {
            table.under_way.swap_remove(at);
        }
    }
}

/// Checks that a promised term only rises, and no promise is forgotten.
fn check_risen(before: &BTreeMap<Partition, Term>, now: &BTreeMap<Partition, Term>) -> Result<(), Broken> {
    let fallen = before
        .iter()
        .find(|(partition, term)| now.get(partition).is_none_or(|now| now < *term));
    holds!(
        "cluster.promises",
        fallen.is_none(),
        "the promise {fallen:?} would be withdrawn"
    );
    Ok(())
}

fn write_one(volume: &VolumeId, dir: &Path, terms: &BTreeMap<Partition, Term>) -> io::Result<()> {
    let mut by_term: BTreeMap<Term, Vec<Partition>> = BTreeMap::new();
    for (partition, term) in terms {
        by_term.entry(*term).or_default().push(*partition);
    }
    let path = durable_file::path_of(dir, FILE);
    let file = TermsFile {
        format: FORMAT,
        volume: volume.clone(),
        terms: by_term
            .into_iter()
            .map(|(term, partitions)| (term, list(&partitions)))
            .collect(),
    };
    if durable_file::read::<TermsFile>(&path).is_ok_and(|there| there.as_ref() == Some(&file)) {
        return Ok(());
    }
    durable_file::replace(&path, &file)
}

/// Formats partitions in rising order as text.
fn list(partitions: &[Partition]) -> String {
    let runs = partitions.chunk_by(|a, b| a.0 + 1 == b.0);
    let texts = runs.map(|run| match run {
        [first, .., last] => format!("{}-{}", first.0, last.0),
        [first, ..] => first.0.to_string(),
        [] => String::new(),
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// Parses a text made by [`list`].
fn listed(text: &str) -> Result<Vec<Partition>, TermsFileError> {
    let number = |text: &str| {
        let number = text.parse::<u16>().ok().filter(|number| *number < PARTITIONS);
        number.ok_or_else(|| TermsFileError::Partition(text.to_owned()))
    };
    let mut partitions = Vec::new();
    for run in text.split_ascii_whitespace() {
        let (first, last) = run.split_once('-').unwrap_or((run, run));
        partitions.extend((number(first)?..=number(last)?).map(Partition));
    }
    Ok(partitions)
}

#[cfg(test)]
mod tests {
    use store_protocol::Clock;
    use volume::{DiskSettings, DiskVolume, FixityLog};

    use super::*;

    fn claim(partition: u16, term: Term) -> Claim {
        Claim {
            partition: Partition(partition),
            term,
        }
    }

    #[test]
    fn partitions_are_listed_in_runs() {
        for (numbers, text) in [
            (vec![], ""),
            (vec![7], "7"),
            (vec![0, 1, 2, 9, 4094, 4095], "0-2 9 4094-4095"),
        ] {
            let partitions: Vec<_> = numbers.into_iter().map(Partition).collect();
            assert_eq!(list(&partitions), text);
            assert_eq!(listed(text).unwrap(), partitions);
        }
        for wrong in ["4096", "x", "1-", "-1", "3,4"] {
            assert!(listed(wrong).is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_promise_outlives_the_process() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let volume = |i: usize| VolumeId::from(format!("n/{i}"));
        for (i, dir) in dirs.iter().enumerate() {
            DiskVolume::open(DiskSettings::new(dir.path(), volume(i), FixityLog::new())).unwrap();
        }
        let places: Vec<_> = dirs
            .iter()
            .enumerate()
            .map(|(i, dir)| (volume(i), dir.path().to_owned()))
            .collect();
        let (one, other) = (Clock::new("n1"), Clock::new("n2"));
        let promises = Promises::read(places.clone());
        let refused = promises
            .promise(&[claim(1, one.term(1)), claim(2, one.term(1))])
            .await;
        assert_eq!(refused.unwrap(), []);
        let refused = promises.promise(&[claim(2, other.term(2))]).await;
        assert_eq!(refused.unwrap(), []);
        // If one volume missed the last promise, its older promise does not become valid again.
        std::fs::remove_file(dirs[0].path().join("node/terms.json")).unwrap();
        let promises = Promises::read(places);
        let refused = promises
            .promise(&[claim(1, one.term(1)), claim(2, one.term(1))])
            .await;
        assert_eq!(refused.unwrap(), [claim(2, other.term(2))]);
    }
}
