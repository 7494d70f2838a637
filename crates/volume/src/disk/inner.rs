//! The state of an open volume, and its error handling.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard, RwLock};
use store_protocol::{Cause, Key, Meta, PARTITIONS, Partition, Version, VolumeError, VolumeId, VolumeState};
use system::Broken;
use tokio::sync::Semaphore;

use super::index::{Index, IndexError};
use super::life::Life;
use super::names::KeyHash;
use super::settings::{DiskSettings, NodeFilesWriter};
use super::tables::Tables;
use super::uploads::Uploads;
use crate::fixity;
use crate::fixity::FixityLog;
use crate::group::Grouped;
use crate::io::{Disk, is_gone};

/// Number of key locks. Keys share a lock by hash; there are more locks than threads that can hold
/// one.
const KEY_LOCKS: usize = 1024;

/// Maximum number of threads waiting for one volume. The process has 512 in total, and one hanging
/// disk must not block the others.
const THREADS_MAX: usize = 64;

/// The error of a failed sync, for each caller that shared it.
pub(super) type SyncError = (io::ErrorKind, String);

/// An open volume.
pub(super) struct Inner {
    pub(super) id: VolumeId,
    pub(super) root: PathBuf,
    pub(super) fixity: Arc<FixityLog>,
    pub(super) disk: Arc<dyn Disk>,
    write_node_files: Option<NodeFilesWriter>,
    /// Device number of the directory when it was opened.
    pub(super) device: u64,
    pub(super) life: RwLock<Life>,
    /// Held during a state change of the volume.
    pub(super) state_change: Mutex<()>,
    pub(super) uploads: Uploads,
    pub(super) tables: Tables,
    key_locks: Box<[Mutex<()>]>,
    /// By partition: renames into a directory share its sync.
    pub(super) dir_syncs: Box<[Grouped<(), Result<(), SyncError>>]>,
    /// By partition: whether its directory exists durably.
    pub(super) known_dirs: Box<[AtomicBool]>,
    /// Permits for threads waiting for this disk.
    pub(super) threads: Arc<Semaphore>,
    /// For the fixity log, which calls back if the copy here cannot be synced.
    me: Weak<Self>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.fixity.detach(&self.id);
    }
}

/// Runs `work` on a thread that may wait for the disk.
pub(super) async fn blocking<T: Send + 'static>(
    inner: Arc<Inner>,
    work: impl FnOnce(&Arc<Inner>) -> Result<T, VolumeError> + Send + 'static,
) -> Result<T, VolumeError> {
    let volume = inner.id.clone();
    // The permit is acquired before the thread: a caller waiting for a slow disk must not occupy a
    // thread.
    let permit = inner.threads.clone().acquire_owned().await;
    let working = move || {
        let result = work(&inner);
        drop(inner);
        drop(permit);
        result
    };
    match system::blocking(working).await {
        Ok(result) => result,
        Err(error) => Err(VolumeError::Failed {
            volume,
            detail: format!("an operation ended without a result: {error}"),
        }),
    }
}

