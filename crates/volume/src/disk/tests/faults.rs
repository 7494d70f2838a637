//! A disk with injected faults, which loses unsynced changes at a power failure.
//!
//! It works on real files and records everything that is not synced: file content, renames,
//! removals and new directories. [`FaultyDisk::cut_power`] undoes each of these at random.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::support::wipe;
use crate::io::{Disk, DiskFile, RealDisk, Space, Stat};

/// The next fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The nth sync of a file or directory from now on fails.
    Sync(u32),
    /// The volume's directory is emptied just before the nth sync of a directory from now on.
    Wipe(u32),
    /// The nth write from now on fails after writing a part.
    TornWrite(u32),
    /// Every write fails with a full disk.
    Full,
    /// Writes succeed, but almost no room is left.
    NearlyFull,
    /// The nth durable step from now on is the last one: every later call fails.
    Crash(u32),
}

/// The disk. Clones share it.
#[derive(Clone)]
pub(super) struct FaultyDisk(Arc<Mutex<Platter>>);

struct Platter {
    /// The directory of the volume.
    root: PathBuf,
    random: StdRng,
    fault: Option<Fault>,
    dead: bool,
    /// Files with unsynced content.
    unsynced: HashMap<PathBuf, Arc<AtomicBool>>,
    /// Changes of names since the last sync of their directory, oldest first.
    names: Vec<Name>,
    /// Directory for files whose removal is not durable.
    removed: tempfile::TempDir,
    removed_count: u64,
}

/// An unsynced change of a directory.
enum Name {
    Renamed { from: PathBuf, to: PathBuf },
    Removed { path: PathBuf, kept: PathBuf },
    Made { path: PathBuf },
}

struct FaultyFile {
    disk: FaultyDisk,
    file: Arc<dyn DiskFile>,
    dirty: Arc<AtomicBool>,
}

impl FaultyDisk {
    /// Creates a disk without faults. Removed files are kept next to `root`, on the same file
    /// system.
    pub(super) fn new(seed: u64, root: &Path) -> Self {
        Self(Arc::new(Mutex::new(Platter {
            root: root.to_owned(),
            random: StdRng::seed_from_u64(seed),
            fault: None,
            dead: false,
            unsynced: HashMap::new(),
            names: Vec::new(),
            removed: tempfile::tempdir_in(root.parent().unwrap()).unwrap(),
            removed_count: 0,
        })))
    }

    pub(super) fn inject(&self, fault: Option<Fault>) {
        self.0.lock().fault = fault;
    }

    /// Returns the pending fault.
    pub(super) fn fault(&self) -> Option<Fault> {
        self.0.lock().fault
    }

    /// Returns whether a crash has happened.
    pub(super) fn is_dead(&self) -> bool {
        self.0.lock().dead
    }

    /// Makes every call fail until the power returns.
    pub(super) fn die(&self) {
        self.0.lock().dead = true;
    }

    /// Restarts after a kill: everything is as the killed process left it.
    pub(super) fn go_on(&self) {
        let mut platter = self.0.lock();
        platter.fault = None;
        platter.dead = false;
    }

    /// Restarts after a power failure: each unsynced change is kept or lost at random.
    pub(super) fn cut_power(&self) {
        let mut platter = self.0.lock();
        while let Some(name) = platter.names.pop() {
            if platter.random.random_bool(0.5) {
                platter.undo(name);
            }
        }
        for (path, dirty) in std::mem::take(&mut platter.unsynced) {
            if dirty.load(Ordering::Relaxed)
                && let Ok(file) = std::fs::File::options().write(true).open(path)
            {
                let length = file.metadata().unwrap().len();
                file.set_len(platter.random.random_range(0..=length)).unwrap();
            }
        }
        platter.fault = None;
        platter.dead = false;
    }

    fn alive(&self) -> io::Result<parking_lot::MutexGuard<'_, Platter>> {
        let platter = self.0.lock();
        if platter.dead {
            return Err(io::Error::other("the machine has crashed"));
        }
        Ok(platter)
    }

    fn open_file(&self, path: &Path, file: Arc<dyn DiskFile>, is_new: bool) -> Arc<dyn DiskFile> {
        let dirty = Arc::new(AtomicBool::new(is_new));
        if is_new {
            self.0.lock().unsynced.insert(path.to_owned(), dirty.clone());
        }
        Arc::new(FaultyFile {
            disk: self.clone(),
            file,
            dirty,
        })
    }
}

