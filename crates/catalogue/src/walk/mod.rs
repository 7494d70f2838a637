//! The walk: several threads read directories and steal work from each other.
//!
//! Invariants:
//!  - Every open uses a single name below an open directory, so no path is too long, and no
//!    symbolic link is followed.
//!  - Each thread works on the newest directory that it has found. So the pending directories are
//!    the siblings along one path from the root. A large directory is read in pieces, and the
//!    directories found in each piece are read before the next one.
//!  - Names are passed on in pieces; the last piece of a directory gives their number.

mod mounts;
mod open;
mod syscalls;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

use crossbeam_deque::{Injector, Steal, Stealer, Worker};
use parking_lot::{Condvar, Mutex};
use pipeline::StageRow;
use rustix::io::Errno;

pub(crate) use mounts::Mounts;
pub(crate) use open::{Handle, Handles};
pub(crate) use syscalls::{FileStat, stat_at, target_of};

use crate::attributes::{FileId, Kind};
use crate::objects::shown_name;
use crate::rows::Stamp;

/// Number of names after which the rest of a directory waits.
const PIECE_NAMES: usize = 4096;

/// A directory on the path from the root to the names being read.
#[derive(Debug)]
pub(crate) struct Dir {
    pub(crate) parent: Option<Arc<Dir>>,
    pub(crate) name: Box<[u8]>,
    pub(crate) id: FileId,
    pub(crate) device: u64,
    /// Its times before its names were read.
    pub(crate) stamp: Stamp,
    /// Number of directories between it and the root.
    pub(crate) depth: usize,
    /// Number of the visit, unique within a walk.
    pub(crate) visit: u64,
}

impl Dir {
    /// Returns its path below the root, without leading or trailing slash.
    pub(crate) fn path(&self) -> Vec<u8> {
        let mut names = Vec::new();
        let mut at = Some(self);
        while let Some(dir) = at
            && dir.parent.is_some()
        {
            names.push(shown_name(&dir.name));
            at = dir.parent.as_deref();
        }
        names.reverse();
        names.join(&b'/')
    }
}

impl Drop for Dir {
    // Iterative, because dropping a chain of a hundred thousand directories recursively would
    // overflow the stack.
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(dir) = next {
            next = match Arc::try_unwrap(dir) {
                Ok(mut dir) => dir.parent.take(),
                Err(_) => None,
            };
        }
    }
}

/// Some names of a directory, concatenated.
#[derive(Debug, Default)]
pub(crate) struct Names {
    bytes: Vec<u8>,
    rows: Vec<NameRow>,
}

#[derive(Debug, Clone, Copy)]
struct NameRow {
    end: u32,
    kind: Kind,
    inode: u64,
    /// A mount point of a network or user-space file system. It may hang, so it is not stat'ed.
    is_far: bool,
}

/// A name as a directory lists it.
pub(crate) struct Listed<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) kind: Kind,
    pub(crate) inode: u64,
    pub(crate) is_far: bool,
}

impl Names {
    fn push(&mut self, name: &[u8], kind: Kind, inode: u64) {
        self.bytes.extend_from_slice(name);
        let end = self.bytes.len() as u32;
        self.rows.push(NameRow {
            end,
            kind,
            inode,
            is_far: false,
        });
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len() + self.rows.len() * size_of::<NameRow>()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Listed<'_>> {
        let mut start = 0;
        self.rows.iter().map(move |row| {
            let name = &self.bytes[start..row.end as usize];
            start = row.end as usize;
            Listed {
                name,
                kind: row.kind,
                inode: row.inode,
                is_far: row.is_far,
            }
        })
    }
}

/// A result of the walk: some names of a directory, or an error.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) dir: Arc<Dir>,
    pub(crate) number: u32,
    pub(crate) found: PieceContent,
}

#[derive(Debug)]
pub(crate) enum PieceContent {
    Names {
        handle: Handle,
        names: Names,
        /// Whether these are the last names.
        is_last: bool,
    },
    /// The directory could not be opened, or reading it failed.
    Fault(Errno),
    /// Only some of its directories, which were not listed but known before.
    Some { handle: Handle, names: Names },
    /// It was read before in this scan and is unchanged.
    Known,
}

/// A directory that is not read.
#[derive(Debug, Default)]
pub(crate) struct KnownDir {
    /// Directories in it to enter.
    pub(crate) enter: Vec<Box<[u8]>>,
    /// Directories in it to examine, because their own attributes may have changed.
    pub(crate) look: Vec<Box<[u8]>>,
}

/// Provides the walk with information and receives its results.
pub(crate) trait Visitor: Sync {
    /// Returns the number of a file system.
    fn volume(&self, device: u64, handle: &Handle) -> Result<u32, rustix::io::Errno>;

