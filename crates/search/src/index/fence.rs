//! A directory whose writer can be shut out.
//!
//! tantivy does not wait for merges when a writer is dropped. A merge that continues may still
//! publish its segment in `meta.json` and delete the segments it merged, after the next writer has
//! read the old `meta.json`. The next commit would then refer to deleted files. So each writer uses
//! its own [`FencedDirectory`], which is closed before the writer is dropped. A closed directory
//! refuses a new `meta.json`, new files and deletions. A late merge can only finish the files it
//! has open; nothing refers to them, and the next writer removes them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{RwLock, RwLockReadGuard};
use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

/// A directory that can be closed for writing.
#[derive(Debug, Clone)]
pub(crate) struct FencedDirectory {
    directory: MmapDirectory,
    closed: Arc<RwLock<bool>>,
}

/// Closes its directory when dropped, after the current operation.
#[derive(Debug)]
pub(crate) struct WriteFence(Arc<RwLock<bool>>);

impl FencedDirectory {
    pub(crate) fn new(directory: MmapDirectory) -> (FencedDirectory, WriteFence) {
        let closed = Arc::new(RwLock::new(false));
        let fence = WriteFence(Arc::clone(&closed));
        (FencedDirectory { directory, closed }, fence)
    }

    /// Holds the directory open for one operation.
    fn enter(&self) -> io::Result<RwLockReadGuard<'_, bool>> {
        let closed = self.closed.read();
        if *closed {
            return Err(io::Error::other("the writer was closed"));
        }
        Ok(closed)
    }
}

impl Drop for WriteFence {
    fn drop(&mut self) {
        // Waits for the current operation, which holds the lock for reading.
        *self.0.write() = true;
    }
}

impl Directory for FencedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.directory.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        let entered = self.enter().map_err(|error| DeleteError::IoError {
            io_error: Arc::new(error),
            filepath: PathBuf::from(path),
        });
        let _entered = entered?;
        self.directory.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.directory.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let entered = self.enter();
        let _entered = entered.map_err(|error| OpenWriteError::wrap_io_error(error, path.to_owned()))?;
        self.directory.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.directory.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        // `meta.json` is written here, so this check stops a late merge from publishing its
        // segment.
        let _entered = self.enter()?;
        self.directory.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.directory.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.directory.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.directory.watch(callback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_the_fence_nothing_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (fenced, fence) = FencedDirectory::new(MmapDirectory::open(dir.path()).unwrap());
        let name = Path::new("meta.json");
        fenced.atomic_write(name, b"before").unwrap();
        drop(fence);
        assert!(fenced.atomic_write(name, b"after").is_err());
        assert!(fenced.delete(name).is_err());
        assert!(fenced.open_write(Path::new("new")).is_err());
        assert_eq!(fenced.atomic_read(name).unwrap(), b"before");
    }
}
