//! What a node keeps in `node/` on each of its volumes: the layouts, what it promised, and while it runs the owner file.
//!
//! Invariants:
//!  - they lie on every volume: a volume that begins anew gets them before its `volume.json` says that it is one, and
//!    a volume that lost only them gets them back within seconds;
//!  - nothing is written into a directory that is not that volume: where a disk was unmounted, what shows is the mount
//!    point;
//!  - no owner file appears after the node has ended.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::VolumeId;
use parking_lot::RwLock;
use volume::Furnish;

use super::keeper::Keeper;
use super::owner::Owner;
use super::promises::Promises;

/// See the module.
pub(super) struct Marks {
    keeper: Arc<Keeper>,
    promises: Arc<Promises>,
    /// While the node serves.
    owner: RwLock<Option<Owner>>,
}

impl Marks {
    /// Of a node that does not serve yet.
    pub(super) fn new(keeper: Arc<Keeper>, promises: Arc<Promises>) -> Arc<Self> {
        Arc::new(Self {
            keeper,
            promises,
            owner: RwLock::new(None),
        })
    }

    /// Writes them into a volume's directory, whenever the volume asks for it.
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

    /// The node serves: says so in each of these volumes that is there.
    pub(super) fn serve<'a>(&self, owner: Owner, places: impl Iterator<Item = (&'a VolumeId, &'a PathBuf)>) {
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

    /// The node has ended: takes the owner files back.
    pub(super) fn end<'a>(&self, paths: impl Iterator<Item = &'a PathBuf>) {
        // Held to the end: whoever furnishes a volume meanwhile does so before or without.
        let mut held = self.owner.write();
        if let Some(owner) = held.take() {
            paths.for_each(|path| owner.remove(path));
        }
    }
}
