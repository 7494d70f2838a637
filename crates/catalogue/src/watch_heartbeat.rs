//! Liveness of a watch: a file in the catalogue's folder that is locked while its process lives.
//!
//! The system releases the lock when the process ends, in whatever way. The file records which
//! watch holds it and the time until which its trees were up to date. It is not synced: after a
//! machine crash the rows of the catalogue, which are synced, give an earlier time.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use crate::error::CatalogueError;

const NAME: &str = "watching";

/// The lock of the running watch.
pub(crate) struct WatchHeartbeat {
    file: File,
    watch_ms: i64,
}

/// Contents of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Beat {
    /// Whether the process is alive.
    pub(crate) is_held: bool,
    pub(crate) watch_ms: i64,
    pub(crate) at_ms: i64,
}

/// Retries of the lock: readers hold it for a moment to test it.
const TRIES: u32 = 20;

impl Drop for WatchHeartbeat {
    fn drop(&mut self) {
        // Closing the file is not enough: a forked child of another thread holds a copy of the
        // descriptor until it calls exec.
        if let Err(error) = self.file.unlock() {
            tracing::debug!(%error, "cannot unlock the watch");
        }
    }
}

impl WatchHeartbeat {
    /// Returns whether a watch of the catalogue in `dir` is running, in this or another process.
    pub(crate) fn is_running(dir: &Path) -> bool {
        WatchHeartbeat::read(dir).is_some_and(|beat| beat.is_held)
    }

    /// Takes the lock; `None` while another process holds it.
    pub(crate) fn take(dir: &Path, watch_ms: i64) -> Result<Option<WatchHeartbeat>, CatalogueError> {
        let path = dir.join(NAME);
        let failed = |error| CatalogueError::io("lock", &path, error);
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false);
        let file = file.open(&path).map_err(failed)?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(Some(WatchHeartbeat { file, watch_ms })),
                Err(TryLockError::WouldBlock) => system::pause(Duration::from_millis(10)),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        Ok(None)
    }

    /// Records the time until which all trees are up to date.
    pub(crate) fn beat(&mut self, at_ms: i64) {
        // Fixed length, so that one write replaces the previous one.
        let line = format!("{:020} {at_ms:020}\n", self.watch_ms);
        let written = self
            .file
            .rewind()
            .and_then(|()| self.file.write_all(line.as_bytes()));
        if let Err(error) = written {
            // Harmless: readers see an earlier time.
            tracing::debug!(%error, "cannot record the time of the watch");
        }
    }

    /// Returns the contents of the file of a catalogue; `None` if no watch ever ran.
    pub(crate) fn read(dir: &Path) -> Option<Beat> {
        let mut file = File::open(dir.join(NAME)).ok()?;
        let is_held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let mut line = String::new();
        file.read_to_string(&mut line).ok()?;
        let (watch, at) = line.trim_end().split_once(' ')?;
        Some(Beat {
            is_held,
            watch_ms: watch.parse().ok()?,
            at_ms: at.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_says_whether_its_watch_lives() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(WatchHeartbeat::read(dir.path()), None);
        let mut alive = WatchHeartbeat::take(dir.path(), 5).unwrap().unwrap();
        alive.beat(7);
        assert!(WatchHeartbeat::take(dir.path(), 6).unwrap().is_none());
        let beat = |is_held, at_ms| Beat {
            is_held,
            watch_ms: 5,
            at_ms,
        };
        assert_eq!(WatchHeartbeat::read(dir.path()), Some(beat(true, 7)));
        alive.beat(1_700_000_000_000);
        drop(alive);
        assert_eq!(
            WatchHeartbeat::read(dir.path()),
            Some(beat(false, 1_700_000_000_000))
        );
        assert!(WatchHeartbeat::take(dir.path(), 6).unwrap().is_some());
    }
}
