//! What a node keeps in `node/` on each of its volumes: the layouts, what it promised, and while it runs the
//! owner file.
//!
//! Invariants:
//!  - every volume has them: a new volume gets them before its `volume.json` is written, and a volume that
//!    lost only them gets them back within seconds;
//!  - nothing is written into a directory that is not that volume: if a disk was unmounted, the directory is
//!    only its mount point;
//!  - no owner file appears after the node has ended.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::VolumeId;
use parking_lot::RwLock;
use volume::Furnish;

use super::keeper::Keeper;
use super::owner::Owner;
use super::promises::Promises;

/// The files that a node keeps on each of its volumes.
pub(super) struct Marks {
    keeper: Arc<Keeper>,
    promises: Arc<Promises>,
    /// `Some` while the node serves.
    owner: RwLock<Option<Owner>>,
}

impl Marks {
    /// Makes the files of a node that does not serve yet.
    pub(super) fn new(keeper: Arc<Keeper>, promises: Arc<Promises>) -> Arc<Self> {
        Arc::new(Self {
            keeper,
            promises,
            owner: RwLock::new(None),
        })
    }

    /// Returns the function that writes the files into a volume's directory. The volume calls it when it
    /// needs them.
    pub(super) fn furnish(self: &Arc<Self>, volume: &VolumeId) -> Furnish {
        let (marks, volume) = (self.clone(), volume.clone());
        Arc::new(move |dir: &Path| {
            marks.keeper.furnish(&volume, dir)?;
            marks.promises.furnish(&volume, dir)?;
            match &*marks.owner.read() {
                Some(owner) => owner.write(dir),
                None => Ok(()),
            }
        })
    }

    /// Writes the owner file to each of these volumes that is present: the node serves.
    pub(super) fn serve<'a>(&self, owner: Owner, places: impl Iterator<Item = (&'a VolumeId, &'a PathBuf)>) {
        // Held while the files are written: no volume may be furnished in between and miss its owner file.
        let mut held = self.owner.write();
        for (volume, path) in places {
            if super::files::is_volume(path, volume)
                && let Err(error) = owner.write(path)
            {
                tracing::warn!(%volume, path = %path.display(), %error, "commands cannot find this node by its volume");
            }
        }
        *held = Some(owner);
    }

    /// Removes the owner files: the node has ended.
    pub(super) fn end<'a>(&self, paths: impl Iterator<Item = &'a PathBuf>) {
        // The lock is held to the end: a volume that is furnished meanwhile gets its owner file before the
        // removal or not at all.
        let mut held = self.owner.write();
        if let Some(owner) = held.take() {
            paths.for_each(|path| owner.remove(path));
        }
    }
}