    /// A directory was opened and nothing in it was read yet. Returns whether its times must be
    /// read again, because changes of them are reported only from now on.
    fn opened(&self, parent: Option<FileId>, id: FileId, handle: &Handle) -> bool;

    /// Returns what to do in a directory that need not be read again; `None` if it must be.
    fn known(&self, id: FileId, stamp: Stamp) -> Option<KnownDir>;

    /// Receives a piece; an error ends the walk.
    fn piece(&self, piece: Piece) -> Result<(), pipeline::Stopped>;

    /// A directory was gone before it could be opened.
    fn vanished(&self);
}

/// Settings of a walk.
#[derive(Debug, Clone)]
pub(crate) struct WalkSettings {
    pub(crate) threads: usize,
    pub(crate) cross_devices: bool,
    /// Names that lead from the root to the directory to walk; empty for the whole tree.
    pub(crate) only: Vec<Box<[u8]>>,
}

/// A walk, running or ended.
pub(crate) struct Walk<'a> {
    settings: WalkSettings,
    visitor: &'a dyn Visitor,
    stop: &'a AtomicBool,
    mounts: Mounts,
    handles: Handles,
    injector: Injector<Task>,
    stealers: Vec<Stealer<Task>>,
    /// Number of tasks waiting or running.
    pending: AtomicU64,
    idle: Mutex<usize>,
    wake: Condvar,
    visits: AtomicU64,
    stats: Stats,
}

#[derive(Default)]
struct Stats {
    running: AtomicU64,
    names: AtomicU64,
    reads: AtomicU64,
    busy_ns: AtomicU64,
}

