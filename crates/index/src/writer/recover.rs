//! Reopens an index in the same process after it refused writes, for example when a full disk has
//! space again.
//!
//! Invariants:
//! - The engine is released only when it has no readers, and only if there is space for opening it.
//! - Readers see the last published epoch until then, and the state on disk after the new opening:
//!   the epoch whose commit failed is there completely or not at all.
//! - If opening fails, reads fail with the reason, and the next call tries again.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLockWriteGuard;

use super::{Index, Inner, Writer};
use crate::cut::Cut;
use crate::directory;
use crate::error::{ApplyError, OpenError, probe_disk_full};
use crate::snapshot::Snapshot;

/// How long to wait for readers to end.
const READERS_TIME_MAX: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

/// How long to wait for the engine's threads.
const RELEASE_TIME_MAX: Duration = Duration::from_secs(10);

/// Time between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

impl Index {
    /// Returns why the index refuses writes, if it does.
    pub fn refuses_writes(&self) -> Option<String> {
        self.inner.poisoned.read().clone()
    }

    /// Opens the index again if it refuses writes.
    ///
    /// # Errors
    /// [`ApplyError::DiskFull`] while there is no space, [`ApplyError::Read`] if a reader takes too
    /// long; these change nothing. After another error reads fail too, until a later call succeeds.
    pub fn recover(&self) -> Result<(), ApplyError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        let Some(since) = self.refuses_writes() else {
            return Ok(());
        };
        let dir = || inner.dir.display().to_string();
        if probe_disk_full(&inner.dir) {
            return Err(ApplyError::DiskFull { dir: dir() });
        }
        // The lock order everywhere: writer, then published, then poisoned.
        let mut published = inner
            .without_readers(&writer)
            .ok_or_else(|| ApplyError::Read { dir: dir() })?;
        // The engine allows one opening of a directory, so all handles must be dropped first.
        *published = Snapshot::new(&inner.dir, Cut::closed(&since), writer.totals.clone());
        writer.tables = None;
        let (now, snapshot) = inner.open_again().map_err(|error| match error {
            OpenError::DiskFull { dir } => ApplyError::DiskFull { dir },
            error => ApplyError::Engine {
                doing: "reopen",
                dir: dir(),
                detail: error.to_string(),
            },
        })?;
        (*writer, *published) = (now, snapshot);
        *inner.poisoned.write() = None;
        tracing::info!(dir = %inner.dir.display(), since, "the index was reopened");
        Ok(())
    }
}

impl Inner {
    /// Waits until the last reader has ended and keeps new ones out; `None` after a timeout.
    pub(super) fn without_readers(&self, writer: &Writer) -> Option<RwLockWriteGuard<'_, Snapshot>> {
        let deadline = system::now() + READERS_TIME_MAX;
        loop {
            let published = self.published.write();
            // If open, the tables are held by the writer and by the published snapshot.
            let is_free = |tables: &Arc<_>| Arc::strong_count(tables) == 2 && published.is_unshared();
            if writer.tables.as_ref().is_none_or(is_free) {
                return Some(published);
            }
            // Readers hold a clone of the snapshot, not this lock. New readers may start between
            // two attempts.
            drop(published);
            if system::now() >= deadline {
                return None;
            }
            system::pause(RETRY_INTERVAL);
        }
    }

    pub(super) fn open_again(&self) -> Result<(Writer, Snapshot), OpenError> {
        let deadline = system::now() + RELEASE_TIME_MAX;
        let tables = loop {
            match directory::open(&self.dir, Some(self.link_scope), &self.settings) {
                // An iterator that outlived its snapshot still holds the engine.
                Err(OpenError::Locked { .. }) if system::now() < deadline => {
                    system::pause(RETRY_INTERVAL);
                }
                opened => break opened?.0,
            }
        };
        Ok(Writer::read(&self.dir, tables)?)
    }
}
