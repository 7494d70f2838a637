//! `volume.json`, the identity of a volume. A directory without it is not a volume.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use store_protocol::{VolumeId, VolumeState};

use super::names::IDENTITY;
use crate::io::Disk;

/// Version of the directory layout.
const FORMAT: u32 = 1;

/// The contents of `volume.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// Version of the directory layout.
    pub(super) format: u32,
    /// Name of the volume.
    pub(super) id: VolumeId,
    /// A random number, new each time the volume is initialized. An index belongs to one
    /// incarnation.
    pub(super) incarnation: String,
    /// When this incarnation began, in milliseconds since 1970.
    pub(super) created_ms: u64,
    /// Whether "not found" means "unknown", until repair has processed the volume.
    pub(super) rebuilding: bool,
}

impl Identity {
    /// Returns a new incarnation.
    pub(super) fn new(id: &VolumeId, created_ms: u64, rebuilding: bool) -> Self {
        Self {
            format: FORMAT,
            id: id.clone(),
            incarnation: format!("{:032x}", system::random::<u128>()),
            created_ms,
            rebuilding,
        }
    }

    /// Returns the state of a volume that is open and not out of service.
    pub(super) fn state(&self) -> VolumeState {
        if self.rebuilding {
            VolumeState::Rebuilding
        } else {
            VolumeState::InService
        }
    }

    /// Reads the identity of a volume; `None` if the directory has none.
    pub(super) fn read(root: &Path) -> io::Result<Option<Self>> {
        let text = match std::fs::read(root.join(IDENTITY)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let identity: Self = serde_json::from_slice(&text)?;
        if identity.format != FORMAT {
            let detail = format!("{IDENTITY} has format {}, expected {FORMAT}", identity.format);
            return Err(io::Error::new(io::ErrorKind::InvalidData, detail));
        }
        Ok(Some(identity))
    }

    /// Writes the identity atomically and durably.
    pub(super) fn write(&self, disk: &dyn Disk, root: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        let temporary = root.join("volume.json.new");
        match disk.remove(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = disk.create(&temporary)?;
        file.write_at(&text, 0)?;
        // The content is synced before the rename and the name after it, so a crash leaves the old
        // file or the new one.
        file.sync()?;
        disk.rename(&temporary, &root.join(IDENTITY))?;
        disk.sync_dir(root)
    }
}
