//! Top-n searches that read only part of the catalogue: the sums of a directory bound its contents.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::PathEntry;
use crate::attributes::{Attributes, FileId, Kind};
use crate::catalogue::{Catalogue, join};
use crate::error::CatalogueError;
use crate::usage::Usage;

/// A directory, with sums over everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryUsage {
    /// Its path, as bytes.
    pub path: Vec<u8>,
    /// Its sums.
    pub usage: Usage,
}

/// The order of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOrder {
    /// Largest first.
    Size,
    /// Oldest modification time first.
    Age,
}

impl FileOrder {
    /// Returns an upper bound on the rank of the files in these sums; `None` if there are no files.
    fn best(self, (usage, oldest_day): &(Usage, Option<u16>)) -> Option<i128> {
        match self {
            FileOrder::Size => usage.size_bytes_max().map(i128::from),
            FileOrder::Age => usage
                .oldest_ns(*oldest_day)
                .map(|oldest_ns| -i128::from(oldest_ns)),
        }
    }

    /// Returns the rank; files of higher rank come first.
    fn rank(self, file: &Attributes) -> i128 {
        match self {
            FileOrder::Size => i128::from(file.size_bytes),
            FileOrder::Age => -i128::from(file.modified_ns),
        }
    }
}

impl Catalogue {
    /// Returns the root and the path of each tree.
    fn tops(&self) -> Result<Vec<(FileId, Vec<u8>)>, CatalogueError> {
        Ok(self
            .roots()?
            .into_iter()
            .map(|(path, root)| (root.attributes.id, path))
            .collect())
    }

    /// Returns the directories with the most bytes on disk, including everything below them, in
    /// descending order. A directory comes before those in it.
    pub fn heaviest(&self, count: usize) -> Result<Vec<DirectoryUsage>, CatalogueError> {
        let mut heap = BinaryHeap::new();
        for (id, path) in self.tops()? {
            heap.push((self.tree_head(id)?.0.blocks, Reverse(path), id));
        }
        let mut first = Vec::new();
        // A directory is at least as heavy as those in it, so the heaviest one in the heap is next.
        while first.len() < count
            && let Some((_, Reverse(path), id)) = heap.pop()
        {
            let mut inner = Vec::new();
            self.each_entry(id, |name, file| {
                if file.kind == Kind::Directory {
                    inner.push((file.id, name.to_vec()));
                }
                Ok(())
            })?;
            for (id, name) in inner {
                let mut path = path.clone();
                join(&mut path, &name);
                heap.push((self.tree_head(id)?.0.blocks, Reverse(path), id));
            }
            first.push(DirectoryUsage {
                path,
                usage: self.tree(id)?,
            });
        }
        Ok(first)
    }

    /// Returns the first files by size or age. Skips directories whose sums show that they hold no
    /// candidate.
    pub fn first_files(&self, by: FileOrder, count: usize) -> Result<Vec<PathEntry>, CatalogueError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut dirs = BinaryHeap::new();
        for (id, path) in self.tops()? {
            let best = by.best(&self.tree_head(id)?);
            dirs.extend(best.map(|best| (best, Reverse(path), id)));
        }
        // The worst of the candidates is on top.
        let mut first: BinaryHeap<Reverse<(i128, Reverse<Vec<u8>>)>> = BinaryHeap::new();
        let mut files = std::collections::HashMap::new();
        while let Some((best, Reverse(path), id)) = dirs.pop() {
            let is_full = first.len() == count;
            if is_full && first.peek().is_some_and(|Reverse((last, _))| *last > best) {
                break;
            }
            let mut inner = Vec::new();
            self.each_entry(id, |name, file| {
                // A file counts, and is listed, only under its first name.
                if file.is_linked() && !self.is_first_name(file.id, id, name)? {
                    return Ok(());
                }
                let mut path = path.clone();
                join(&mut path, name);
                match file.kind {
                    Kind::Directory => inner.push((file.id, path)),
                    Kind::File => {
                        first.push(Reverse((by.rank(file), Reverse(path.clone()))));
                        files.insert(path, file.clone());
                        if first.len() > count
                            && let Some(Reverse((_, Reverse(path)))) = first.pop()
                        {
                            files.remove(&path);
                        }
                    }
                    _ => {}
                }
                Ok(())
            })?;
            for (id, path) in inner {
                let best = by.best(&self.tree_head(id)?);
                dirs.extend(best.map(|best| (best, Reverse(path), id)));
            }
        }
        let sorted = first.into_sorted_vec().into_iter();
        let found = sorted.filter_map(|Reverse((_, Reverse(path)))| {
            let attributes = files.remove(&path)?;
            Some(PathEntry {
                path,
                attributes,
                depth: 0,
                entries: None,
            })
        });
        Ok(found.collect())
    }
}
