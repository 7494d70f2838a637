//! State changes of a volume: in service, rebuilding, out of service.
//!
//! If `volume.json` is missing from an open volume, its directory was emptied or replaced:
//!  - If the directory exists on the same file system, the volume is initialized again, durably as
//!    `Rebuilding`.
//!  - If it is gone or on another file system (the disk was unmounted, and the path is now the
//!    empty mount point), the volume goes out of service. Initializing it there would fill the
//!    wrong disk.
//!
//! The files that the node keeps on each volume (above all its layouts) are written before the
//! `volume.json` of a new incarnation, and again before its rebuild ends. So every directory with a
//! `volume.json` has the layouts, even if volumes are wiped one after another with a rebuild in
//! between.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use store_protocol::{Cause, VolumeError, VolumeState};

use super::identity::Identity;
use super::index::{Index, IndexError};
use super::inner::Inner;
use super::life::{LockError, lock};
use super::names::{DIRECTORIES, IDENTITY, INDEX, LOCK};
use crate::fixity;
use crate::io::{Disk, is_gone, make_directory};

/// Maximum number of tries to initialize a volume: its directory may still be being emptied, so
/// that new files are removed again.
const REINITIALIZE_TRIES_MAX: u32 = 10;

/// Delay between two tries.
const REINITIALIZE_PAUSE: Duration = Duration::from_millis(50);

/// Why a volume could not be initialized, or its index not made, while it is open.
#[derive(Debug, thiserror::Error)]
enum InitializeError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("write the node's own files: {0}")]
    NodeFiles(io::Error),
    #[error(transparent)]
    Disk(#[from] io::Error),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Reconcile(#[from] VolumeError),
}

impl Inner {
    /// Puts the volume out of service and logs it. Returns the error for the operation that found
    /// the reason.
    pub(super) fn take_out_of_service(&self, reason: String) -> VolumeError {
        let out = VolumeError::Out {
            volume: self.id.clone(),
            detail: reason.clone(),
        };
        {
            let mut life = self.life.write();
            if matches!(life.state, VolumeState::Out(_)) {
                return out;
            }
            life.state = VolumeState::Out(reason.clone());
        }
        tracing::error!(volume = %self.id, path = %self.root.display(), reason, "volume taken out of service");
        self.fixity.detach(&self.id);
        let event = fixity::event("volume-out", &self.id, None, Cause::Request, reason);
        self.fixity.append(&event, true);
        out
    }

    /// Checks that the directory is still this volume. This is cheap: one `stat` of one name.
    pub(super) fn check_identity(&self) {
        match self.disk.stat(&self.root.join(IDENTITY)) {
            Ok(_) => {}
            Err(error) if is_gone(&error) => self.reinitialize(),
            Err(error) => {
                self.take_out_of_service(format!("look at {IDENTITY}: {error}"));
            }
        }
    }

