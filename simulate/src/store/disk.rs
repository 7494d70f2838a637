//! A disk that loses unsynced changes at a power failure, fails on demand, and can stop its machine
//! at any operation.
//!
//! It works on the files of an in-memory directory and records everything that is not synced: file
//! content, and created, changed and removed names. [`Platter::crash`] decides at random which of
//! it is lost. Each start of the machine gets its own [`SimDisk`]; those of earlier starts no
//! longer work.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use store_testkit::Dice;
use volume::{Disk, DiskFile, RealDisk, Space, Stat};

use crate::Trace;

/// Capacity of every simulated disk, in bytes.
const CAPACITY_BYTES: u64 = 1 << 40;

/// Unit in which the system writes.
const PAGE_BYTES: u64 = 4096;

/// An injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The nth sync from now on fails.
    Sync(u64),
    /// The nth write from now on fails after writing a part.
    TornWrite(u64),
    /// The nth read from now on fails.
    Read(u64),
    /// Every write fails with a full disk.
    Full,
    /// Writes succeed, but almost no room is left.
    NearlyFull,
    /// The machine stops at the nth operation from now on.
    StopAt(u64),
    /// The machine stops when it passes this crash point.
    StopAtPoint(&'static str),
}

/// How a machine stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The process is killed: all its writes survive.
    Kill,
    /// The power fails: unsynced writes may be lost.
    Power,
}

/// A disk, shared by all starts of its machine.
#[derive(Clone)]
pub(super) struct Platter(Arc<Mutex<State>>);

/// The disk as seen by one start of the machine.
pub(super) struct SimDisk {
    platter: Platter,
    start: u64,
}

struct State {
    name: String,
    trace: Trace,
    dice: Dice,
    start: u64,
    is_on: bool,
    fault: Option<Fault>,
    /// Called when a fault stops the machine.
    stopped: Arc<dyn Fn() + Send + Sync>,
    /// Files with unsynced content.
    unsynced: BTreeMap<PathBuf, Arc<AtomicBool>>,
    /// Changes of names since the last sync of their directory, oldest first.
    names: Vec<Name>,
    /// Directory for files whose removal is not durable.
    aside: PathBuf,
    aside_count: u64,
}

/// An unsynced change of a directory.
enum Name {
    Created(PathBuf),
    Made(PathBuf),
    Renamed {
        from: PathBuf,
        to: PathBuf,
        replaced: Option<PathBuf>,
    },
    Removed {
        path: PathBuf,
        kept: PathBuf,
    },
}

struct SimFile {
    disk: SimDisk,
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    is_dirty: Arc<AtomicBool>,
}

impl Platter {
    /// Creates a disk. The directory `aside` holds removed files until their removal is durable.
    pub(super) fn new(name: &str, seed: u64, aside: PathBuf, trace: &Trace) -> Self {
        Self(Arc::new(Mutex::new(State {
            name: name.to_owned(),
            trace: trace.clone(),
            dice: Dice(seed),
            start: 0,
            is_on: false,
            fault: None,
            stopped: Arc::new(|| {}),
            unsynced: BTreeMap::new(),
            names: Vec::new(),
            aside,
            aside_count: 0,
        })))
    }

    /// Starts the machine. `stopped` is called when a fault stops it.
    pub(super) fn start(&self, stopped: impl Fn() + Send + Sync + 'static) -> Arc<SimDisk> {
        let mut state = self.0.lock();
        state.start += 1;
        state.is_on = true;
        state.stopped = Arc::new(stopped);
        Arc::new(SimDisk {
            platter: self.clone(),
            start: state.start,
        })
    }

    /// Injects a fault, or clears the present one.
    pub(super) fn inject(&self, fault: Option<Fault>) {
        self.0.lock().fault = fault;
    }

    /// Returns whether the machine is running.
    pub(super) fn is_on(&self) -> bool {
        self.0.lock().is_on
    }

    /// Stops the machine: every later call fails.
    pub(super) fn turn_off(&self) {
        self.0.lock().is_on = false;
    }

    /// Stops the machine and determines the state of the disk.
    pub(super) fn crash(&self, how: Stop) {
        let mut state = self.0.lock();
        state.is_on = false;
        state.fault = None;
        let names = std::mem::take(&mut state.names);
        let unsynced = std::mem::take(&mut state.unsynced);
        if how == Stop::Kill {
            // The system writes these changes at some later time, so the next power failure
            // decides.
            state.names = names;
            state.unsynced = unsynced;
            return;
        }
        state.unsynced = unsynced;
        for name in names.into_iter().rev() {
            if state.dice.roll(2) == 0 {
                state.undo(name);
            }
        }
        for (path, is_dirty) in std::mem::take(&mut state.unsynced) {
            if is_dirty.swap(false, Ordering::Relaxed) {
                state.lose_content(&path);
            }
        }
    }

