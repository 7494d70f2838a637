//! Open directories, and the limit on their number.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit, setrlimit};

use super::Dir;

/// An open directory, shared by pending tasks below it. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Handle(Arc<Open>);

#[derive(Debug)]
struct Open {
    fd: OwnedFd,
    open: Arc<AtomicUsize>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Relaxed);
    }
}

impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }
}

/// Opens directories and counts the open ones.
pub(crate) struct Handles {
    open: Arc<AtomicUsize>,
    /// Maximum number of directories kept open for pending tasks.
    kept_max: usize,
    root: Option<Handle>,
}

const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Number of files reserved for the rest of the program, mainly the tables of the engine.
const FILES_OF_OTHERS: u64 = 400;

impl Handles {
    /// Raises the limit on open files as far as the system permits.
    pub(crate) fn new() -> Handles {
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current < limit.maximum {
            // More than this is of no use.
            let wanted = limit.maximum.map_or(65_536, |maximum| maximum.min(65_536));
            let raised = rustix::process::Rlimit {
                current: Some(wanted),
                maximum: limit.maximum,
            };
            if wanted > limit.current.unwrap_or(0) && setrlimit(Resource::Nofile, raised).is_ok() {
                limit = raised;
            }
        }
        let allowed = limit.current.unwrap_or(65_536);
        Handles {
            open: Arc::default(),
            kept_max: allowed.saturating_sub(FILES_OF_OTHERS).max(allowed / 4) as usize / 2,
            root: None,
        }
    }

    pub(crate) fn set_root(&mut self, root: Handle) {
        self.root = Some(root);
    }

    /// Opens the root of a walk. This is the only path opened as given, with links followed.
    pub(crate) fn open_root(&self, path: &std::path::Path) -> Result<Handle, Errno> {
        Ok(self.handle(openat(rustix::fs::CWD, path, FLAGS, Mode::empty())?))
    }

    /// Opens a directory by its name in another one.
    pub(crate) fn open(&self, parent: &Handle, name: &[u8]) -> Result<Handle, Errno> {
        Ok(self.handle(openat(parent, name, FLAGS | OFlags::NOFOLLOW, Mode::empty())?))
    }

    fn handle(&self, fd: OwnedFd) -> Handle {
        self.open.fetch_add(1, Relaxed);
        Handle(Arc::new(Open {
            fd,
            open: self.open.clone(),
        }))
    }

    /// Returns a handle for pending tasks, or `None` if too many are open: these tasks then open
    /// the path from the root again.
    pub(crate) fn keep(&self, handle: &Handle) -> Option<Handle> {
        (self.open.load(Relaxed) < self.kept_max).then(|| handle.clone())
    }

    /// Opens a directory by the names that lead to it.
    pub(crate) fn reopen(&self, dir: &Arc<Dir>) -> Result<Handle, Errno> {
        self.reopen_below(&self.root.clone().ok_or(Errno::BADF)?, dir)
    }

    /// As `reopen`, below a root that the caller holds open.
    pub(crate) fn reopen_below(&self, root: &Handle, dir: &Arc<Dir>) -> Result<Handle, Errno> {
        let mut names = Vec::new();
        let mut at = dir;
        while let Some(parent) = &at.parent {
            names.push(&*at.name);
            at = parent;
        }
        let mut handle = root.clone();
        for name in names.iter().rev() {
            handle = self.open(&handle, name)?;
        }
        Ok(handle)
    }
}
