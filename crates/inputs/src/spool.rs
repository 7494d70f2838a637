//! A copy of an input, made while it is digested and read while it is loaded, so that the input
//! crosses the network only once.
//!
//! All copies of a load together take at most [`SPOOL_BYTES_MAX`] and a quarter of the free space
//! of the archive's disk. An input for which there is no space is read twice. A copy is an unnamed
//! file, so it disappears after its use, or with the process.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use warc::Input;

/// Limit of the total size of all copies of a load, in bytes.
const SPOOL_BYTES_MAX: u64 = 4 << 30;

/// Space for copies, shared by all inputs of a load.
pub struct SpoolRoom {
    folder: PathBuf,
    taken: Arc<AtomicU64>,
}

impl SpoolRoom {
    /// Uses the free space of `folder`.
    pub fn new(folder: &Path) -> SpoolRoom {
        SpoolRoom {
            folder: folder.to_owned(),
            taken: Arc::default(),
        }
    }

    /// Begins a copy of `size` bytes. Returns `None` if there is no space or no file can be
    /// created.
    pub fn begin(&self, size: u64) -> Option<Spool> {
        let disk = rustix::fs::statvfs(&self.folder).ok()?;
        let room = SPOOL_BYTES_MAX.min(disk.f_bavail.saturating_mul(disk.f_frsize) / 4);
        let fits = |taken: u64| taken.checked_add(size).filter(|sum| *sum <= room);
        self.taken.fetch_update(Relaxed, Relaxed, fits).ok()?;
        let share = Share {
            taken: self.taken.clone(),
            bytes: size,
        };
        let file = tempfile::tempfile_in(&self.folder).ok()?;
        Some(Spool { file, _share: share })
    }
}

/// A copy, complete or being written.
pub struct Spool {
    file: File,
    _share: Share,
}

struct Share {
    taken: Arc<AtomicU64>,
    bytes: u64,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.bytes, Relaxed);
    }
}

impl Spool {
    /// Appends a piece of the input.
    pub fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)
    }
}

impl Input for Spool {
    fn size(&self) -> io::Result<u64> {
        Input::size(&self.file)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        Input::read_at(&self.file, into, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_given_back() {
        let root = tempfile::tempdir().unwrap();
        let room = SpoolRoom::new(root.path());
        let mut copy = room.begin(3).unwrap();
        copy.push(b"abc").unwrap();
        let mut read = [0; 2];
        assert_eq!(
            (copy.size().unwrap(), copy.read_at(&mut read, 1).unwrap()),
            (3, 2)
        );
        assert_eq!((&read, room.taken.load(Relaxed)), (b"bc", 3));
        assert!(room.begin(SPOOL_BYTES_MAX).is_none());
        drop(copy);
        assert_eq!(room.taken.load(Relaxed), 0);
    }
}
