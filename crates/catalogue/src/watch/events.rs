//! Directory events from inotify(7): which directories have changed since they were last queried.
//!
//! Invariants:
//!  - A watch is set before its directory is read, so every later change is an event.
//!  - An event is recorded with the identity of the directory, which survives a rename, not with a
//!    path.
//!  - Lost events, here or in the system, are counted; then everything must be read again.
//!
//! The catalogue's own folder is not watched: writing events to it would cause more events without
//! end.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::io::Errno;

use crate::attributes::{Attributes, FileId};
use crate::rows::LinkedName;
use crate::scan::{FileReader, Observer};
use crate::walk::{Handle, Handles, stat_at};

/// The inotify watches of all trees.
pub(crate) struct Watches {
    inotify: OwnedFd,
    /// Locked from reading events until they are recorded. A thread that finds no events then knows
    /// that all earlier ones are recorded.
    buffer: Mutex<inotify::Buffer>,
    state: Mutex<State>,
    dirty_max: usize,
    watches_max: usize,
    reader: OnceLock<FileReader>,
}

#[derive(Default)]
struct State {
    by_number: FxHashMap<i32, FileId>,
    by_dir: FxHashMap<FileId, i32>,
    /// Directories of the catalogue itself.
    own: FxHashSet<FileId>,
    roots: FxHashSet<FileId>,
    dirty: FxHashSet<FileId>,
    dirty_since: Option<Instant>,
    /// Directories that were not watched before this round.
    fresh: FxHashSet<FileId>,
    /// Files with more names than the catalogue knows.
    incomplete: FxHashSet<FileId>,
    counts: EventCounts,
}

/// Counters of events so far. Cheap to copy.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EventCounts {
    pub(crate) last_event: Option<Instant>,
    pub(crate) last_event_ms: i64,
    /// How often events were lost.
    pub(crate) overflows: u64,
    /// Number of unmount events.
    pub(crate) unmounts: u64,
    /// Number of directories for which the system refused a watch, and the last error.
    pub(crate) refused: u64,
    pub(crate) refusal: Option<Errno>,
}

/// The relevant parts of an event.
struct Event {
    number: i32,
    what: EventKind,
    has_name: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EventKind {
    Change,
    Overflow,
    Unmount,
    /// The watch was removed.
    Ignored,
}

impl Watches {
    /// Starts listening. `own` is the catalogue's folder.
    pub(crate) fn new(own: &Path, dirty_max: usize, watches_max: usize) -> Result<Watches, Errno> {
        let mut state = State::default();
        let own = stat_at(&Handles::new().open_root(own)?, b"")?;
        // The number of the file system is ignored: inode and birth time together are unique.
        state.own.insert(own.id(0));
        Ok(Watches {
            inotify: inotify::new()?,
            buffer: Mutex::new(inotify::Buffer::new()),
            state: Mutex::new(state),
            dirty_max,
            watches_max,
            reader: OnceLock::new(),
        })
    }

    /// Sets the receiver of files in directories that are read. Only the first call has an effect.
    pub(crate) fn read_by(&self, reader: FileReader) {
        let _ = self.reader.set(reader);
    }

    /// Returns the number of watched directories.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().by_dir.len()
    }

    pub(crate) fn event_counts(&self) -> EventCounts {
        self.state.lock().counts
    }

    /// Adds a root. It has no watched parent that would report changes of its attributes.
    pub(crate) fn add_root(&self, root: FileId) {
        self.state.lock().roots.insert(root);
    }

    /// Returns when the first of the pending directories changed.
    pub(crate) fn dirty_since(&self) -> Option<Instant> {
        self.state.lock().dirty_since
    }

    /// Returns the changed directories and marks them as unchanged.
    pub(crate) fn take_dirty(&self) -> FxHashSet<FileId> {
        let mut state = self.state.lock();
        state.dirty_since = None;
        std::mem::take(&mut state.dirty)
    }

    /// Marks a directory as changed.
    pub(crate) fn mark(&self, dir: FileId) {
        self.state.lock().mark(dir, self.dirty_max);
    }

    /// Returns and clears the files with more names than the catalogue knows.
    pub(crate) fn take_incomplete(&self) -> FxHashSet<FileId> {
        std::mem::take(&mut self.state.lock().incomplete)
    }