impl Platter {
    /// Counts a fault down; returns true when it is due.
    fn due(&mut self, is_kind: fn(Fault) -> Option<u32>, again: fn(u32) -> Fault) -> bool {
        let Some(left) = self.fault.and_then(is_kind) else {
            return false;
        };
        self.fault = (left > 1).then(|| again(left - 1));
        left <= 1
    }

    fn sync(&mut self) -> io::Result<()> {
        let is_sync = |fault| match fault {
            Fault::Sync(left) => Some(left),
            _ => None,
        };
        if self.due(is_sync, Fault::Sync) {
            return Err(io::Error::other("injected: sync failed"));
        }
        Ok(())
    }

    fn undo(&mut self, name: Name) {
        // A change may be in a directory that no longer exists, or may be overridden by a later
        // change that was not undone.
        match name {
            Name::Renamed { from, to } => {
                if std::fs::rename(&to, &from).is_ok()
                    && let Some(dirty) = self.unsynced.remove(&to)
                {
                    self.unsynced.insert(from, dirty);
                }
            }
            Name::Removed { path, kept } => drop(std::fs::rename(kept, path)),
            Name::Made { path } => drop(std::fs::remove_dir_all(path)),
        }
    }
}

impl Disk for FaultyDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        if self.alive()?.fault == Some(Fault::Full) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(self.open_file(path, RealDisk.create(path)?, true))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        drop(self.alive()?);
        Ok(self.open_file(path, RealDisk.open(path)?, false))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut platter = self.alive()?;
        let replaces = to.exists();
        RealDisk.rename(from, to)?;
        if let Some(dirty) = platter.unsynced.remove(from) {
            platter.unsynced.insert(to.to_owned(), dirty);
        }
        if !replaces {
            platter.names.push(Name::Renamed {
                from: from.to_owned(),
                to: to.to_owned(),
            });
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut platter = self.alive()?;
        platter.removed_count += 1;
        let kept = platter.removed.path().join(platter.removed_count.to_string());
        RealDisk.rename(path, &kept)?;
        let path = path.to_owned();
        platter.names.push(Name::Removed { path, kept });
        Ok(())
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut platter = self.alive()?;
        RealDisk.create_dir(path)?;
        platter.names.push(Name::Made {
            path: path.to_owned(),
        });
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut platter = self.alive()?;
        platter.sync()?;
        let is_wipe = |fault| match fault {
            Fault::Wipe(left) => Some(left),
            _ => None,
        };
        if platter.due(is_wipe, Fault::Wipe) {
            wipe(&platter.root);
        }
        RealDisk.stat(path)?;
        platter.names.retain(|name| {
            let (Name::Renamed { to: at, .. } | Name::Removed { path: at, .. } | Name::Made { path: at }) =
                name;
            at.parent() != Some(path)
        });
        Ok(())
    }

    fn sync_all(&self, _path: &Path) -> io::Result<()> {
        let mut platter = self.alive()?;
        platter.sync()?;
        platter.names.clear();
        platter.unsynced.clear();
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        drop(self.alive()?);
        RealDisk.list(path)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        drop(self.alive()?);
        RealDisk.stat(path)
    }

    fn space(&self, _path: &Path) -> io::Result<Space> {
        let is_short = self.alive()?.fault == Some(Fault::NearlyFull);
        let (capacity_bytes, free_bytes) = (1 << 40, if is_short { 1 << 20 } else { 1 << 39 });
        Ok(Space {
            capacity_bytes,
            free_bytes,
        })
    }

    fn step(&self, name: &'static str) -> io::Result<()> {
        let mut platter = self.alive()?;
        let is_crash = |fault| match fault {
            Fault::Crash(left) => Some(left),
            _ => None,
        };
        if platter.due(is_crash, Fault::Crash) {
            platter.dead = true;
            return Err(io::Error::other(format!("injected: crash at {name}")));
        }
        Ok(())
    }
}

impl DiskFile for FaultyFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut platter = self.disk.alive()?;
        if platter.fault == Some(Fault::Full) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.dirty.store(true, Ordering::Relaxed);
        let is_torn = |fault| match fault {
            Fault::TornWrite(left) => Some(left),
            _ => None,
        };
        if platter.due(is_torn, Fault::TornWrite) {
            let arrived = platter.random.random_range(0..=bytes.len());
            self.file.write_at(&bytes[..arrived], offset)?;
            return Err(io::Error::other("injected: write failed"));
        }
        self.file.write_at(bytes, offset)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        drop(self.disk.alive()?);
        self.file.read_at(bytes, offset)
    }

    fn stat(&self) -> io::Result<Stat> {
        drop(self.disk.alive()?);
        self.file.stat()
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.alive()?.sync()?;
        self.dirty.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn forget_cached(&self) {}
}
