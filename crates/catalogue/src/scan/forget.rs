//! Forgetting a tree: removes it from the catalogue without touching the disk.
//!
//! Invariants:
//!  - The first commit removes the row of the tree and makes its directory an orphan. From then on
//!    it is not a tree, and if this run is interrupted, the next forget or scan removes the rest.
//!  - A digest is removed only when no entry of the catalogue refers to its file.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::remove::Orphans;
use super::{Progress, Scan, Target};
use crate::attributes::{Attributes, FileId};
use crate::catalogue::Catalogue;
use crate::change::{Change, DIGEST_MARKS};
use crate::error::{CatalogueError, ScanError};
use crate::objects::is_address;
use crate::pack;
use crate::path::rest_below;
use crate::rows::{OrphanRow, RootRow};
use crate::tables::Table;
use crate::usage::Usage;

/// What was removed from the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgetReport {
    /// Path of the tree, as bytes.
    pub path: Vec<u8>,
    /// Sums over everything removed in this run, including the tree's root.
    pub usage: Usage,
    /// Number of its read errors.
    pub faults: u64,
    /// Number of digests of files that are nowhere else in the catalogue.
    pub digests: u64,
    /// Whether an earlier run was interrupted and this one removed the rest.
    pub is_resumed: bool,
}

/// Number of digests checked per pass over all entries.
const DIGESTS: usize = 1 << 20;
/// Number of digests removed per commit.
const DIGESTS_OF_COMMIT: usize = 1 << 14;

impl Catalogue {
    /// Removes a tree from the catalogue with everything known about it except its scans.
    ///
    /// # Errors
    /// [`ScanError::Within`] for a directory inside a tree, [`ScanError::Unknown`] for one in no
    /// tree, [`ScanError::Watched`] while a watch keeps it up to date, [`ScanError::Stopped`] if
    /// `progress` was stopped: the next forget or scan removes the rest.
    pub fn forget(self: &Arc<Self>, dir: &Path, progress: &Progress) -> Result<ForgetReport, ScanError> {
        let path = self.path_of_tree(dir)?;
        let mut forgotten = ForgetReport {
            path: path.clone(),
            usage: Usage::default(),
            faults: 0,
            digests: 0,
            is_resumed: false,
        };
        match self.root(&path)? {
            Some(root) => {
                forgotten.faults = self.faults_below(&path, b"")?.len() as u64;
                self.forget_root(dir, &root, &mut forgotten)?;
            }
            None if self.has_forgotten(&path)? => forgotten.is_resumed = true,
            None => return Err(ScanError::Unknown { path: dir.to_owned() }),
        }
        for id in self.forgotten_dirs()? {
            forgotten.usage.merge(&self.tree(id)?);
        }
        let digests = self.digests()?;
        let nowhere = Target {
            root: Vec::new(),
            only: Vec::new(),
        };
        let scan = Arc::new(self.between_scans(&nowhere, progress, None)?);
        scan.remove_old(Orphans::Forgotten)?;
        forgotten.digests = digests.saturating_sub(self.digests()?);
        self.tables.settle().map_err(CatalogueError::from)?;
        Ok(forgotten)
    }

    /// Returns the path of a tree, whether or not its directory exists.
    fn path_of_tree(&self, dir: &Path) -> Result<Vec<u8>, ScanError> {
        let given = dir.as_os_str().as_bytes();
        let path = if is_address(given) {
            given.strip_suffix(b"/").unwrap_or(given).to_vec()
        } else {
            self.absolute(dir)?
        };
        let roots = self.roots()?;
        let mut above = roots
            .iter()
            .filter(|(root, _)| *root != path && rest_below(&path, root).is_some());
        let is_tree = match self.root(&path)? {
            Some(root) => !self.is_part(&root)?,
            None => false,
        };
        match above.next() {
            Some((root, _)) if !is_tree => Err(ScanError::Within {
                path: dir.to_owned(),
                root: PathBuf::from(std::ffi::OsStr::from_bytes(root)),
            }),
            _ => Ok(path),
        }
    }

    fn forget_root(
        self: &Arc<Self>,
        dir: &Path,
        root: &RootRow,
        forgotten: &mut ForgetReport,
    ) -> Result<(), ScanError> {
        let path = &*forgotten.path;
        if self.may_be_watched(path)? {
            return Err(ScanError::Watched { path: dir.to_owned() });
        }
        let mut change = Change::new(self)?;
        let forget = |path: &[u8], directory: &Attributes, change: &mut Change| {
            change.root(path, None);
            change.forget_watch(path);
            change.count_file(directory, -1);
        };
        forget(path, &root.attributes, &mut change);
        // Trees that an interrupted scan of this one had absorbed but not yet removed from the list
        // of roots.
        for (other, row) in self.roots()? {
            if other != path && rest_below(&other, path).is_some() && self.is_part(&row)? {
                forget(&other, &row.attributes, &mut change);
            }
        }
        let id = root.attributes.id;
        let orphan = OrphanRow {
            is_forgotten: true,
            path: path.to_vec(),
        };
        change.mark_missing(id, id, path, &orphan)?;
        change.commit()?;
        forgotten.usage.count(&root.attributes, 1);
        Ok(())
    }

    /// Returns whether something is left of a forgotten tree.
    fn has_forgotten(&self, path: &[u8]) -> Result<bool, CatalogueError> {
        for row in self.tables.space(Table::Orphans).iter() {
            let (key, value) = row.into_inner()?;
            let was_in = if key.starts_with(&DIGEST_MARKS) {
                Some(value.to_vec())
            } else {
                Some(OrphanRow::of_bytes(&value))
                    .filter(|row| row.is_forgotten)
                    .map(|row| row.path)
            };
            if was_in.is_some_and(|was_in| rest_below(&was_in, path).is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn forgotten_dirs(&self) -> Result<Vec<FileId>, CatalogueError> {
        let mut dirs = Vec::new();
        for row in self.tables.space(Table::Orphans).range(..DIGEST_MARKS) {
            let (key, value) = row.into_inner()?;
            if OrphanRow::of_bytes(&value).is_forgotten {
                dirs.push(FileId::of_bytes(&key)?);
            }
        }
        Ok(dirs)
    }

    fn digests(&self) -> Result<u64, CatalogueError> {
        Ok(self.tables.space(Table::Digests).len()? as u64)
    }
}

impl Scan {
    /// Removes the digests of files that were in a forgotten tree and are no longer catalogued.
    pub(super) fn forget_digests(&self) -> Result<(), CatalogueError> {
        loop {
            let marks = self.catalogue.tables.space(Table::Orphans).prefix(DIGEST_MARKS);
            let marked = marks.take(DIGESTS).map(|row| {
                let key = row.key()?;
                Ok(FileId::of_bytes(
                    key.get(DIGEST_MARKS.len()..).unwrap_or_default(),
                )?)
            });
            let marked = marked.collect::<Result<Vec<FileId>, CatalogueError>>()?;
            if marked.is_empty() {
                return Ok(());
            }
            let mut nowhere: FxHashSet<FileId> = marked.iter().copied().collect();
            for row in self.catalogue.tables.space(Table::Packs).iter() {
                let value = row.value()?;
                let mut entries = pack::entries(&value)?;
                while let Some((_, file)) = entries.next()? {
                    nowhere.remove(&file.id);
                }
            }
            for files in marked.chunks(DIGESTS_OF_COMMIT) {
                let mut change = Change::new(&self.catalogue)?;
                for file in files {
                    change.decide_digest(*file, nowhere.contains(file));
                }
                change.commit()?;
            }
        }
    }
}
