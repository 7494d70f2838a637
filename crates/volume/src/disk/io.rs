//! The file operations of a volume, behind a seam, so that tests can let any of them fail, stop half-way, or be the last.
//!
//! Everything that a volume writes goes through here, but for its index (a cache that can be lost) and the fixity
//! log (copies of it lie on other volumes).

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use super::crash;

/// A file system, as far as a volume uses it. Blocking; paths are whole.
pub trait Disk: Send + Sync + 'static {
    /// A new file for reading and writing, for its owner alone.
    ///
    /// # Errors
    /// Also when there is such a file already.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// A file for reading.
    ///
    /// # Errors
    /// As the system says.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Renames within the file system; what was at `to` is gone.
    ///
    /// # Errors
    /// As the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// As the system says.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes a directory, for its owner alone.
    ///
    /// # Errors
    /// Also when it is there already.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes a directory's entries durable.
    ///
    /// # Errors
    /// After one, nothing written to the file system before can be trusted.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes all that was written to the file system of a directory durable, whoever wrote it.
    ///
    /// # Errors
    /// After one, nothing written to the file system before can be trusted.
    fn sync_all(&self, path: &Path) -> io::Result<()>;

    /// Names in a directory, in no order. Names that are no UTF-8 come with replacement characters.
    ///
    /// # Errors
    /// As the system says.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    /// What is at a path.
    ///
    /// # Errors
    /// As the system says.
    fn stat(&self, path: &Path) -> io::Result<Stat>;

    /// Room on the file system of a path.
    ///
    /// # Errors
    /// As the system says.
    fn space(&self, path: &Path) -> io::Result<Space>;

    /// A durable step has been reached; see [`super::CRASH_POINTS`].
    ///
    /// # Errors
    /// In tests, when this is the last one.
    fn step(&self, name: &'static str) -> io::Result<()>;
}

/// An open file.
pub trait DiskFile: Send + Sync {
    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// Any part of the bytes may have arrived.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Fills `bytes` from `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` when the file ends before.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// What the file is.
    ///
    /// # Errors
    /// As the system says.
    fn stat(&self) -> io::Result<Stat>;

    /// Makes content and length durable.
    ///
    /// # Errors
    /// After one, nothing written to the file system before can be trusted.
    fn sync(&self) -> io::Result<()>;

    /// Asks the system to forget what it holds of the file in memory, so that the next read is from the disk.
    fn forget_cached(&self);
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Length in bytes.
    pub bytes: u64,
    /// A directory.
    pub is_dir: bool,
    /// Its file system.
    pub device: u64,
    /// The file itself, whatever its name; not given to another file while one has it open.
    pub inode: u64,
}

/// Room on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Size of the file system.
    pub capacity_bytes: u64,
    /// Free for this process.
    pub free_bytes: u64,
}

/// The machine's own file system.
pub struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = private::file()
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
        private::create_dir(path)
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
        // Advice only: where it is not followed, the bytes in memory are compared.
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
