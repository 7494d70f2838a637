//! READ_DIR for a store: splits its listing into directories.
//!
//! Invariants:
//!  - Keys come in order. So the open directories are those of the last key, and a directory was
//!    read in full when a key outside it arrives. A listing in another order is an error.
//!  - If the listing ends early, nothing is removed from directories that are still open.
//!  - A resumed scan skips the keys of a directory that it has read before together with everything
//!    below it.

mod keys;
mod reading;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use pipeline::{Flow, StageRow, Stopped};

use super::items::ExaminedPiece;
use super::{LastStage, Progress, Scan, ScanReport, ScanSettings, Target};
use crate::attributes::{Attributes, FileId, Kind};
use crate::catalogue::Catalogue;
use crate::change::Change;
use crate::error::{CatalogueError, ScanError};
use crate::objects::{Address, Objects, directory, dirs_of};
use crate::path::{path_buf, rest_below};
use crate::query::{ReportedChange, Visit};
use crate::rows::{OrphanRow, ScanCounts};
use keys::Keys;
use reading::Reading;

impl Catalogue {
    /// Scans the objects below an address: a whole tree, which becomes catalogued, or a part of a
    /// catalogued one.
    ///
    /// # Errors
    /// [`ScanError::Stopped`] if `progress` was stopped; [`ScanError::Listing`] and
    /// [`ScanError::Order`] for errors of the store. Its progress is kept, and nothing that was not
    /// listed is removed. [`ScanError::NoObjects`] if there is no object and the address is not
    /// catalogued.
    pub fn scan_objects(
        self: &Arc<Self>,
        address: &Address,
        objects: &dyn Objects,
        settings: &ScanSettings,
        progress: &Progress,
    ) -> Result<ScanReport, ScanError> {
        let target = self.target_of(address)?;
        let scan = Arc::new(self.begin(&target, settings, progress, None)?);
        let stages = scan.pass_objects(&target, address, objects, settings)?;
        if target.is_whole() && settings.last_stage == LastStage::Apply {
            scan.lose_roots(&target)?;
        }
        scan.finish(&target, settings, stages)
    }

    /// As [`Catalogue::compare`], for the objects below an address.
    ///
    /// # Errors
    /// As [`Catalogue::scan_objects`]; [`ScanError::Unknown`] if the address is in no catalogued
    /// tree.
    pub fn compare_objects(
        self: &Arc<Self>,
        address: &Address,
        objects: &dyn Objects,
        settings: &ScanSettings,
        progress: &Progress,
        each: impl Fn(ReportedChange) + Send + Sync + 'static,
    ) -> Result<ScanCounts, ScanError> {
        let target = self.target_of(address)?;
        if self.root(&target.root)?.is_none() {
            let path = path_buf(address.path());
            return Err(ScanError::Unknown { path });
        }
        let scan = Arc::new(self.begin(&target, settings, progress, Some(Arc::new(each)))?);
        scan.pass_objects(&target, address, objects, settings)?;
        let counts = scan.row.lock().counts;
        Ok(counts)
    }

    /// Returns the tree that contains an address, and the directories that lead from there.
    fn target_of(&self, address: &Address) -> Result<Target, CatalogueError> {
        self.target_at(address.path(), |rest| dirs_of(rest).unwrap_or_default())
    }
}

impl Scan {
    /// Runs one listing through all stages but STAT: a listing includes the attributes of each
    /// object.
    fn pass_objects(
        self: &Arc<Self>,
        target: &Target,
        address: &Address,
        objects: &dyn Objects,
        settings: &ScanSettings,
    ) -> Result<Vec<StageRow>, ScanError> {
        let volume = self.catalogue.bucket(address.volume())?;
        if !target.is_whole()
            && let Some(root) = self.catalogue.root(&target.root)?
            && root.attributes.id.volume != volume
        {
            return Err(ScanError::OtherStore {
                path: path_buf(address.path()),
                root: path_buf(&target.root),
            });
        }
        let mut keys = Keys::new(address, objects);
        // Before any write: an address that cannot be listed is not catalogued.
        let first = keys.page(None)?;
        if first.is_last
            && first.objects.iter().all(|object| *object.key == *keys.prefix)
            && self.catalogue.locate_exactly(address.path())?.is_none()
        {
            let path = path_buf(address.path());
            return Err(ScanError::NoObjects { path });
        }
        let root = address.at(&target.root);
        if settings.last_stage == LastStage::Apply && self.listener.is_none() {
            self.note_root_as(target, directory(volume, root.below()))?;
        }
        let flow = Flow::<ExaminedPiece, ExaminedPiece>::new();
        let (feeder, pipeline) = self.stages_behind(flow, settings).map_err(ScanError::Flow)?;
        let monitor = pipeline.monitor();
        let mut reading = Reading {
            scan: self,
            feeder: (settings.last_stage != LastStage::ReadDir).then_some(feeder),
            volume,
            open: Vec::new(),
            passing: None,
            visits: 0,
        };
        let read = match reading.begin(&root, target) {
            Ok(()) => reading.read(&mut keys, first),
            Err(Stopped) => Ok(()),
        };
        // Closes the input of the pipeline. Items in it are still committed, also after an error.
        drop(reading);
        pipeline.join().map_err(ScanError::Flow)?;
        self.attach_rest()?;
        if self.shared.stop.load(Relaxed) {
            return Err(ScanError::Stopped);
        }
        read?;
        Ok([vec![keys.report()], monitor.stages()].concat())
    }

    /// Removes trees below the listed one that the listing did not contain: they have no objects
    /// left.
    fn lose_roots(&self, target: &Target) -> Result<(), CatalogueError> {
        let mut change = Change::new(&self.catalogue)?;
        let mut is_changed = false;
        for (path, root) in self.catalogue.roots()? {
            let id = root.attributes.id;
            let is_below = path != target.root && rest_below(&path, &target.root).is_some();
            if is_below && !self.catalogue.is_part(&root)? {
                change.mark_missing(id, id, &path, &OrphanRow::lost(path.clone()))?;
                change.count_file(&root.attributes, -1);
                change.root(&path, None);
                is_changed = true;
            }
        }
        if is_changed { change.commit() } else { Ok(()) }
    }

    /// Returns whether an earlier run of this scan has read a directory and everything below it.
    fn has_read(&self, dir: &Attributes) -> Result<bool, CatalogueError> {
        let is_read = |id: FileId| -> Result<bool, CatalogueError> {
            let row = self.catalogue.dir_row(id)?;
            Ok(row.is_some_and(|row| row.whole_scan == self.number))
        };
        if !self.is_resumed || !is_read(dir.id)? {
            return Ok(false);
        }
        let top = self.catalogue.found(Vec::new(), dir.clone(), 0)?;
        let each = self.catalogue.each(top, |found| match found.attributes.kind {
            Kind::Directory if !is_read(found.attributes.id)? => Err(Unread::Directory),
            _ => Ok(Visit::Descend),
        });
        match each {
            Ok(()) => Ok(true),
            Err(Unread::Directory) => Ok(false),
            Err(Unread::Catalogue(error)) => Err(error),
        }
    }
}

/// Why a check of everything below a directory ended early.
enum Unread {
    Directory,
    Catalogue(CatalogueError),
}

impl From<CatalogueError> for Unread {
    fn from(error: CatalogueError) -> Unread {
        Unread::Catalogue(error)
    }
}
