//! READ_DIR: selects the directories that the walk reads, and feeds its results to the pipeline.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use pipeline::{Feeder, Stopped};
use rustix::io::Errno;

use super::follow::{Observer, Which};
use super::items::Work;
use super::{LastStage, Scan};
use crate::attributes::{FileId, Kind};
use crate::rows::{DirRow, Stamp};
use crate::walk::{Handle, KnownDir, Piece, Visitor};

/// Feeds the results of the walk to the pipeline.
pub(super) struct Visits<'a> {
    pub(super) scan: &'a Scan,
    pub(super) feeder: Feeder<Work>,
    pub(super) until: LastStage,
    pub(super) which: &'a Which,
}

impl Visits<'_> {
    /// Returns the known contents of a directory if it need not be read.
    fn not_read(&self, id: FileId, is_as_before: impl Fn(&DirRow) -> bool) -> Option<KnownDir> {
        let row = self.scan.catalogue.dir_row(id).ok()??;
        if !is_as_before(&row) {
            return None;
        }
        let mut enter = Vec::new();
        let read = self.scan.catalogue.each_entry(id, |name, file| {
            if file.kind == Kind::Directory {
                enter.push(name.into());
            }
            Ok(())
        });
        // On an error of the catalogue the directory is read from disk.
        read.ok().map(|()| KnownDir {
            enter,
            look: Vec::new(),
        })
    }
}

impl Visitor for Visits<'_> {
    fn volume(&self, device: u64, handle: &Handle) -> Result<u32, Errno> {
        self.scan.volume(device, handle)
    }

    fn opened(&self, parent: Option<FileId>, id: FileId, handle: &Handle) -> bool {
        let observer = self.scan.observer.as_ref();
        observer.is_some_and(|observer| observer.opened(parent, id, handle))
    }

    fn known(&self, id: FileId, stamp: Stamp) -> Option<KnownDir> {
        let number = self.scan.number;
        match self.which {
            Which::All => None,
            Which::NotRead => self.not_read(id, |row| row.whole_scan == number && row.stamp == stamp),
            Which::Changed => self.not_read(id, |row| row.is_whole() && row.stamp == stamp),
            Which::Planned(plan) => {
                let known = plan.known(&self.scan.catalogue, id);
                // A directory that was moved into the tree, or past the scan that set the watches:
                // changes below it were not reported.
                let is_fresh = |observer: &Arc<dyn Observer>| observer.is_fresh(id);
                known.filter(|_| !self.scan.observer.as_ref().is_some_and(is_fresh))
            }
        }
    }

    fn piece(&self, piece: Piece) -> Result<(), Stopped> {
        if self.until == LastStage::ReadDir {
            return Ok(());
        }
        self.feeder.send(Work(piece))
    }

    fn vanished(&self) {
        self.scan.shared.vanished.fetch_add(1, Relaxed);
    }
}
