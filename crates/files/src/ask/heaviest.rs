//! The first of many, found without looking at all: sums of directories say where it is worth to look.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Found;
use crate::attributes::{Attributes, FileId, Kind};
use crate::catalogue::{Catalogue, join};
use crate::error::CatalogueError;
use crate::usage::Usage;

/// A directory, with sums over all that is below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heaviest {
    /// Its path, as bytes.
    pub path: Vec<u8>,
    /// Its sums.
    pub usage: Usage,
}

/// By what files are put in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstBy {
    /// The largest first.
    Size,
    /// Those first whose content has not changed for the longest time.
    Age,
}

impl FirstBy {
    /// No file of these sums ranks before that; `None` if there is none.
    fn best(self, (usage, oldest_day): &(Usage, Option<u16>)) -> Option<i128> {
        match self {
            FirstBy::Size => usage.size_bytes_max().map(i128::from),
            FirstBy::Age => usage
                .oldest_ns(*oldest_day)
                .map(|oldest_ns| -i128::from(oldest_ns)),
        }
    }

    /// The greater, the earlier.
    fn rank(self, file: &Attributes) -> i128 {
        match self {
            FirstBy::Size => i128::from(file.size_bytes),
            FirstBy::Age => -i128::from(file.modified_ns),
        }
    }
}

impl Catalogue {
    /// The root of each tree, and its path.
    fn tops(&self) -> Result<Vec<(FileId, Vec<u8>)>, CatalogueError> {
        Ok(self
            .roots()?
            .into_iter()
            .map(|(path, root)| (root.attributes.id, path))
            .collect())
    }

    /// The directories that hold most bytes on disk, with all that is below them, the heaviest first. A directory that is
    /// not heavier than one in it stands behind that.
    pub fn heaviest(&self, count: usize) -> Result<Vec<Heaviest>, CatalogueError> {
        let mut heap = BinaryHeap::new();
        for (id, path) in self.tops()? {
            heap.push((self.tree_head(id)?.0.blocks, Reverse(path), id));
        }
        let mut first = Vec::new();
        // What is in a directory is not heavier than it, so the heaviest that is known is the next.
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
            first.push(Heaviest {
                path,
                usage: self.tree(id)?,
            });
        }
        Ok(first)
    }

    /// The first files by size or age. Directories whose sums say that none of theirs can be among them are not read.
    pub fn first_files(&self, by: FirstBy, count: usize) -> Result<Vec<Found>, CatalogueError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut dirs = BinaryHeap::new();
        for (id, path) in self.tops()? {
            let best = by.best(&self.tree_head(id)?);
            dirs.extend(best.map(|best| (best, Reverse(path), id)));
        }
        // The last of the first on top.
        let mut first: BinaryHeap<Reverse<(i128, Reverse<Vec<u8>>)>> = BinaryHeap::new();
        let mut files = std::collections::HashMap::new();
        while let Some((best, Reverse(path), id)) = dirs.pop() {
            let is_full = first.len() == count;
            if is_full && first.peek().is_some_and(|Reverse((last, _))| *last > best) {
                break;
            }
            let mut inner = Vec::new();
            self.each_entry(id, |name, file| {
                // It counts, and is listed, where its first name is.
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
            Some(Found {
                path,
                attributes,
                depth: 0,
                entries: None,
            })
        });
        Ok(found.collect())
    }
}