    /// Starts a round: no directory counts as newly watched.
    pub(crate) fn begin_round(&self) {
        self.state.lock().fresh.clear();
    }

    /// Records all pending events. This covers every change before the call, because the system
    /// queues an event within the call that makes the change.
    pub(crate) fn catch_up(&self) -> Result<(), Errno> {
        let mut buffer = self.buffer.lock();
        for _ in 0..inotify::reads(&self.inotify)? {
            if !self.take_events(&mut buffer)? {
                break;
            }
        }
        Ok(())
    }

    /// Records the available events and returns whether there were any.
    pub(crate) fn listen(&self) -> Result<bool, Errno> {
        self.take_events(&mut self.buffer.lock())
    }

    fn take_events(&self, buffer: &mut inotify::Buffer) -> Result<bool, Errno> {
        let events = match inotify::events(&self.inotify, buffer) {
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            events => events?,
        };
        let mut state = self.state.lock();
        let is_any = !events.is_empty();
        if is_any {
            state.counts.last_event = Some(system::now());
            state.counts.last_event_ms = system::time_ms();
        }
        for event in events {
            state.record(event, self.dirty_max);
        }
        Ok(is_any)
    }

    /// Removes the watches of directories that are no longer catalogued.
    pub(crate) fn drop_watches(&self, dirs: &[FileId]) {
        let mut state = self.state.lock();
        for dir in dirs {
            if let Some(number) = state.by_dir.remove(dir) {
                state.by_number.remove(&number);
                // Fails if the directory is gone: the system has then removed its watch.
                let _ = inotify::remove(&self.inotify, number);
            }
        }
    }
}

impl State {
    fn mark(&mut self, dir: FileId, dirty_max: usize) {
        if self.dirty.len() >= dirty_max && !self.dirty.contains(&dir) {
            self.dirty.clear();
            self.counts.overflows += 1;
        }
        self.dirty.insert(dir);
        self.dirty_since.get_or_insert_with(system::now);
    }

    fn record(&mut self, event: Event, dirty_max: usize) {
        match event.what {
            EventKind::Overflow => self.counts.overflows += 1,
            EventKind::Unmount => self.counts.unmounts += 1,
            EventKind::Ignored => {
                // If the inode was reused, its directory belongs to a newer watch.
                if let Some(dir) = self.by_number.remove(&event.number)
                    && self.by_dir.get(&dir) == Some(&event.number)
                {
                    self.by_dir.remove(&dir);
                }
            }
            EventKind::Change => {
                let Some(&dir) = self.by_number.get(&event.number) else {
                    return;
                };
                // Changes of the directory's own attributes are also reported in its parent.
                if event.has_name || self.roots.contains(&dir) {
                    self.mark(dir, dirty_max);
                }
            }
        }
    }
}

impl Observer for Watches {
    fn opened(&self, parent: Option<FileId>, id: FileId, handle: &Handle) -> bool {
        // Locked until the watch number is recorded, so that no event has an unknown number.
        let mut state = self.state.lock();
        let is_own = state.own.contains(&FileId { volume: 0, ..id })
            || parent.is_some_and(|parent| state.own.contains(&FileId { volume: 0, ..parent }));
        if is_own {
            state.own.insert(FileId { volume: 0, ..id });
            return false;
        }
        let is_new = !state.by_dir.contains_key(&id);
        let set = if is_new && state.by_dir.len() >= self.watches_max {
            Err(Errno::NOSPC)
        } else {
            inotify::add(&self.inotify, handle.as_fd().as_raw_fd())
        };
        match set {
            Ok(number) => {
                if let Some(before) = state.by_dir.insert(id, number)
                    && before != number
                {
                    state.by_number.remove(&before);
                }
                state.by_number.insert(number, id);
                if is_new {
                    state.fresh.insert(id);
                }
                true
            }
            Err(errno) => {
                state.counts.refused += 1;
                state.counts.refusal = Some(errno);
                false
            }
        }
    }

