//! Forgetting: a tree leaves the catalogue, and nothing on the disk is touched.
//!
//! Invariants:
//!  - the first commit takes the tree's row away and makes its directory an orphan, so from then on it is no tree, and what is
//!    left of it goes with the next forget or scan, whenever this one ends;
//!  - a digest goes only when no entry of the catalogue has its file any more.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::remove::Orphans;
use super::{Progress, Scan, Target, rest_below};
use crate::attributes::{Attributes, FileId};
use crate::catalogue::Catalogue;
use crate::change::{Change, DIGEST_MARKS};
use crate::error::{CatalogueError, ScanError};
use crate::objects::is_address;
use crate::pack;
use crate::rows::{OrphanRow, RootRow};
use crate::tables::Table;
use crate::usage::Usage;

/// What left the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    /// Path of the tree, as bytes.
    pub path: Vec<u8>,
    /// Sums over what went in this run, the tree's directory among it.
    pub usage: Usage,
    /// Faults that were noted of it.
    pub faults: u64,
    /// Digests of files that are nowhere else in the catalogue.
    pub digests: u64,
    /// Whether an earlier run was stopped or killed, and this one took the rest.
    pub is_resumed: bool,
}

/// Files whose digests are looked at together: one look through all entries for so many.
const DIGESTS: usize = 1 << 20;
/// Digests that go with one commit.
const DIGESTS_OF_COMMIT: usize = 1 << 14;

impl Catalogue {
    /// Takes a tree out of the catalogue, with all that is known of it but its scans.
    ///
    /// # Errors
    /// [`ScanError::Within`] for a directory in a tree, [`ScanError::Unknown`] for one in none, [`ScanError::Watched`] while a
    /// watch keeps it current, [`ScanError::Stopped`] if `progress` was told to stop: the rest goes with the next forget or scan.
    pub fn forget(self: &Arc<Self>, dir: &Path, progress: &Progress) -> Result<Forgotten, ScanError> {
        let path = self.path_of_tree(dir)?;
        let mut forgotten = Forgotten {
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

    /// The path under which a directory is a tree, whether it is there or not.
    fn path_of_tree(&self, dir: &Path) -> Result<Vec<u8>, ScanError> {
        let given = dir.as_os_str().as_bytes();
        let path = match is_address(given) {
            true => given.strip_suffix(b"/").unwrap_or(given).to_vec(),
            false => self.absolute(dir)?,
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
        forgotten: &mut Forgotten,
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
        // Trees that a scan of this one has taken in, and was stopped before it said so.
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
        change.lost(id, id, path, &orphan)?;
        change.commit()?;
        forgotten.usage.count(&root.attributes, 1);
        Ok(())
    }

    /// Whether something is left of a tree that was forgotten.
    fn has_forgotten(&self, path: &[u8]) -> Result<bool, CatalogueError> {
        for row in self.tables.space(Table::Orphans).iter() {
            let (key, value) = row.into_inner()?;
            let was_in = match key.starts_with(&DIGEST_MARKS) {
                true => Some(value.to_vec()),
                false => Some(OrphanRow::of_bytes(&value))
                    .filter(|row| row.is_forgotten)
                    .map(|row| row.path),
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
    /// Forgets the digests of files that were in a forgotten tree, and are in the catalogue no more.
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
                    change.settle_digest(*file, nowhere.contains(file));
                }
                change.commit()?;
            }
        }
    }
}
