//! The state of one incarnation of a volume: its identity, its index, and the locks of its
//! directory.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use store_protocol::VolumeState;

use super::identity::Identity;
use super::index::Index;
use super::names::LOCK;

/// The state of an open volume and of its incarnation.
pub(super) struct Life {
    pub(super) state: VolumeState,
    pub(super) identity: Identity,
    pub(super) index: Arc<Index>,
    /// Whether it went out of service because the disk had no room for the index.
    pub(super) index_full: bool,
    /// Locks held while the volume is open. It takes another one when it is initialized in a new
    /// directory.
    pub(super) locks: Vec<File>,
}

/// Why the directory of a volume cannot be locked.
#[derive(Debug, thiserror::Error)]
pub(super) enum LockError {
    /// Another process holds the lock.
    #[error("another process has it open")]
    Held,
    /// The lock file cannot be opened or locked.
    #[error("lock {LOCK}: {0}")]
    Failed(#[from] io::Error),
}

/// How long to wait for a lock held by another process. A process forked while a volume was closed
/// holds a copy of its lock for some milliseconds, until exec.
const LOCK_WAIT_MAX: Duration = Duration::from_millis(500);

/// Locks the directory of a volume for this process.
#[expect(
    clippy::disallowed_methods,
    reason = "a lock belongs to the process and is not stored"
)]
pub(super) fn lock(root: &Path) -> Result<File, LockError> {
    let file = system::private::file()
        .create(true)
        .truncate(false)
        .write(true)
        .open(root.join(LOCK))?;
    let end = system::now() + LOCK_WAIT_MAX;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::WouldBlock) if system::now() < end => {
                system::pause(Duration::from_millis(10));
            }
            Err(std::fs::TryLockError::WouldBlock) => return Err(LockError::Held),
            Err(std::fs::TryLockError::Error(error)) => return Err(error.into()),
        }
    }
}