    fn linked(&self, file: FileId, dir: FileId, now: Option<&Attributes>, names: &[LinkedName]) {
        // Attributes belong to the file, but the system reports a change only in the directory of
        // the name through which it was made.
        let changed_ns = now.map(|file| file.changed_ns);
        let others = names
            .iter()
            .filter(|name| name.dir != dir && Some(name.attributes.changed_ns) != changed_ns);
        let mut state = self.state.lock();
        for name in others {
            state.mark(name.dir, self.dirty_max);
        }
        // Names of files that had a single name when they were read are missing here.
        if now.is_some_and(|file| file.links as usize > names.len()) {
            state.incomplete.insert(file);
        }
    }

    fn forgotten(&self, id: FileId) {
        self.drop_watches(&[id]);
    }

    fn is_fresh(&self, id: FileId) -> bool {
        self.state.lock().fresh.contains(&id)
    }

    fn reader(&self) -> Option<&FileReader> {
        self.reader.get()
    }
}

#[cfg(target_os = "linux")]
mod inotify {
    use std::mem::MaybeUninit;
    use std::os::fd::{OwnedFd, RawFd};

    use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch};
    use rustix::io::Errno;

    use super::{Event, EventKind};

    /// Buffer for several thousand events.
    pub(crate) struct Buffer(Vec<MaybeUninit<u8>>);

    const BUFFER_BYTES: usize = 256 << 10;

    /// Maximum length of an event: header and name.
    const EVENT_BYTES_MAX: usize = 512;

    impl Buffer {
        pub(crate) fn new() -> Buffer {
            Buffer(vec![MaybeUninit::uninit(); BUFFER_BYTES])
        }
    }

    /// Returns the number of reads that return at least all events queued now.
    pub(super) fn reads(inotify: &OwnedFd) -> Result<u64, Errno> {
        let queued = rustix::io::ioctl_fionread(inotify)?;
        // A read returns as many whole events as fit.
        Ok(queued.div_ceil((BUFFER_BYTES - EVENT_BYTES_MAX) as u64))
    }

    pub(super) fn new() -> Result<OwnedFd, Errno> {
        init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
    }

    /// Watches an open directory. The path resolves to the open directory even if it was renamed.
    pub(super) fn add(inotify: &OwnedFd, dir: RawFd) -> Result<i32, Errno> {
        let wanted = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::EXCL_UNLINK
            | WatchFlags::ONLYDIR;
        add_watch(inotify, format!("/proc/self/fd/{dir}"), wanted)
    }

    pub(super) fn remove(inotify: &OwnedFd, number: i32) -> Result<(), Errno> {
        remove_watch(inotify, number)
    }

    /// Returns the events of one read.
    pub(super) fn events(inotify: &OwnedFd, buffer: &mut Buffer) -> Result<Vec<Event>, Errno> {
        let mut reader = Reader::new(inotify, &mut buffer.0);
        let mut events: Vec<Event> = Vec::new();
        loop {
            let event = reader.next()?;
            let flags = event.events();
            let what = if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                EventKind::Overflow
            } else if flags.contains(ReadFlags::UNMOUNT) {
                EventKind::Unmount
            } else if flags.contains(ReadFlags::IGNORED) {
                EventKind::Ignored
            } else {
                EventKind::Change
            };
            let (number, has_name) = (event.wd(), event.file_name().is_some());
            // Repeated changes in one directory are merged.
            let is_same =
                |last: &Event| last.number == number && last.what == what && last.has_name == has_name;
            if !events.last().is_some_and(is_same) {
                events.push(Event {
                    number,
                    what,
                    has_name,
                });
            }
            if reader.is_buffer_empty() {
                return Ok(events);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod inotify {
    use std::os::fd::{OwnedFd, RawFd};

    use rustix::io::Errno;

    use super::Event;

    pub(crate) struct Buffer;

    impl Buffer {
        pub(crate) fn new() -> Buffer {
            Buffer
        }
    }

    /// Other systems have no inotify.
    pub(super) fn new() -> Result<OwnedFd, Errno> {
        Err(Errno::NOSYS)
    }

    pub(super) fn reads(_: &OwnedFd) -> Result<u64, Errno> {
        Err(Errno::NOSYS)
    }

    pub(super) fn add(_: &OwnedFd, _: RawFd) -> Result<i32, Errno> {
        Err(Errno::NOSYS)
    }

    pub(super) fn remove(_: &OwnedFd, _: i32) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    pub(super) fn events(_: &OwnedFd, _: &mut Buffer) -> Result<Vec<Event>, Errno> {
        Err(Errno::NOSYS)
    }
}
