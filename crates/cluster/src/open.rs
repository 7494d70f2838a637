//! Opens directories as volumes.

use std::path::PathBuf;
use std::sync::Arc;

use store_protocol::{Volume, VolumeId};
use volume::{DiskSettings, DiskVolume, FixityLog, NodeFilesWriter, OpenVolumeError};

use super::start_error::StartError;

/// A volume to be opened.
#[derive(Clone)]
pub struct OpenVolume {
    /// Its name in the cluster.
    pub id: VolumeId,
    /// Its directory.
    pub path: PathBuf,
    /// Whether it took part before. If so, an empty directory has lost its content.
    pub held_before: bool,
    /// Whether its directory is made if it is absent. Its parent must exist.
    pub makes_directory: bool,
    /// Whether a directory that is not a volume yet is made into one.
    pub begins: bool,
    /// Writes the files that the node stores on each of its volumes. Passed to the volume, which
    /// calls it.
    pub write_node_files: Option<NodeFilesWriter>,
}

/// Opens a volume. Called on a thread that may block.
pub type Opener = Arc<dyn Fn(OpenVolume) -> Result<Arc<dyn Volume>, StartError> + Send + Sync>;

/// Returns an opener of directories of this machine, with one fixity log for all of them.
pub(super) fn directories(fixity: Arc<FixityLog>) -> Opener {
    Arc::new(move |volume: OpenVolume| {
        may_open(&volume)?;
        let settings = DiskSettings {
            held_before: volume.held_before,
            write_node_files: volume.write_node_files,
            ..DiskSettings::new(volume.path.clone(), volume.id, fixity.clone())
        };
        match DiskVolume::open(settings) {
            Ok(opened) => Ok(opened),
            Err(error) => Err(refused(volume.path, &error)),
        }
    })
}

/// Opens a volume that was used before and marks it as being rebuilt, so that its "not found" means
/// "not known".
pub(super) fn open_as_rebuilding(
    id: VolumeId,
    path: PathBuf,
    why: &str,
) -> Result<Arc<DiskVolume>, StartError> {
    let settings = DiskSettings::new(path.clone(), id, FixityLog::new());
    let opened = DiskVolume::open(settings).map_err(|error| refused(path.clone(), &error))?;
    opened.start_rebuilding(why).map_err(|error| StartError::Volume {
        path,
        detail: error.to_string(),
    })?;
    Ok(opened)
}

/// Refuses to make a directory or a volume that must already exist.
fn may_open(volume: &OpenVolume) -> Result<(), StartError> {
    let path = &volume.path;
    let refused = |detail: &str| {
        Err(StartError::Volume {
            path: path.clone(),
            detail: detail.to_owned(),
        })
    };
    if !volume.makes_directory && !path.exists() {
        return refused(
            "there is no such directory: mount its disk, or create the directory to start with an empty volume",
        );
    }
    match DiskVolume::sign_of_use(path) {
        Ok(None) if !volume.begins => refused("the directory is not a volume of this store"),
        // If the directory cannot be read, opening it returns the error.
        _ => Ok(()),
    }
}

fn refused(path: PathBuf, error: &OpenVolumeError) -> StartError {
    let detail = error.to_string();
    match error {
        OpenVolumeError::Locked { .. } => StartError::InUse { path, detail },
        OpenVolumeError::OtherVolume { .. } | OpenVolumeError::NotEmpty { .. } => {
            StartError::WrongDirectory { path, detail }
        }
        _ => StartError::Volume { path, detail },
    }
}