enum Task {
    /// A listed directory.
    Open {
        parent: Arc<Dir>,
        handle: Option<Handle>,
        name: Box<[u8]>,
    },
    /// A directory of which some names, or none, have been read.
    Read {
        dir: Arc<Dir>,
        handle: Handle,
        number: u32,
    },
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        settings: WalkSettings,
        mounts: Mounts,
        visitor: &'a dyn Visitor,
        stop: &'a AtomicBool,
    ) -> Walk<'a> {
        Walk {
            settings,
            visitor,
            stop,
            mounts,
            handles: Handles::new(),
            injector: Injector::new(),
            stealers: Vec::new(),
            pending: AtomicU64::new(0),
            idle: Mutex::new(0),
            wake: Condvar::new(),
            visits: AtomicU64::new(0),
            stats: Stats::default(),
        }
    }

    /// Opens the root of the walk.
    ///
    /// # Errors
    /// Errors of the system.
    pub(crate) fn open_root(&self, path: &std::path::Path) -> Result<Handle, Errno> {
        self.handles.open_root(path)
    }

    /// Walks the tree below an open directory. Returns early if it is stopped or its visitor fails.
    ///
    /// # Errors
    /// Errors of the system for the root.
    pub(crate) fn run(&mut self, root: Handle) -> Result<(), Errno> {
        let mut looked = stat_at(&root, b"")?;
        let volume = self.visitor.volume(looked.device, &root)?;
        if self.visitor.opened(None, looked.id(volume), &root) {
            looked = stat_at(&root, b"")?;
        }
        let dir = Dir {
            parent: None,
            name: Box::default(),
            id: looked.id(volume),
            device: looked.device,
            stamp: looked.stamp(),
            depth: 0,
            visit: self.visits.fetch_add(1, Relaxed),
        };
        self.handles.set_root(root.clone());
        let workers: Vec<Worker<Task>> = (0..self.settings.threads).map(|_| Worker::new_lifo()).collect();
        self.stealers = workers.iter().map(Worker::stealer).collect();
        self.pending.store(1, SeqCst);
        let dir = Arc::new(dir);
        if self.children_if_known(&dir, &root) {
            self.pending.store(self.injector.len() as u64, SeqCst)
        } else {
            self.injector.push(Task::Read {
                dir,
                handle: root,
                number: 0,
            })
        }
        let this = &*self;
        std::thread::scope(|scope| {
            for (index, worker) in workers.into_iter().enumerate() {
                let name = format!("READ_DIR-{index}");
                // If a thread cannot be started, the others do its share; this one does all of it
                // if the first fails.
                let spawned = std::thread::Builder::new()
                    .name(name)
                    .spawn_scoped(scope, move || this.work(&worker));
                if let Err(error) = spawned {
                    tracing::warn!(%error, "cannot start a thread of the directory walk");
                    if index == 0 {
                        this.work(&Worker::new_lifo());
                    }
                }
            }
        });
        Ok(())
    }

    /// Queues the directories of a root that need not be read itself.
    fn children_if_known(&self, dir: &Arc<Dir>, root: &Handle) -> bool {
        let Some(known) = self.visitor.known(dir.id, dir.stamp) else {
            return false;
        };
        self.send(self.piece_of_known(dir, root, known.look));
        for name in known.enter {
            if self.is_on_the_way(dir, &name) {
                self.injector.push(Task::Open {
                    parent: dir.clone(),
                    handle: None,
                    name,
                });
            }
        }
        true
    }

    fn piece_of_known(&self, dir: &Arc<Dir>, handle: &Handle, look: Vec<Box<[u8]>>) -> Piece {
        let mut names = Names::default();
        for name in &look {
            names.push(name, Kind::Directory, 0);
        }
        self.mounts.mark(dir, &mut names);
        Piece {
            dir: dir.clone(),
            number: 0,
            found: if look.is_empty() {
                PieceContent::Known
            } else {
                PieceContent::Some {
                    handle: handle.clone(),
                    names,
                }
            },
        }
    }

    pub(crate) fn report(&self) -> StageRow {
        let stats = &self.stats;
        let (running, done) = (stats.running.load(Relaxed), stats.names.load(Relaxed));
        let waiting = self.pending.load(Relaxed).saturating_sub(running);
        let ratio = |a: f64, b: u64| if b == 0 { 0.0 } else { a / b as f64 };
        StageRow {
            stage: "READ_DIR".to_owned(),
            threads: self.settings.threads,
            waiting,
            running,
            done,
            total: waiting + running + done,
            ms_per_item: ratio(stats.busy_ns.load(Relaxed) as f64 / 1e6, done),
            // A directory is read in full or in pieces.
            batched_share: if done == 0 { 0.0 } else { 1.0 },
            batch_mean: ratio(done as f64, stats.reads.load(Relaxed)),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    fn work(&self, worker: &Worker<Task>) {
        let mut buffer = syscalls::Buffer::new();
        while let Some(task) = self.next(worker) {
            if !self.is_stopped() {
                self.stats.running.fetch_add(1, Relaxed);
                let start = system::now();
                let blocked = self.handle(task, worker, &mut buffer);
                let busy = system::since(start).saturating_sub(blocked);
                self.stats.busy_ns.fetch_add(busy.as_nanos() as u64, Relaxed);
                self.stats.running.fetch_sub(1, Relaxed);
            }
            if self.pending.fetch_sub(1, SeqCst) == 1 {
                self.wake.notify_all();
            }
        }
    }

    /// Returns the next task; `None` if the queues are empty and no running task can add one.
    fn next(&self, worker: &Worker<Task>) -> Option<Task> {
        loop {
            if let Some(task) = worker.pop().or_else(|| self.steal(worker)) {
                return Some(task);
            }
            if self.pending.load(SeqCst) == 0 {
                return None;
            }
            let mut idle = self.idle.lock();
            *idle += 1;
            // With a timeout: a task may have arrived between the check and the wait.
            self.wake.wait_for(&mut idle, Duration::from_millis(1));
            *idle -= 1;
        }
    }

    fn steal(&self, worker: &Worker<Task>) -> Option<Task> {
        loop {
            let mut again = false;
            let others = self.stealers.iter().map(Stealer::steal);
            let first = std::iter::once_with(|| self.injector.steal_batch_and_pop(worker));
            for stolen in others.chain(first) {
                match stolen {
                    Steal::Success(task) => return Some(task),
                    Steal::Retry => again = true,
                    Steal::Empty => {}
                }
            }
            if !again {
                return None;
            }
        }
    }

    fn push(&self, worker: &Worker<Task>, task: Task) {
        self.pending.fetch_add(1, SeqCst);
        worker.push(task);
        if self.settings.threads > 1 && self.idle.try_lock().is_none_or(|idle| *idle > 0) {
            self.wake.notify_one();
        }
    }

    fn send(&self, piece: Piece) -> Duration {
        let start = system::now();
        if self.visitor.piece(piece).is_err() {
            self.stop.store(true, Relaxed);
        }
        system::since(start)
    }

    /// Runs a task, and returns how long it waited for room in the next stage.
    fn handle(&self, task: Task, worker: &Worker<Task>, buffer: &mut syscalls::Buffer) -> Duration {
        match task {
            Task::Open { parent, handle, name } => match self.open(&parent, handle.as_ref(), &name) {
                Ok(Some((dir, handle))) => self.enter(dir, handle, worker, buffer),
                Ok(None) => Duration::ZERO,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                    self.visitor.vanished();
                    Duration::ZERO
                }
                Err(fault) => self.cannot_open(&parent, handle.as_ref(), name, fault),
            },
            Task::Read { dir, handle, number } => self.read(dir, handle, number, worker, buffer),
        }
    }

    fn handle_of(&self, dir: &Arc<Dir>, handle: Option<&Handle>) -> Result<Handle, Errno> {
        match handle {
            Some(handle) => Ok(handle.clone()),
            None => self.handles.reopen(dir),
        }
    }

    /// Opens a directory; `None` if it is on another file system that is not walked.
    fn open(
        &self,
        parent: &Arc<Dir>,
        handle: Option<&Handle>,
        name: &[u8],
    ) -> Result<Option<(Arc<Dir>, Handle)>, Errno> {
        let handle = self.handle_of(parent, handle)?;
        if !self.mounts.may_enter(parent, name) {
            return Ok(None);
        }
        let handle = self.handles.open(&handle, name)?;
        let mut looked = stat_at(&handle, b"")?;
        if looked.device != parent.device && !self.settings.cross_devices {
            return Ok(None);
        }
        let volume = if looked.device == parent.device {
            parent.id.volume
        } else {
            self.visitor.volume(looked.device, &handle)?
        };
        if self.visitor.opened(Some(parent.id), looked.id(volume), &handle) {
            looked = stat_at(&handle, b"")?;
        }
        Ok(Some((self.dir(parent, name.into(), &looked, volume), handle)))
    }

    fn dir(&self, parent: &Arc<Dir>, name: Box<[u8]>, looked: &FileStat, volume: u32) -> Arc<Dir> {
        Arc::new(Dir {
            parent: Some(parent.clone()),
            name,
            id: looked.id(volume),
            device: looked.device,
            stamp: looked.stamp(),
            depth: parent.depth + 1,
            visit: self.visits.fetch_add(1, Relaxed),
        })
    }

    fn cannot_open(
        &self,
        parent: &Arc<Dir>,
        handle: Option<&Handle>,
        name: Box<[u8]>,
        fault: Errno,
    ) -> Duration {
        let looked = self
            .handle_of(parent, handle)
            .and_then(|handle| stat_at(&handle, &name));
        let Ok(looked) = looked else {
            self.visitor.vanished();
            return Duration::ZERO;
        };
        let dir = self.dir(parent, name, &looked, parent.id.volume);
        self.send(Piece {
            dir,
            number: 0,
            found: PieceContent::Fault(fault),
        })
    }

    fn enter(
        &self,
        dir: Arc<Dir>,
        handle: Handle,
        worker: &Worker<Task>,
        buffer: &mut syscalls::Buffer,
    ) -> Duration {
        let Some(known) = self.visitor.known(dir.id, dir.stamp) else {
            return self.read(dir, handle, 0, worker, buffer);
        };
        let blocked = self.send(self.piece_of_known(&dir, &handle, known.look));
        for name in known.enter {
            if self.is_on_the_way(&dir, &name) {
                self.push_open(worker, &dir, &handle, name);
            }
        }
        blocked
    }

    fn push_open(&self, worker: &Worker<Task>, dir: &Arc<Dir>, handle: &Handle, name: Box<[u8]>) {
        let (parent, handle) = (dir.clone(), self.handles.keep(handle));
        self.push(worker, Task::Open { parent, handle, name });
    }

    fn is_on_the_way(&self, dir: &Dir, name: &[u8]) -> bool {
        self.settings
            .only
            .get(dir.depth)
            .is_none_or(|only| **only == *name)
    }

    fn read(
        &self,
        dir: Arc<Dir>,
        handle: Handle,
        number: u32,
        worker: &Worker<Task>,
        buffer: &mut syscalls::Buffer,
    ) -> Duration {
        let mut names = Names::default();
        let is_last = match syscalls::read_names(&handle, buffer, PIECE_NAMES, &mut names) {
            Ok(is_last) => is_last,
            Err(fault) => {
                return self.send(Piece {
                    dir,
                    number,
                    found: PieceContent::Fault(fault),
                });
            }
        };
        self.stats.names.fetch_add(names.len() as u64, Relaxed);
        self.stats.reads.fetch_add(1, Relaxed);
        if !is_last {
            // Queued before the directories found in it, so that these are read first.
            self.push(
                worker,
                Task::Read {
                    dir: dir.clone(),
                    handle: handle.clone(),
                    number: number + 1,
                },
            );
        }
        self.mounts.mark(&dir, &mut names);
        for listed in names.iter() {
            // If the file system does not give the type, opening the name shows whether it is a
            // directory.
            let may_be_directory = matches!(listed.kind, Kind::Directory | Kind::Unknown);
            if may_be_directory && !listed.is_far && self.is_on_the_way(&dir, listed.name) {
                self.push_open(worker, &dir, &handle, listed.name.into());
            }
        }
        self.send(Piece {
            dir,
            number,
            found: PieceContent::Names {
                handle,
                names,
                is_last,
            },
        })
    }
}
