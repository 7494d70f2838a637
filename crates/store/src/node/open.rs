//! Opens directories as volumes.

use std::path::PathBuf;
use std::sync::Arc;

use super::{OpenVolume, Opener, StartError};
use crate::volume::VolumeId;
use crate::volume::disk::{DiskSettings, DiskVolume, OpenVolumeError};
use crate::volume::fixity::FixityLog;

/// Opens directories of this machine, with one fixity log for all of them.
pub(super) fn directories() -> Opener {
    let fixity = FixityLog::new();
    Arc::new(move |volume: OpenVolume| {
        let settings = DiskSettings {
            held_before: volume.held_before,
            furnish: volume.furnish,
            ..DiskSettings::new(volume.path.clone(), volume.id, fixity.clone())
        };
        match DiskVolume::open(settings) {
            Ok(opened) => Ok(opened),
            Err(error) => Err(refused(volume.path, &error)),
        }
    })
}

/// Opens a volume that was used before, and makes it one whose "not found" means "not known".
pub(super) fn distrusted(id: VolumeId, path: PathBuf, why: &str) -> Result<Arc<DiskVolume>, StartError> {
    let settings = DiskSettings::new(path.clone(), id, FixityLog::new());
    let opened = DiskVolume::open(settings).map_err(|error| refused(path.clone(), &error))?;
    opened.distrust(why).map_err(|error| StartError::Volume {
        path,
        detail: error.to_string(),
    })?;
    Ok(opened)
}

fn refused(path: PathBuf, error: &OpenVolumeError) -> StartError {
    let detail = error.to_string();
    match error {
        OpenVolumeError::Locked { .. } => StartError::InUse { path, detail },
        _ => StartError::Volume { path, detail },
    }
}
