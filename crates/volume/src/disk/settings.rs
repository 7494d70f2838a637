//! What a volume is opened with.

use std::path::PathBuf;
use std::sync::Arc;

use contract::VolumeId;

use crate::fixity::FixityLog;
use crate::io::{Disk, RealDisk};

/// Writes the files that the node keeps in the directory of each volume. It is called on a thread that may
/// wait: when a directory begins as a volume (before `volume.json` is written), before a rebuilding ends, and
/// every few seconds. It must leave existing files alone.
pub type Furnish = Arc<dyn Fn(&std::path::Path) -> std::io::Result<()> + Send + Sync>;

/// What a volume is opened with.
#[derive(Clone)]
pub struct DiskSettings {
    /// Its directory, which is made if it does not exist (its parent must exist).
    pub path: PathBuf,
    /// Its name in the cluster.
    pub id: VolumeId,
    /// The node's fixity log.
    pub fixity: Arc<FixityLog>,
    /// Whether the volume took part before this process was started. If so, an empty directory has lost what
    /// it held, and begins as [`contract::VolumeState::Rebuilding`].
    pub held_before: bool,
    /// Writes the files that the node keeps on each of its volumes; `None` writes nothing.
    pub furnish: Option<Furnish>,
    /// The file system.
    pub disk: Arc<dyn Disk>,
    /// Whether a thread does the volume's regular work. If not, the caller does: [`DiskVolume::keep_house`](super::DiskVolume::keep_house).
    pub housekeeping: bool,
}

impl DiskSettings {
    /// Returns settings for a volume on this machine's file system. If its directory is empty, the volume
    /// takes part for the first time.
    pub fn new(path: impl Into<PathBuf>, id: VolumeId, fixity: Arc<FixityLog>) -> Self {
        Self {
            path: path.into(),
            id,
            fixity,
            held_before: false,
            furnish: None,
            disk: Arc::new(RealDisk),
            housekeeping: true,
        }
    }
}
