//! The places of directories: where each counts, with all that is below it.
//!
//! A directory is read and committed by itself, often before the one that holds it. Meanwhile it may be removed, renamed or
//! replaced, and then the look at its name finds nothing, or something else.
//!
//! Invariants:
//!  - a directory has its place in another one only while that one has an entry with its name and its identity;
//!  - until then it is an orphan, so that what a scan leaves that is stopped or killed counts nowhere where it is not: the
//!    scan that goes on gives it its place, or takes it away.

use std::sync::Arc;

use super::Scan;
use crate::change::{Change, DirsOfPack};
use crate::error::CatalogueError;
use crate::rows::OrphanRow;
use crate::walk::Dir;

/// Directories that get their places with one commit.
const PLACES: usize = 4096;

impl Scan {
    /// Gives directories their places. Those that have none yet are tried again once the directory that holds them is committed.
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

    /// Makes a directory an orphan, unless it has a place.
    pub(super) fn without_place(&self, change: &mut Change, dir: &Dir) -> Result<(), CatalogueError> {
        change.without_place(dir.id, || OrphanRow::lost(self.path_of(dir)))
    }

    /// Tries once more to place what has no place, now that all is committed. The rest is gone, or is found elsewhere.
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