    /// Checks, after a name was not found, that the directory is still this volume, and creates
    /// missing directories. A slow wipe can remove directories that the volume has just created.
    pub(super) fn check_directories(&self) -> io::Result<()> {
        self.check_identity();
        if matches!(self.life.read().state, VolumeState::Out(_)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        make_directories(self.disk.as_ref(), &self.root)
    }

    /// Returns a volume to service that was out because there was no room for the index, once there
    /// is room. Recreates the index.
    pub(super) fn return_to_service(&self) {
        if !self.life.read().index_full || self.require_room().is_err() {
            return;
        }
        let _guard = self.state_change.lock();
        let identity = self.life.read().identity.clone();
        let made = Index::create(&self.root.join(INDEX), &identity.incarnation)
            .map_err(InitializeError::from)
            .and_then(|index| {
                self.reconcile(&index)?;
                self.attach_fixity()?;
                Ok(index)
            });
        let index = match made {
            Ok(index) => Arc::new(index),
            Err(error) => {
                let error = error.to_string();
                tracing::error!(volume = %self.id, error, "the volume stays out of service");
                return;
            }
        };
        {
            let mut life = self.life.write();
            life.state = identity.state();
            life.index = index;
            life.index_full = false;
        }
        let detail = "there is room for the index again, which was made anew from the files";
        let event = fixity::event("volume-back", &self.id, None, Cause::Request, detail);
        self.fixity.append(&event, true);
    }

    /// Starts `Rebuilding`; the volume keeps its replicas.
    pub(super) fn start_rebuilding(&self, why: &str) -> Result<(), VolumeError> {
        let _guard = self.state_change.lock();
        self.index()?;
        let identity = Identity {
            rebuilding: true,
            ..self.life.read().identity.clone()
        };
        identity
            .write(self.disk.as_ref(), &self.root)
            .map_err(|error| self.sync_failed(&self.root.join(IDENTITY), &error))?;
        {
            let mut life = self.life.write();
            life.identity = identity;
            life.state = VolumeState::Rebuilding;
        }
        let event = fixity::event("volume-distrusted", &self.id, None, Cause::Request, why);
        self.fixity.append(&event, true);
        Ok(())
    }

    /// Ends `Rebuilding`: from now on "not found" is reliable.
    pub(super) fn finish_rebuilding(&self) -> Result<(), VolumeError> {
        let _guard = self.state_change.lock();
        self.index()?;
        let mut identity = self.life.read().identity.clone();
        if !identity.rebuilding {
            return Ok(());
        }
        self.write_node_files()
            .map_err(|error| self.failed("write the node's own files to finish rebuilding", &error))?;
        identity.rebuilding = false;
        identity
            .write(self.disk.as_ref(), &self.root)
            .map_err(|error| self.sync_failed(&self.root.join(IDENTITY), &error))?;
        {
            let mut life = self.life.write();
            life.identity = identity;
            if life.state == VolumeState::Rebuilding {
                life.state = VolumeState::InService;
            }
        }
        let event = fixity::event("volume-rebuilt", &self.id, None, Cause::Repair, "");
        self.fixity.append(&event, true);
        Ok(())
    }

    fn reinitialize(&self) {
        let _guard = self.state_change.lock();
        let is_out = matches!(self.life.read().state, VolumeState::Out(_));
        // Another thread may have initialized it meanwhile.
        if is_out || self.disk.stat(&self.root.join(IDENTITY)).is_ok() {
            return;
        }
        for left in (0..REINITIALIZE_TRIES_MAX).rev() {
            let same_place = self
                .disk
                .stat(&self.root)
                .is_ok_and(|found| found.is_dir && found.device == self.device);
            if !same_place {
                self.take_out_of_service(format!(
                    "{} is gone, or on another file system than when it was opened",
                    self.root.display()
                ));
                return;
            }
            match self.try_reinitialize() {
                Ok(()) => return,
                Err(reason) if left == 0 => {
                    self.take_out_of_service(format!("begin anew after {IDENTITY} was gone: {reason}"));
                }
                Err(reason) => {
                    let reason = reason.to_string();
                    tracing::warn!(volume = %self.id, reason, "the volume could not begin anew: it tries again");
                    system::pause(REINITIALIZE_PAUSE);
                }
            }
        }
    }

    fn try_reinitialize(&self) -> Result<(), InitializeError> {
        let lock = self.relock()?;
        make_directories(self.disk.as_ref(), &self.root)?;
        self.write_node_files().map_err(InitializeError::NodeFiles)?;
        self.disk.step("begin_anew.before_identity")?;
        let identity = Identity::new(&self.id, system::wall_ms(), true);
        identity.write(self.disk.as_ref(), &self.root)?;
        // An existing index belongs to another incarnation and is recreated.
        let index = Arc::new(Index::open(&self.root.join(INDEX), &identity.incarnation)?);
        self.known_dirs
            .iter()
            .for_each(|known| known.store(false, Ordering::Release));
        {
            let mut life = self.life.write();
            life.state = VolumeState::Rebuilding;
            life.identity = identity;
            life.index = index.clone();
            life.locks.extend(lock);
        }
        self.attach_fixity()?;
        let detail = format!("{IDENTITY} was gone while the volume was open: it begins anew, empty");
        let event = fixity::event("volume-wiped", &self.id, None, Cause::Request, detail);
        self.fixity.append(&event, true);
        // If only `volume.json` was removed, the replicas still exist.
        self.reconcile(&index)?;
        Ok(())
    }

    /// Locks the directory again, unless the held lock is still the one in it.
    fn relock(&self) -> Result<Option<File>, LockError> {
        let file = |found: std::fs::Metadata| (found.dev(), found.ino());
        let there = std::fs::metadata(self.root.join(LOCK)).ok().map(file);
        let held = {
            let life = self.life.read();
            life.locks.last().and_then(|lock| lock.metadata().ok()).map(file)
        };
        if there.is_some() && there == held {
            return Ok(None);
        }
        lock(&self.root).map(Some)
    }
}

/// Creates the missing directories of a volume durably.
pub(super) fn make_directories(disk: &dyn Disk, root: &Path) -> io::Result<()> {
    for name in DIRECTORIES {
        make_directory(disk, &root.join(name))?;
    }
    disk.sync_dir(root)
}
