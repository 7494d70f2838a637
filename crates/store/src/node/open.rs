//! Opens directories as volumes.

use std::sync::Arc;

use super::{OpenVolume, Opener, StartError};
use crate::volume::disk::{DiskSettings, DiskVolume, OpenVolumeError};
use crate::volume::fixity::FixityLog;

/// Opens directories of this machine, with one fixity log for all of them.
pub(super) fn directories() -> Opener {
    let fixity = FixityLog::new();
    Arc::new(move |volume: OpenVolume| {
        let settings = DiskSettings {
            held_before: volume.held_before,
            ..DiskSettings::new(volume.path.clone(), volume.id, fixity.clone())
        };
        match DiskVolume::open(settings) {
            Ok(opened) => Ok(opened),
            Err(error @ OpenVolumeError::Locked { .. }) => Err(StartError::InUse {
                path: volume.path,
                detail: error.to_string(),
            }),
            Err(error) => Err(StartError::Volume {
                path: volume.path,
                detail: error.to_string(),
            }),
        }
    })
}
