//! A volume's directory on a simulated disk, and what a crash of its process leaves of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::VolumeId;
use rig::Dice;
use volume::{DiskSettings, DiskVolume, FixityLog, OpenVolumeError};

use super::disk::{Fault, Platter, Stop};
use crate::Trace;

/// A directory that is opened as a volume, again and again.
pub(super) struct Home {
    pub(super) id: VolumeId,
    pub(super) path: PathBuf,
    pub(super) platter: Platter,
}

impl Home {
    /// A volume in `dir/NAME`, where nothing is yet.
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

    /// Opens it for a process that has just started; `stopped` is called when a fault stops that process.
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

    /// The process ends without closing anything. What was started in it is never heard of again, but holds its
    /// files open: so the files that it has locked are replaced by copies.
    pub(super) fn crash(&self, how: Stop, dice: &mut Dice) -> std::io::Result<()> {
        self.platter.crash(how);
        let _ = std::fs::remove_file(self.path.join("lock"));
        let index = self.path.join("index.redb");
        if !index.exists() {
            return Ok(());
        }
        // The index is a cache: it may be lost, or be of any earlier moment that it was durable at.
        if dice.roll(4) == 0 {
            return std::fs::remove_file(index);
        }
        let copy = self.path.with_extension("index");
        std::fs::copy(&index, &copy)?;
        std::fs::rename(copy, index)
    }

    /// Injects a fault, or ends the one there is.
    pub(super) fn inject(&self, fault: Option<Fault>) {
        self.platter.inject(fault);
    }
}
