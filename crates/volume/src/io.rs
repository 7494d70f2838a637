//! The file operations of a volume, behind a trait, so that tests can make any of them fail, stop
//! half-way, or be the last.
//!
//! All writes of a volume go through here, except those of its index (a cache that can be lost) and
//! of the fixity log (other volumes have copies of it).

#![expect(
    clippy::disallowed_methods,
    reason = "this module implements the access to the disk"
)]

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use crate::crash;

/// The file system operations of a volume. They block, and take full paths.
pub trait Disk: Send + Sync + 'static {
    /// Creates a file for reading and writing, accessible only to its owner.
    ///
    /// # Errors
    /// Fails if the file exists or cannot be created.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// Fails if the file does not exist or cannot be opened.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Renames within the file system. Replaces a file at `to`.
    ///
    /// # Errors
    /// Fails if `from` does not exist, or `to` is a directory or on another file system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Fails if the file does not exist or cannot be removed.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Creates a directory accessible only to its owner.
    ///
    /// # Errors
    /// Fails if the directory exists or cannot be created.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes the entries of a directory durable.
    ///
    /// # Errors
    /// Fails if the sync fails. After that, earlier writes to the file system cannot be trusted.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes all writes of any process to the file system of a directory durable.
    ///
    /// # Errors
    /// Fails if the sync fails. After that, earlier writes to the file system cannot be trusted.
    fn sync_all(&self, path: &Path) -> io::Result<()>;

    /// Lists the names in a directory, in any order. Bytes that are not UTF-8 become replacement
    /// characters.
    ///
    /// # Errors
    /// Fails if the directory cannot be read.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    /// Returns the attributes of the file at a path. Symbolic links are not followed.
    ///
    /// # Errors
    /// Fails with `NotFound` if nothing exists at the path, or if it cannot be examined.
    fn stat(&self, path: &Path) -> io::Result<Stat>;

    /// Returns the free space of the file system of a path.
    ///
    /// # Errors
    /// Fails if the file system cannot be queried.
    fn space(&self, path: &Path) -> io::Result<Space>;

    /// Marks that a durable step has been reached; see [`super::CRASH_POINTS`].
    ///
    /// # Errors
    /// Fails only in tests, if the test stops at this step.
    fn step(&self, name: &'static str) -> io::Result<()>;
}

/// An open file.
pub trait DiskFile: Send + Sync {
    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// Fails if the write fails. Any part of the bytes may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Fills `bytes` from `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before; otherwise fails if the disk cannot read the bytes.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Returns the length and identity of the open file.
    ///
    /// # Errors
    /// Fails if the open file cannot be examined.
    fn stat(&self) -> io::Result<Stat>;

    /// Makes the content and the length durable.
    ///
    /// # Errors
    /// Fails if the sync fails. After that, earlier writes to the file system cannot be trusted.
    fn sync(&self) -> io::Result<()>;

    /// Asks the system to drop the file from its cache, so that the next read comes from the disk.
    fn forget_cached(&self);
}

/// The attributes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Length in bytes.
    pub bytes: u64,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Device number of its file system.
    pub device: u64,
    /// Inode number of the file. It is not reused while the file is open.
    pub inode: u64,
}

/// Space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Size of the file system, in bytes.
    pub capacity_bytes: u64,
    /// Bytes available to this process.
    pub free_bytes: u64,
}

/// The local file system.
pub struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = system::private::file()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)?;
        Ok(Arc::new(file))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(File::open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        system::private::create_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn sync_all(&self, path: &Path) -> io::Result<()> {
        Ok(rustix::fs::syncfs(File::open(path)?)?)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        std::fs::read_dir(path)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        std::fs::symlink_metadata(path).map(|found| stat_of(&found))
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        let found = rustix::fs::statvfs(path)?;
        Ok(Space {
            capacity_bytes: found.f_blocks.saturating_mul(found.f_frsize),
            // `f_bavail`, not `f_bfree`: blocks reserved for root are not available to this
            // process.
            free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
        })
    }

    fn step(&self, name: &'static str) -> io::Result<()> {
        crash::point(name);
        Ok(())
    }
}

impl DiskFile for File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(bytes, offset)
    }

    fn stat(&self) -> io::Result<Stat> {
        self.metadata().map(|found| stat_of(&found))
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }

    fn forget_cached(&self) {
        // Only a hint. If the system ignores it, the cached bytes are compared.
        let _ = rustix::fs::fadvise(self, 0, None, rustix::fs::Advice::DontNeed);
    }
}

fn stat_of(found: &std::fs::Metadata) -> Stat {
    Stat {
        bytes: found.len(),
        is_dir: found.is_dir(),
        device: found.dev(),
        inode: found.ino(),
    }
}

/// Creates a directory if it does not exist. The caller syncs the parent directory.
pub(super) fn make_directory(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    match disk.create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Returns whether an error means that a name, or a directory on its path, does not exist.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