impl Inner {
    pub(super) fn new(settings: DiskSettings, device: u64, life: Life) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            id: settings.id,
            root: settings.path,
            fixity: settings.fixity,
            disk: settings.disk,
            write_node_files: settings.write_node_files,
            device,
            life: RwLock::new(life),
            state_change: Mutex::new(()),
            uploads: Uploads::default(),
            tables: Tables::default(),
            key_locks: (0..KEY_LOCKS).map(|_| Mutex::new(())).collect(),
            dir_syncs: (0..PARTITIONS).map(|_| Grouped::default()).collect(),
            known_dirs: (0..PARTITIONS).map(|_| AtomicBool::new(false)).collect(),
            threads: Arc::new(Semaphore::new(THREADS_MAX)),
            me: me.clone(),
        })
    }

    /// Writes the files that the node keeps in the directory of each of its volumes.
    pub(super) fn write_node_files(&self) -> io::Result<()> {
        self.write_node_files
            .as_ref()
            .map_or(Ok(()), |furnish| furnish(&self.root))
    }

    /// Attaches the copy of the fixity log on this volume.
    pub(super) fn attach_fixity(&self) -> io::Result<()> {
        let me = self.me.clone();
        let path = self.root.join(crate::fixity::FIXITY);
        let sync_failed = move |error: &io::Error| {
            if let Some(inner) = me.upgrade() {
                inner.sync_failed(&path, error);
            }
        };
        self.fixity.attach(&self.id, &self.root, Box::new(sync_failed))
    }

    /// Locks a key against concurrent changes. Not re-entrant.
    pub(super) fn key_lock(&self, hash: &KeyHash) -> MutexGuard<'_, ()> {
        // These bytes are independent of the partition: keys in one directory must be able to share
        // a sync, so they must not contend for one lock.
        let number = usize::from(u16::from_be_bytes([hash[14], hash[15]]));
        self.key_locks[number % KEY_LOCKS].lock()
    }

    /// Returns the index if the volume is in service.
    pub(super) fn index(&self) -> Result<Arc<Index>, VolumeError> {
        let life = self.life.read();
        match &life.state {
            VolumeState::Out(reason) => Err(VolumeError::Out {
                volume: self.id.clone(),
                detail: reason.clone(),
            }),
            VolumeState::InService | VolumeState::Rebuilding => Ok(life.index.clone()),
        }
    }

    /// Writes an event about a replica of this volume to the fixity log.
    pub(super) fn log(
        &self,
        event: &str,
        key: &Key,
        version: Version,
        cause: Cause,
        detail: &str,
        sync: bool,
    ) {
        let event = fixity::event(event, &self.id, Some((key, version)), cause, detail);
        self.fixity.append(&event, sync);
    }

    /// Makes the names in the directory of a partition durable. Concurrent calls share a sync.
    pub(super) fn sync_partition(&self, partition: Partition) -> Result<(), VolumeError> {
        let dir = super::names::partition_dir(&self.root, partition);
        let work = |batch: Vec<()>| {
            let result = self
                .disk
                .sync_dir(&dir)
                .map_err(|error| (error.kind(), error.to_string()));
            vec![result; batch.len()]
        };
        let Some(group) = self.dir_syncs.get(usize::from(partition.0)) else {
            return Err(self.failed(
                "sync",
                &io::Error::other(format!("there is no partition {}", partition.0)),
            ));
        };
        match group.run((), work) {
            Some(Ok(())) => Ok(()),
            Some(Err((kind, error))) => Err(self.sync_failed(&dir, &io::Error::new(kind, error))),
            None => Err(self.sync_failed(&dir, &io::Error::other("the thread that synced panicked"))),
        }
    }

    /// Returns the error of a failed file operation; its kind tells the caller how to proceed. A
    /// read-only file system puts the volume out of service.
    pub(super) fn failed(&self, what: impl Display, error: &io::Error) -> VolumeError {
        let volume = self.id.clone();
        let detail = format!("{what}: {error}");
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => VolumeError::Full { volume, detail },
            io::ErrorKind::ReadOnlyFilesystem => self.take_out_of_service(detail),
            _ => VolumeError::Failed { volume, detail },
        }
    }

    /// Puts the volume out of service after a failed sync: earlier writes cannot be trusted.
    ///
    /// If the path is gone, no sync took place: the directory is being emptied, or its disk was
    /// unmounted. [`Inner::check_identity`] later determines which. Only this operation fails.
    pub(super) fn sync_failed(&self, path: &Path, error: &io::Error) -> VolumeError {
        let what = format!("sync {}", path.display());
        if is_gone(error) {
            self.failed(what, error)
        } else {
            self.take_out_of_service(format!("{what}: {error}"))
        }
    }

    /// Puts the volume out of service after an index error: the engine accepts no writes until it
    /// is reopened. If the disk was full, housekeeping recreates the index once there is room.
    pub(super) fn index_failed(&self, error: &IndexError) -> VolumeError {
        if error.full {
            self.life.write().index_full = true;
        }
        self.take_out_of_service(error.to_string())
    }

    /// Puts the volume out of service after a violated invariant, because its writes cannot be
    /// trusted. Other replicas stay available.
    pub(super) fn broken(&self, broken: &Broken) -> VolumeError {
        self.take_out_of_service(broken.to_string())
    }

    /// Returns the error for a version that is not on this volume.
    pub(super) fn missing(&self, what: impl Display) -> VolumeError {
        VolumeError::Missing {
            volume: self.id.clone(),
            what: what.to_string(),
        }
    }

    /// Returns the error for content or a file with an unexpected value.
    pub(super) fn corrupt(
        &self,
        what: impl Display,
        found: impl Display,
        expected: impl Display,
    ) -> VolumeError {
        VolumeError::Corrupt {
            volume: self.id.clone(),
            what: what.to_string(),
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }
}

/// Returns the name of a version for messages.
pub(super) fn named(meta: &Meta) -> String {
    format!("{} at version {}", meta.key, meta.version)
}
