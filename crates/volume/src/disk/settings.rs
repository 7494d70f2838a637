//! Settings of a volume.

use std::path::PathBuf;
use std::sync::Arc;

use store_protocol::VolumeId;

use crate::fixity::FixityLog;
use crate::io::{Disk, RealDisk};

/// Writes the files that the node keeps in the directory of each volume. It runs on a blocking
/// thread: when a directory is initialized as a volume (before `volume.json` is written), before a
/// rebuild ends, and every few seconds. It must leave existing files alone.
pub type NodeFilesWriter = Arc<dyn Fn(&std::path::Path) -> std::io::Result<()> + Send + Sync>;

/// Settings of a volume.
#[derive(Clone)]
pub struct DiskSettings {
    /// Its directory, which is created if it does not exist (its parent must exist).
    pub path: PathBuf,
    /// Its name in the cluster.
    pub id: VolumeId,
    /// The node's fixity log.
    pub fixity: Arc<FixityLog>,
    /// Whether the volume was in the cluster before this process started. If so, an empty directory
    /// has lost its contents, and the volume starts as [`store_protocol::VolumeState::Rebuilding`].
    pub held_before: bool,
    /// Writes the files that the node keeps on each of its volumes; `None` writes none.
    pub write_node_files: Option<NodeFilesWriter>,
    /// The file system.
    pub disk: Arc<dyn Disk>,
    /// Whether a thread runs the periodic work. If not, the caller must call
    /// [`DiskVolume::run_housekeeping`](super::DiskVolume::run_housekeeping).
    pub housekeeping: bool,
}

impl DiskSettings {
    /// Returns settings for a volume on the local file system. If its directory is empty, the
    /// volume is new to the cluster.
    pub fn new(path: impl Into<PathBuf>, id: VolumeId, fixity: Arc<FixityLog>) -> Self {
        Self {
            path: path.into(),
            id,
            fixity,
            held_before: false,
            write_node_files: None,
            disk: Arc::new(RealDisk),
            housekeeping: true,
        }
    }
}
