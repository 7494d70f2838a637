//! A name on disk, resolved without following links, and operations on the file there.
//!
//! The parent directory stays open from the first check to the last operation, so replacing a
//! directory on the path with a link meanwhile has no effect.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, openat, renameat_with, unlinkat};

use crate::attributes::Attributes;
use crate::catalogue::Catalogue;
use crate::scan::volume_name;
use crate::walk::{Handle, Handles, stat_at, target_of};

/// A name in an open directory.
pub struct PathHandle {
    dir: Handle,
    name: Box<[u8]>,
    path: Vec<u8>,
}

fn not_a_path(path: &[u8]) -> io::Error {
    let path = String::from_utf8_lossy(path);
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{path} is not the absolute path of a file"),
    )
}

impl PathHandle {
    /// Opens the parent directory of an absolute path, one component at a time, so that paths
    /// beyond the system's length limit work and no link is followed. The name itself need not
    /// exist.
    ///
    /// # Errors
    /// Errors of the system for the directories; `InvalidInput` if the path is not absolute or
    /// names no file.
    pub fn open(path: &[u8]) -> io::Result<PathHandle> {
        PathHandle::open_parent(path, None)
    }

    /// As [`PathHandle::open`], but creates missing directories with these permission bits.
    ///
    /// # Errors
    /// As [`PathHandle::open`].
    pub fn create_parents(path: &[u8], mode: u16) -> io::Result<PathHandle> {
        PathHandle::open_parent(path, Some(mode))
    }

    fn open_parent(path: &[u8], make: Option<u16>) -> io::Result<PathHandle> {
        let rest = path.strip_prefix(b"/").ok_or_else(|| not_a_path(path))?;
        let mut names: Vec<&[u8]> = rest
            .split(|&byte| byte == b'/')
            .filter(|name| !name.is_empty())
            .collect();
        let name = names.pop().ok_or_else(|| not_a_path(path))?;
        if names
            .iter()
            .chain([&name])
            .any(|name| matches!(*name, b"." | b".."))
        {
            return Err(not_a_path(path));
        }
        let handles = Handles::new();
        let mut dir = handles.open_root(std::path::Path::new("/"))?;
        for name in names {
            if let Some(mode) = make {
                match rustix::fs::mkdirat(&dir, name, Mode::from_raw_mode(mode.into())) {
                    Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            dir = handles.open(&dir, name)?;
        }
        Ok(PathHandle {
            dir,
            name: name.into(),
            path: path.to_vec(),
        })
    }

    /// Returns the path that was passed in.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// Returns the current attributes of the file as a scan would record them; `None` if it does
    /// not exist.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn stat(&self, catalogue: &Catalogue) -> io::Result<Option<Attributes>> {
        let looked = match stat_at(&self.dir, &self.name) {
            Ok(looked) => looked,
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let name = volume_name(looked.device, &self.dir)?;
        // The catalogue has no number for a file system that no scan has seen.
        let Some(volume) = catalogue.known_volume(&name) else {
            return Err(io::Error::new(
                io::ErrorKind::CrossesDevices,
                "it is on a file system that is not catalogued",
            ));
        };
        let target = match looked.kind() {
            crate::Kind::Symlink => Some(target_of(&self.dir, &self.name)?),
            _ => None,
        };
        let mut attributes = looked.attributes(volume, &self.name, target);
        // A format found by content stays valid while the file is unchanged.
        let known = catalogue.locate_exactly(&self.path).map_err(io::Error::other)?;
        if let Some(known) = known {
            attributes.keep_content(&known.attributes);
        }
        Ok(Some(attributes))
    }

    /// Opens the file for reading; fails if it is a link. Does not block on a pipe without a
    /// writer.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn read(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(File::from(openat(&self.dir, &*self.name, flags, Mode::empty())?))
    }

    /// Creates a new file that only its owner can read. Fails if the file exists.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn create(&self) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file: OwnedFd = openat(&self.dir, &*self.name, flags, Mode::from_raw_mode(0o600))?;
        Ok(File::from(file))
    }

    /// Renames the file within its file system and never replaces another file. Syncs both
    /// directories, so that the new name survives a crash.
    ///
    /// # Errors
    /// `AlreadyExists`, `CrossesDevices`, and other errors of the system.
    pub fn rename(&self, to: &PathHandle) -> io::Result<()> {
        renameat_with(&self.dir, &*self.name, &to.dir, &*to.name, RenameFlags::NOREPLACE)?;
        // The new name is synced first: after a crash a file with both names is better than one
        // with neither.
        rustix::fs::fsync(&to.dir)?;
        rustix::fs::fsync(&self.dir)?;
        Ok(())
    }

    /// Removes the name.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn remove(&self) -> io::Result<()> {
        unlinkat(&self.dir, &*self.name, AtFlags::empty())?;
        rustix::fs::fsync(&self.dir)?;
        Ok(())
    }

    /// Returns the capacity of the file system in bytes, and how many of them an unprivileged user
    /// can still write.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn space(&self) -> io::Result<(u64, u64)> {
        let found = rustix::fs::fstatvfs(&self.dir)?;
        let block = found.f_frsize;
        // Blocks reserved for the superuser count as neither free nor used, as in `df`.
        let used = found.f_blocks.saturating_sub(found.f_bfree);
        let total = used.saturating_add(found.f_bavail);
        Ok((total.saturating_mul(block), found.f_bavail.saturating_mul(block)))
    }
}
