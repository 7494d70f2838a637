//! The directory of a volume on a simulated disk, and its state after a crash.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use store_protocol::VolumeId;
use store_testkit::Dice;
use volume::{DiskSettings, DiskVolume, FixityLog, OpenVolumeError};

use super::disk::{Fault, Platter, Stop};
use crate::Trace;

/// A directory that is repeatedly opened as a volume.
pub(super) struct Home {
    pub(super) id: VolumeId,
    pub(super) path: PathBuf,
    pub(super) platter: Platter,
}

impl Home {
    /// Creates a volume's home in the new directory `dir/NAME`.
    pub(super) fn new(dir: &Path, id: VolumeId, seed: u64, trace: &Trace) -> std::io::Result<Self> {
        let name = id.to_string().replace('/', "-");
        let aside = dir.join(format!("{name}.aside"));
        std::fs::create_dir(&aside)?;
        Ok(Self {
            platter: Platter::new(&name, seed, aside, trace),
            path: dir.join(name),
            id,
        })
    }

    /// Opens the volume for a new process; `stopped` is called when a fault stops that process.
    pub(super) fn open(
        &self,
        fixity: &Arc<FixityLog>,
        stopped: impl Fn() + Send + Sync + 'static,
    ) -> Result<Arc<DiskVolume>, OpenVolumeError> {
        let mut settings = DiskSettings::new(&self.path, self.id.clone(), fixity.clone());
        settings.disk = self.platter.start(stopped);
        settings.housekeeping = false;
        DiskVolume::open(settings)
    }

    /// Ends the process without closing anything. Its abandoned tasks have no further effect but
    /// keep files open, so the files they have locked are replaced by copies.
    pub(super) fn crash(&self, how: Stop, dice: &mut Dice) -> std::io::Result<()> {
        self.platter.crash(how);
        let _ = std::fs::remove_file(self.path.join("lock"));
        let index = self.path.join("index.redb");
        if !index.exists() {
            return Ok(());
        }
        // The index is a cache: it may be lost, or be in any earlier durable state.
        if dice.roll(4) == 0 {
            return std::fs::remove_file(index);
        }
        let copy = self.path.with_extension("index");
        std::fs::copy(&index, &copy)?;
        std::fs::rename(copy, index)
    }

    /// Injects a fault, or clears the present one.
    pub(super) fn inject(&self, fault: Option<Fault>) {
        self.platter.inject(fault);
    }
}
