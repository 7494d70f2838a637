//! Files with equal content, among those with known digests.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{PathEntry, Visit};
use crate::attributes::Kind;
use crate::catalogue::Catalogue;
use crate::error::CatalogueError;
use crate::log::Digest;

/// Files with the same content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicates {
    /// SHA-256 of the content.
    pub sha256: [u8; 32],
    /// Length of each file.
    pub size_bytes: u64,
    /// Number of files. Several names of one file count once.
    pub files: u64,
    /// One name each of the first files, in catalogue order.
    pub paths: Vec<Vec<u8>>,
}

impl Duplicates {
    /// Returns how many bytes keeping only one of the files would free.
    pub fn excess_bytes(&self) -> u64 {
        self.size_bytes.saturating_mul(self.files.saturating_sub(1))
    }
}

/// The result of a search for files with equal content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DuplicateReport {
    /// The contents whose deduplication would free the most bytes, in descending order.
    pub first: Vec<Duplicates>,
    /// Number of contents found in more than one file.
    pub contents: u64,
    /// Bytes freed by keeping one file per content.
    pub excess_bytes: u64,
    /// Number of files with a known digest.
    pub known_files: u64,
    /// Number of all files that are not empty.
    pub files: u64,
}

/// Maximum number of names kept per content.
const PATHS_MAX: usize = 10;

impl Catalogue {
    /// Finds files with equal content among those with a digest of their current version. Reads the
    /// whole catalogue twice and holds a few bytes per digest in between.
    ///
    /// # Errors
    /// Fails if a row cannot be read.
    pub fn duplicates(&self, limit: usize) -> Result<DuplicateReport, CatalogueError> {
        let mut result = DuplicateReport::default();
        // Keyed by the first bytes of the digest; the value is whether it occurs more than once.
        let mut times: FxHashMap<u64, bool> = FxHashMap::default();
        self.each_with_digest(|_, digest| {
            result.files += 1;
            if let Some(digest) = digest {
                result.known_files += 1;
                times
                    .entry(short(&digest.sha256))
                    .and_modify(|is_twice| *is_twice = true)
                    .or_insert(false);
            }
        })?;
        times.retain(|_, is_twice| *is_twice);
        let mut contents: FxHashMap<[u8; 32], Duplicates> = FxHashMap::default();
        self.each_with_digest(|found, digest| {
            let Some(digest) = digest.filter(|digest| times.contains_key(&short(&digest.sha256))) else {
                return;
            };
            let row = contents.entry(digest.sha256).or_insert_with(|| Duplicates {
                sha256: digest.sha256,
                size_bytes: digest.version.size_bytes,
                files: 0,
                paths: Vec::new(),
            });
            row.files += 1;
            if row.paths.len() < PATHS_MAX {
                row.paths.push(found.path.clone());
            }
        })?;
        let mut all: Vec<Duplicates> = contents.into_values().filter(|row| row.files > 1).collect();
        all.sort_by_key(|row| (std::cmp::Reverse(row.excess_bytes()), row.sha256));
        result.contents = all.len() as u64;
        result.excess_bytes = all.iter().map(Duplicates::excess_bytes).sum();
        all.truncate(limit);
        result.first = all;
        Ok(result)
    }

    /// Calls `each` once for every file that is not empty, with its digest if known.
    fn each_with_digest(
        &self,
        mut each: impl FnMut(&PathEntry, Option<Digest>),
    ) -> Result<(), CatalogueError> {
        let mut linked = FxHashSet::default();
        for tree in self.trees()? {
            let Some(top) = self.locate(path_of(&tree.path))? else {
                continue;
            };
            self.each(top, |found| {
                let file = &found.attributes;
                let is_new = !file.is_linked() || linked.insert(file.id);
                if file.kind == Kind::File && file.size_bytes > 0 && is_new {
                    each(found, self.current_digest(file)?);
                }
                Ok::<Visit, CatalogueError>(Visit::Descend)
            })?;
        }
        Ok(())
    }
}

fn path_of(bytes: &[u8]) -> &std::path::Path {
    std::path::Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(
        bytes,
    ))
}

fn short(sha256: &[u8; 32]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *sha256;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}
