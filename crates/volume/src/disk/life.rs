//! What belongs to one incarnation of a volume: its state, its identity, its index, and the locks of its
//! directory.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use contract::VolumeState;

use super::identity::Identity;
use super::index::Index;
use super::names::LOCK;

/// The state of an open volume and what belongs to its incarnation.
pub(super) struct Life {
    pub(super) state: VolumeState,
    pub(super) identity: Identity,
    pub(super) index: Arc<Index>,
    /// Whether it is out of service because there was no room for the index.
    pub(super) index_full: bool,
    /// Locks held as long as the volume is open: it gets another one when it begins anew in a new directory.
    pub(super) locks: Vec<File>,
}

/// Why a volume's directory cannot be locked.
#[derive(Debug, thiserror::Error)]
pub(super) enum LockError {
    /// Another process holds the lock.
    #[error("another process has it open")]
    Held,
    /// The lock file cannot be opened or locked.
    #[error("lock {LOCK}: {0}")]
    Failed(#[from] io::Error),
}

/// How long to wait for a lock that another process holds. A process that was forked when a volume was closed
/// has a copy of its lock for some milliseconds, until it runs its program.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);

/// Locks a volume's directory for this process.
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
    let end = system::now() + LOCK_PATIENCE;
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
