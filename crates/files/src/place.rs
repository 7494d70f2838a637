//! A name on the disk, reached without following links, and what may be done with it there.
//!
//! Whoever acts on a file holds its directory open from the first look to the last, so that a directory that is replaced by a
//! link on the way leads nowhere else.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, openat, renameat_with, unlinkat};

use crate::attributes::Attributes;
use crate::catalogue::Catalogue;
use crate::scan::volume_name;
use crate::walk::{Handle, Handles, look_at, target_of};

/// A name in a directory that is held open.
pub struct Place {
    dir: Handle,
    name: Box<[u8]>,
    path: Vec<u8>,
}

fn not_a_path(path: &[u8]) -> io::Error {
    let path = String::from_utf8_lossy(path);
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{path} is no absolute path of a file"),
    )
}

impl Place {
    /// Opens the directory that an absolute path leads to, name by name, so that paths longer than the system's limit can be
    /// reached, and no link is followed. The name itself need not exist.
    ///
    /// # Errors
    /// What the system says of the directories; `InvalidInput` for a path that is not absolute or names no file.
    pub fn open(path: &[u8]) -> io::Result<Place> {
        Place::at(path, None)
    }

    /// As [`Place::open`], and makes directories that are missing, with these permission bits.
    ///
    /// # Errors
    /// As [`Place::open`].
    pub fn make(path: &[u8], mode: u16) -> io::Result<Place> {
        Place::at(path, Some(mode))
    }

    fn at(path: &[u8], make: Option<u16>) -> io::Result<Place> {
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
        Ok(Place {
            dir,
            name: name.into(),
            path: path.to_vec(),
        })
    }

    /// The path that was given.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// The file as it is now, as a scan would see it; `None` if there is none.
    ///
    /// # Errors
    /// What the system says.
    pub fn look(&self, catalogue: &Catalogue) -> io::Result<Option<Attributes>> {
        let looked = match look_at(&self.dir, &self.name) {
            Ok(looked) => looked,
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let name = volume_name(looked.device, &self.dir)?;
        // Of a file system that no scan has met nothing is known.
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
        // What a scan has found in the file holds as long as it is the same.
        let known = catalogue.locate_exactly(&self.path).map_err(io::Error::other)?;
        if let Some(known) = known {
            attributes.keep_content(&known.attributes);
        }
        Ok(Some(attributes))
    }

    /// Opens the file for reading, unless it is a link. Does not wait for the other end of a pipe.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(File::from(openat(&self.dir, &*self.name, flags, Mode::empty())?))
    }

    /// Makes a new file that only its owner may read; one that exists is an error.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(&self) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file: OwnedFd = openat(&self.dir, &*self.name, flags, Mode::from_raw_mode(0o600))?;
        Ok(File::from(file))
    }

    /// Gives the file another name on the same file system, and never takes the place of another file; both directories are
    /// synced, so that the new name holds after a crash.
    ///
    /// # Errors
    /// `AlreadyExists`, `CrossesDevices`, and what else the system says.
    pub fn rename(&self, to: &Place) -> io::Result<()> {
        renameat_with(&self.dir, &*self.name, &to.dir, &*to.name, RenameFlags::NOREPLACE)?;
        // The new name first: a file with both names after a crash is better than one with none.
        rustix::fs::fsync(&to.dir)?;
        rustix::fs::fsync(&self.dir)?;
        Ok(())
    }

    /// Removes the name.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self) -> io::Result<()> {
        unlinkat(&self.dir, &*self.name, AtFlags::empty())?;
        rustix::fs::fsync(&self.dir)?;
        Ok(())
    }

    /// How many bytes the file system of the directory has, and how many of them a user may still write.
    ///
    /// # Errors
    /// What the system says.
    pub fn room(&self) -> io::Result<(u64, u64)> {
        let found = rustix::fs::fstatvfs(&self.dir)?;
        let block = found.f_frsize;
        // Blocks that only the superuser may write are neither free nor used, as df counts.
        let used = found.f_blocks.saturating_sub(found.f_bfree);
        let total = used.saturating_add(found.f_bavail);
        Ok((total.saturating_mul(block), found.f_bavail.saturating_mul(block)))
    }
}
