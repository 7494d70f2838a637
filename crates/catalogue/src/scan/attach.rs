//! Attaching directories to their parents, which count them with everything below them.
//!
//! A directory is read and committed separately, often before its parent. Meanwhile it may be
//! removed, renamed or replaced, and then its name in the parent is missing or refers to something
//! else.
//!
//! Invariants:
//!  - A directory is attached only while its parent has an entry with its name and its identity.
//!  - Until then it is an orphan. So after an interrupted scan it is counted nowhere, and the
//!    resumed scan attaches or removes it.

use std::sync::Arc;

use super::Scan;
use crate::change::{Change, DirsOfPack};
use crate::error::CatalogueError;
use crate::rows::OrphanRow;
use crate::walk::Dir;

/// Number of directories attached per commit.
const DIRS_PER_COMMIT: usize = 4096;

impl Scan {
    /// Attaches directories. Those whose entry is not committed yet are retried after the commit of
    /// their parent.
    pub(super) fn attach_dirs(
        &self,
        change: &mut Change,
        mut dirs: Vec<Arc<Dir>>,
    ) -> Result<(), CatalogueError> {
        let parent_of = |dir: &Dir| dir.parent.as_ref().map(|parent| parent.id);
        dirs.sort_by(|a, b| (parent_of(a), &a.name).cmp(&(parent_of(b), &b.name)));
        let mut last = DirsOfPack::default();
        for dir in dirs {
            let Some(parent) = parent_of(&dir) else { continue };
            if change.directory_at(parent, &dir.name, &mut last)? == Some(dir.id) {
                change.attach(dir.id, parent, &dir.name)?;
            } else {
                self.mark_unattached(change, &dir)?;
                self.unattached.lock().entry(parent).or_default().push(dir);
            }
        }
        Ok(())
    }

    /// Makes a directory an orphan, unless it is attached.
    pub(super) fn mark_unattached(&self, change: &mut Change, dir: &Dir) -> Result<(), CatalogueError> {
        change.mark_unattached(dir.id, || OrphanRow::lost(self.path_of(dir)))
    }

    /// Retries all directories that are not attached, now that everything is committed. The rest
    /// are gone or are found elsewhere.
    pub(super) fn attach_rest(&self) -> Result<(), CatalogueError> {
        let unattached = std::mem::take(&mut *self.unattached.lock());
        let rest: Vec<Arc<Dir>> = unattached.into_values().flatten().collect();
        for dirs in rest.chunks(DIRS_PER_COMMIT) {
            let mut change = Change::new(&self.catalogue)?;
            self.attach_dirs(&mut change, dirs.to_vec())?;
            change.commit()?;
        }
        self.unattached.lock().clear();
        Ok(())
    }
}
