//! The files that a node stores in `node/` on each of its volumes: the layouts, its promises, and
//! the beacon while it runs.
//!
//! Invariants:
//!  - every volume has them: a new volume gets them before its `volume.json` is written, and a
//!    volume that lost only them gets them back within seconds;
//!  - nothing is written into a directory that is not that volume: if a disk was unmounted, the
//!    directory is only its mount point;
//!  - no beacon appears after the node has ended.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use store_protocol::VolumeId;
use volume::NodeFilesWriter;

use super::beacon::Beacon;
use super::layout_log::LayoutLog;
use super::promises::Promises;

/// The files that a node stores on each of its volumes.
pub(super) struct NodeFiles {
    layout_log: Arc<LayoutLog>,
    promises: Arc<Promises>,
    /// `Some` while the node serves.
    beacon: RwLock<Option<Beacon>>,
}

impl NodeFiles {
    /// Makes the files of a node that does not serve yet.
    pub(super) fn new(layout_log: Arc<LayoutLog>, promises: Arc<Promises>) -> Arc<Self> {
        Arc::new(Self {
            layout_log,
            promises,
            beacon: RwLock::new(None),
        })
    }

    /// Returns the function that writes the files into a volume's directory. The volume calls it
    /// when it needs them.
    pub(super) fn write_node_files(self: &Arc<Self>, volume: &VolumeId) -> NodeFilesWriter {
        let (node_files, volume) = (self.clone(), volume.clone());
        Arc::new(move |dir: &Path| {
            node_files.layout_log.write_node_files(&volume, dir)?;
            node_files.promises.write_node_files(&volume, dir)?;
            match &*node_files.beacon.read() {
                Some(beacon) => beacon.write(dir),
                None => Ok(()),
            }
        })
    }

    /// Writes the beacon to each of these volumes that is present, because the node now serves.
    pub(super) fn serve<'a>(
        &self,
        beacon: Beacon,
        places: impl Iterator<Item = (&'a VolumeId, &'a PathBuf)>,
    ) {
        // Held while the files are written: no volume may be furnished in between and miss its
        // beacon.
        let mut held = self.beacon.write();
        for (volume, path) in places {
            if super::durable_file::is_volume(path, volume)
                && let Err(error) = beacon.write(path)
            {
                tracing::warn!(%volume, path = %path.display(), %error, "commands cannot find this node by this volume");
            }
        }
        *held = Some(beacon);
    }

    /// Removes the beacons, because the node has ended.
    pub(super) fn end<'a>(&self, paths: impl Iterator<Item = &'a PathBuf>) {
        // The lock is held to the end: a volume that is furnished meanwhile gets its beacon before
        // the removal or not at all.
        let mut held = self.beacon.write();
        if let Some(beacon) = held.take() {
            paths.for_each(|path| beacon.remove(path));
        }
    }
}