    /// Flips one bit of a file.
    pub(super) fn flip(path: &Path, at: u64) -> io::Result<()> {
        use std::os::unix::fs::FileExt as _;
        let file = std::fs::File::options().read(true).write(true).open(path)?;
        let mut byte = [0];
        file.read_exact_at(&mut byte, at)?;
        byte[0] ^= 1 << (at % 8);
        file.write_all_at(&byte, at)
    }
}

impl State {
    /// Counts a fault down; returns whether it is due.
    fn is_due(&mut self, left_of: fn(Fault) -> Option<u64>, again: fn(u64) -> Fault) -> bool {
        let Some(left) = self.fault.and_then(left_of) else {
            return false;
        };
        self.fault = (left > 1).then(|| again(left - 1));
        if left <= 1 {
            let fault = format!("{:?}", again(0));
            let kind = fault.split('(').next().unwrap_or_default();
            self.trace.count(&format!("failed {kind}"));
        }
        left <= 1
    }

    fn undo(&mut self, name: Name) {
        self.trace.count("lost names");
        // A change may be in a directory that no longer exists, or may be overridden by a change
        // that was not undone.
        match name {
            Name::Created(path) => {
                self.unsynced.remove(&path);
                let _ = std::fs::remove_file(path);
            }
            Name::Made(path) => drop(std::fs::remove_dir_all(path)),
            Name::Renamed { from, to, replaced } => {
                if std::fs::rename(&to, &from).is_ok() {
                    self.moved(&to, &from);
                    if let Some(replaced) = replaced {
                        let _ = std::fs::rename(replaced, to);
                    }
                }
            }
            Name::Removed { path, kept } => {
                if !path.exists() && std::fs::rename(&kept, &path).is_ok() {
                    self.moved(&kept, &path);
                }
            }
        }
    }

    /// Loses a random part of an unsynced file.
    fn lose_content(&mut self, path: &Path) {
        let Ok(file) = std::fs::File::options().write(true).open(path) else {
            return;
        };
        let length = file.metadata().map_or(0, |found| found.len());
        self.trace.count("lost bytes of files");
        if self.dice.roll(2) == 0 {
            return self.lose_pages(&file, length);
        }
        let kept = match self.dice.roll(4) {
            0 => 0,
            1 => length,
            _ => self.dice.roll(length + 1),
        };
        // The length may reach the disk before the bytes, which are then zeros.
        let is_hole = self.dice.roll(3) == 0;
        let cut = file.set_len(kept);
        if is_hole && cut.is_ok() {
            let _ = file.set_len(length);
        }
    }

    /// Pages reach the disk in any order: some in the middle may be missing although the last one
    /// is there.
    fn lose_pages(&mut self, file: &std::fs::File, length: u64) {
        use std::os::unix::fs::FileExt as _;
        let first = self.dice.roll(length / PAGE_BYTES + 1);
        let pages = 1 + self.dice.roll(8);
        let (from, to) = (first * PAGE_BYTES, (first + pages) * PAGE_BYTES);
        let zeros = vec![0; to.min(length).saturating_sub(from) as usize];
        let _ = file.write_all_at(&zeros, from);
    }

    fn moved(&mut self, from: &Path, to: &Path) {
        if let Some(is_dirty) = self.unsynced.remove(from) {
            self.unsynced.insert(to.to_owned(), is_dirty);
        }
    }

    /// Moves a file aside, from where a power failure can restore it.
    fn put_aside(&mut self, path: &Path) -> io::Result<PathBuf> {
        self.aside_count += 1;
        let kept = self.aside.join(self.aside_count.to_string());
        std::fs::rename(path, &kept)?;
        self.moved(path, &kept);
        Ok(kept)
    }
}

impl SimDisk {
    /// Called at the start of every operation. The machine may stop here.
    fn begin(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.running()?;
        let left_of = |fault| match fault {
            Fault::StopAt(left) => Some(left),
            _ => None,
        };
        if state.is_due(left_of, Fault::StopAt) {
            return Err(Self::stop(state));
        }
        Ok(state)
    }

    fn running(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.platter.0.lock();
        if !state.is_on || state.start != self.start {
            return Err(io::Error::other("the machine is off"));
        }
        Ok(state)
    }

    fn stop(mut state: MutexGuard<'_, State>) -> io::Error {
        state.is_on = false;
        state.fault = None;
        let stopped = state.stopped.clone();
        // Without the lock, because the callback may use the disk.
        drop(state);
        stopped();
        io::Error::other("the machine stops")
    }

