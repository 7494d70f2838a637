//! The file operations of a volume, behind a trait, so that tests can make any of them fail, stop
//! half-way, or be the last.
//!
//! All writes of a volume go through here, except those of its index (a cache that can be lost) and
//! of the fixity log (other volumes have copies of it).

#![expect(
    clippy::disallowed_methods,
    reason = "this module implements the access to the disk"
)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::OFlags;

use crate::crash;

/// Alignment, in memory and in the file, of writes that bypass the system's cache. Disks require
/// the length of their sectors, which is at most this.
pub(crate) const DIRECT_ALIGN: usize = 4096;

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

    /// Like [`DiskFile::write_at`], past the system's cache if the file system can do that. Only
    /// pages of 4,096 bytes that are aligned in `bytes` as in the file bypass the cache.
    ///
    /// # Errors
    /// As [`DiskFile::write_at`].
    fn write_uncached_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_at(bytes, offset)
    }

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
        Ok(Arc::new(CreatedFile {
            file,
            path: path.to_path_buf(),
            direct: OnceLock::new(),
        }))
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

/// A new file, which a second descriptor writes past the cache.
struct CreatedFile {
    file: File,
    path: PathBuf,
    /// Opened by the first such write; `None` if the file system cannot do it.
    direct: OnceLock<Option<File>>,
}

impl CreatedFile {
    fn direct(&self) -> Option<&File> {
        let open = || {
            let flags = OFlags::DIRECT.bits().cast_signed();
            let mut options = OpenOptions::new();
            options.write(true).custom_flags(flags).open(&self.path).ok()
        };
        self.direct.get_or_init(open).as_ref()
    }
}

impl DiskFile for CreatedFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn write_uncached_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let (first, pages, last) = split_at_pages(bytes, offset);
        let Some(direct) = self.direct().filter(|_| !pages.is_empty()) else {
            return self.file.write_all_at(bytes, offset);
        };
        let pages_at = offset + first.len() as u64;
        match direct.write_all_at(pages, pages_at) {
            // The disk wants another alignment. Bytes already written are written once more.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return self.file.write_all_at(bytes, offset);
            }
            written => written?,
        }
        self.file.write_all_at(first, offset)?;
        self.file.write_all_at(last, pages_at + pages.len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    fn stat(&self) -> io::Result<Stat> {
        self.file.stat()
    }

    fn sync(&self) -> io::Result<()> {
        // The sync of one descriptor covers what both wrote.
        self.file.sync()
    }

    fn forget_cached(&self) {
        self.file.forget_cached();
    }
}

/// Splits bytes to be written at `offset` into the whole pages, and the bytes before and after
/// them. There are no pages if memory and file are not aligned alike.
fn split_at_pages(bytes: &[u8], offset: u64) -> (&[u8], &[u8], &[u8]) {
    let align = DIRECT_ALIGN as u64;
    // Less than a page, so it fits into `usize`.
    let before = (offset.next_multiple_of(align) - offset) as usize;
    let is_aligned = bytes
        .as_ptr()
        .addr()
        .wrapping_add(before)
        .is_multiple_of(DIRECT_ALIGN);
    if !is_aligned || bytes.len() < before + DIRECT_ALIGN {
        return (bytes, &[], &[]);
    }
    let (first, rest) = bytes.split_at(before);
    let (pages, last) = rest.split_at(rest.len() - rest.len() % DIRECT_ALIGN);
    (first, pages, last)
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
