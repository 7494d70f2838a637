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
const PLACES: usize = 4096;

impl Scan {
    /// Attaches directories. Those whose entry is not committed yet are retried after the commit of
    /// their parent.
    pub(super) fn place(&self, change: &mut Change, mut dirs: Vec<Arc<Dir>>) -> Result<(), CatalogueError> {
        let place = |dir: &Dir| dir.parent.as_ref().map(|parent| parent.id);
        dirs.sort_by(|a, b| (place(a), &a.name).cmp(&(place(b), &b.name)));
        let mut last = DirsOfPack::default();
        for dir in dirs {
            let Some(parent) = place(&dir) else { continue };
            if change.directory_at(parent, &dir.name, &mut last)? == Some(dir.id) {
                change.attach(dir.id, parent, &dir.name)?;
            } else {
                self.without_place(change, &dir)?;
                self.unplaced.lock().entry(parent).or_default().push(dir);
            }
        }
        Ok(())
    }

    /// Makes a directory an orphan, unless it is attached.
    pub(super) fn without_place(&self, change: &mut Change, dir: &Dir) -> Result<(), CatalogueError> {
        change.without_place(dir.id, || OrphanRow::lost(self.path_of(dir)))
    }

    /// Retries all directories that are not attached, now that everything is committed. The rest
    /// are gone or are found elsewhere.
    pub(super) fn place_rest(&self) -> Result<(), CatalogueError> {
        let unplaced = std::mem::take(&mut *self.unplaced.lock());
        let rest: Vec<Arc<Dir>> = unplaced.into_values().flatten().collect();
        for dirs in rest.chunks(PLACES) {
            let mut change = Change::new(&self.catalogue)?;
            self.place(&mut change, dirs.to_vec())?;
            change.commit()?;
        }
        self.unplaced.lock().clear();
        Ok(())
    }
}
