//! External sort for directories too large for memory: sorted runs of entries in a temporary file,
//! and their merge.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::attributes::Entry;
use crate::error::CatalogueError;
use crate::pack;

/// Entries per run: some 30 MB.
pub(crate) const RUN_ENTRIES: usize = 1 << 16;

/// Sorted runs of entries.
#[derive(Debug)]
pub(crate) struct Runs {
    file: File,
    dir: PathBuf,
    /// Offset and length of the packs of each run.
    runs: Vec<Vec<(u64, usize)>>,
    length: u64,
}

impl Runs {
    /// Creates an empty set of runs, stored in an unnamed file in `dir`.
    pub(crate) fn new(dir: &Path) -> Result<Runs, CatalogueError> {
        let file = tempfile::tempfile_in(dir)
            .map_err(|error| CatalogueError::io("create a temporary file in", dir, error))?;
        Ok(Runs {
            file,
            dir: dir.to_owned(),
            runs: Vec::new(),
            length: 0,
        })
    }

    /// Sorts entries and adds them as a run.
    pub(crate) fn push(&mut self, mut entries: Vec<Entry>) -> Result<(), CatalogueError> {
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut packs = Vec::new();
        let mut writer = BufWriter::new(&self.file);
        for entries in entries.chunks(pack::ENTRIES) {
            let bytes = pack::encode(entries);
            writer
                .write_all(&bytes)
                .map_err(|error| CatalogueError::io("write a temporary file in", &self.dir, error))?;
            packs.push((self.length, bytes.len()));
            self.length += bytes.len() as u64;
        }
        writer
            .flush()
            .map_err(|error| CatalogueError::io("write a temporary file in", &self.dir, error))?;
        drop(writer);
        self.runs.push(packs);
        Ok(())
    }

    /// Returns all entries in order of name. Holds one pack of each run in memory.
    pub(crate) fn merge(self) -> Result<Merge, CatalogueError> {
        let mut merge = Merge {
            heap: BinaryHeap::new(),
            runs: Vec::new(),
            file: self.file,
            dir: self.dir,
        };
        for (run, packs) in self.runs.into_iter().enumerate() {
            merge.runs.push(Run {
                packs: packs.into_iter(),
                entries: Vec::new().into_iter(),
            });
            merge.advance(run)?;
        }
        Ok(merge)
    }
}

/// The merge of all runs, see [`Runs::merge`].
pub(crate) struct Merge {
    file: File,
    dir: PathBuf,
    runs: Vec<Run>,
    heap: BinaryHeap<Head>,
}

struct Run {
    packs: std::vec::IntoIter<(u64, usize)>,
    entries: std::vec::IntoIter<Entry>,
}

/// The first entry of a run. The order is reversed, because the heap returns the greatest.
struct Head(Entry, usize);

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        other.0.name.cmp(&self.0.name).then(other.1.cmp(&self.1))
    }
}
impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Head {}

impl Merge {
    fn advance(&mut self, index: usize) -> Result<(), CatalogueError> {
        let run = &mut self.runs[index];
        let mut entry = run.entries.next();
        if entry.is_none()
            && let Some((offset, length)) = run.packs.next()
        {
            let mut bytes = vec![0; length];
            let read = self.file.read_exact_at(&mut bytes, offset);
            read.map_err(|error| CatalogueError::io("read a temporary file in", &self.dir, error))?;
            run.entries = pack::decode(&bytes)?.into_iter();
            entry = run.entries.next();
        }
        self.heap.extend(entry.map(|entry| Head(entry, index)));
        Ok(())
    }
}

impl Iterator for Merge {
    type Item = Result<Entry, CatalogueError>;

    fn next(&mut self) -> Option<Result<Entry, CatalogueError>> {
        let Head(entry, run) = self.heap.pop()?;
        Some(self.advance(run).map(|()| entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::Attributes;

    #[test]
    fn runs_merge_in_order_of_name() {
        let dir = tempfile::tempdir().unwrap();
        let mut runs = Runs::new(dir.path()).unwrap();
        let entry = |n: u64| Entry {
            name: format!("{}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
                .into_bytes()
                .into(),
            attributes: Attributes {
                size_bytes: n,
                ..Attributes::default()
            },
        };
        let all: Vec<Entry> = (0..20_000).map(entry).collect();
        for run in all.chunks(3000) {
            runs.push(run.to_vec()).unwrap();
        }
        let mut sorted = all;
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        let merged: Vec<Entry> = runs.merge().unwrap().map(Result::unwrap).collect();
        assert_eq!(merged, sorted);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
