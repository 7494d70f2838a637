//! Files and folders that get their name when they are whole. Until then `.part` is behind it.
//!
//! Invariants:
//! - two commands never write the same file: whoever writes it holds a lock on it from before its first byte until it has its name.
//!   What was left by a command that was killed has no lock, and is written over;
//! - what is not finished is removed, so that what is half made is never taken for the whole.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::exit::WrongUse;

/// A file or folder that is being made.
#[derive(Debug)]
pub(crate) struct PartFile {
    making: PathBuf,
    path: PathBuf,
    /// Holds the lock; `None` of a folder.
    locked: Option<File>,
    is_finished: bool,
}

impl PartFile {
    /// Begins the file that becomes `path`.
    pub(crate) fn begin(path: &Path) -> anyhow::Result<(PartFile, File)> {
        let making = making_of(path);
        let create = || format!("create {}", making.display());
        let file = open_locked(&making).with_context(create)?;
        let Some(file) = file else {
            let busy = format!(
                "{} is there already: another command is writing it; write to another name, or wait",
                making.display()
            );
            return Err(WrongUse(busy).into());
        };
        let locked = file.try_clone().with_context(create)?;
        Ok((PartFile::of(path, making, Some(locked)), file))
    }

    /// Begins the folder that becomes `path`.
    pub(crate) fn begin_folder(path: &Path) -> anyhow::Result<PartFile> {
        let making = making_of(path);
        match fs::create_dir(&making) {
            Ok(()) => Ok(PartFile::of(path, making, None)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let there = format!(
                    "{} is there already: another command is writing it; if none is, it was left by one that was killed: remove it",
                    making.display()
                );
                Err(WrongUse(there).into())
            }
            Err(error) => Err(error).with_context(|| format!("create {}", making.display())),
        }
    }

    fn of(path: &Path, making: PathBuf, locked: Option<File>) -> PartFile {
        PartFile {
            making,
            path: path.to_owned(),
            locked,
            is_finished: false,
        }
    }

    /// Where it is made.
    pub(crate) fn making(&self) -> &Path {
        &self.making
    }

    /// Gives it its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        fs::rename(&self.making, &self.path)?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        // If it cannot be removed, it stays with a name that says what it is.
        let _ = match (self.is_finished, &self.locked) {
            (true, _) => Ok(()),
            (false, None) => fs::remove_dir_all(&self.making),
            (false, Some(_)) => fs::remove_file(&self.making),
        };
    }
}

fn making_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

/// Opens a file for writing, empty and locked; `None` if another process has it so.
fn open_locked(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // Where there are no locks, nobody can be told of.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let opened = file.metadata()?;
        let place = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
        // Whoever held the lock a moment ago may have given the file its name: then it must not be touched.
        match fs::metadata(path) {
            Ok(there) if place(&there) == place(&opened) => {}
            Ok(_) => continue,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        }
        if opened.is_file() {
            file.set_len(0)?;
        }
        return Ok(Some(file));
    }
}