    fn begin_write(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.begin()?;
        if state.fault == Some(Fault::Full) {
            state.trace.count("failed Full");
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(state)
    }

    fn begin_sync(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.begin()?;
        let left_of = |fault| match fault {
            Fault::Sync(left) => Some(left),
            _ => None,
        };
        if state.is_due(left_of, Fault::Sync) {
            return Err(io::Error::other("the sync failed"));
        }
        Ok(state)
    }

    fn again(&self) -> Self {
        Self {
            platter: self.platter.clone(),
            start: self.start,
        }
    }
}

impl Disk for SimDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.begin_write()?;
        let file = RealDisk.create(path)?;
        let is_dirty = Arc::new(AtomicBool::new(true));
        state.unsynced.insert(path.to_owned(), is_dirty.clone());
        state.names.push(Name::Created(path.to_owned()));
        Ok(Arc::new(SimFile {
            disk: self.again(),
            path: path.to_owned(),
            file,
            is_dirty,
        }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let state = self.begin()?;
        let file = RealDisk.open(path)?;
        let is_dirty = state.unsynced.get(path).cloned().unwrap_or_default();
        Ok(Arc::new(SimFile {
            disk: self.again(),
            path: path.to_owned(),
            file,
            is_dirty,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.begin()?;
        // As in the system, an invalid call changes nothing.
        let is_file = |path: &Path| std::fs::symlink_metadata(path).map(|found| found.is_file());
        let replaced = if is_file(from)? && is_file(to).unwrap_or(false) {
            Some(state.put_aside(to)?)
        } else {
            None
        };
        RealDisk.rename(from, to)?;
        state.moved(from, to);
        state.names.push(Name::Renamed {
            from: from.to_owned(),
            to: to.to_owned(),
            replaced,
        });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.begin()?;
        if std::fs::symlink_metadata(path)?.is_dir() {
            return RealDisk.remove(path);
        }
        let kept = state.put_aside(path)?;
        let path = path.to_owned();
        state.names.push(Name::Removed { path, kept });
        Ok(())
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.begin_write()?;
        RealDisk.create_dir(path)?;
        state.names.push(Name::Made(path.to_owned()));
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.begin_sync()?;
        RealDisk.stat(path)?;
        state.names.retain(|name| {
            let (Name::Created(at)
            | Name::Made(at)
            | Name::Renamed { to: at, .. }
            | Name::Removed { path: at, .. }) = name;
            at.parent() != Some(path)
        });
        Ok(())
    }

    fn sync_all(&self, _path: &Path) -> io::Result<()> {
        let mut state = self.begin_sync()?;
        state.names.clear();
        for (_, is_dirty) in std::mem::take(&mut state.unsynced) {
            is_dirty.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        drop(self.begin()?);
        let mut names = RealDisk.list(path)?;
        // The order of the system is not determined by the seed.
        names.sort();
        Ok(names)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        drop(self.begin()?);
        RealDisk.stat(path)
    }

    fn space(&self, _path: &Path) -> io::Result<Space> {
        let is_short = matches!(self.begin()?.fault, Some(Fault::NearlyFull | Fault::Full));
        Ok(Space {
            capacity_bytes: CAPACITY_BYTES,
            free_bytes: if is_short { 1 << 20 } else { CAPACITY_BYTES / 2 },
        })
    }

    fn step(&self, name: &'static str) -> io::Result<()> {
        let state = self.running()?;
        state.trace.count(&format!("passed {name}"));
        if state.fault == Some(Fault::StopAtPoint(name)) {
            state.trace.line(format_args!("{} stops at {name}", state.name));
            state.trace.count(&format!("crashed at {name}"));
            return Err(Self::stop(state));
        }
        Ok(())
    }
}

impl DiskFile for SimFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.disk.begin_write()?;
        if !self.is_dirty.swap(true, Ordering::Relaxed) {
            // Registered under the name at its creation, although it may have changed since; only
            // new files are written.
            state.unsynced.insert(self.path.clone(), self.is_dirty.clone());
        }
        let left_of = |fault| match fault {
            Fault::TornWrite(left) => Some(left),
            _ => None,
        };
        if state.is_due(left_of, Fault::TornWrite) {
            let arrived = state.dice.roll(bytes.len() as u64 + 1) as usize;
            self.file.write_at(&bytes[..arrived], offset)?;
            return Err(io::Error::other("the write failed"));
        }
        self.file.write_at(bytes, offset)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let mut state = self.disk.begin()?;
        let left_of = |fault| match fault {
            Fault::Read(left) => Some(left),
            _ => None,
        };
        if state.is_due(left_of, Fault::Read) {
            return Err(io::Error::other("the read failed"));
        }
        self.file.read_at(bytes, offset)
    }

    fn stat(&self) -> io::Result<Stat> {
        drop(self.disk.begin()?);
        self.file.stat()
    }

    fn sync(&self) -> io::Result<()> {
        drop(self.disk.begin_sync()?);
        self.is_dirty.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn forget_cached(&self) {}
}
