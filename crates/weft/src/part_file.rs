//! Files and folders that get their final name when complete. Until then the name ends in `.part`.
//!
//! Invariants:
//! - Two commands never write the same file: a writer holds a lock on it from before the first byte
//!   until the rename. A file left by a killed command is unlocked and is overwritten.
//! - An unfinished file or folder is removed, so partial output never passes for complete output.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::outcome::WrongUse;

/// A file or folder under construction.
#[derive(Debug)]
pub(crate) struct PartFile {
    temporary: PathBuf,
    path: PathBuf,
    /// Holds the lock; `None` for a folder.
    locked: Option<File>,
    is_finished: bool,
}

/// Refuses `-`, which many programs take for standard output.
pub(crate) fn check_name(path: &Path) -> Result<(), WrongUse> {
    if is_standard_output(path) {
        let dash = "- is not standard output here; name a file (./- for a file called -)";
        Err(WrongUse(dash.to_owned()))
    } else {
        Ok(())
    }
}

impl PartFile {
    /// Creates the temporary file that becomes `path`.
    pub(crate) fn begin(path: &Path) -> anyhow::Result<(PartFile, File)> {
        check_name(path)?;
        let temporary = temporary_path_of(path);
        let create = || format!("create {}", temporary.display());
        let file = open_locked(&temporary).with_context(create)?;
        let Some(file) = file else {
            let busy = format!(
                "{} exists: another command is writing it; write to another name, or wait",
                temporary.display()
            );
            return Err(WrongUse(busy).into());
        };
        let locked = file.try_clone().with_context(create)?;
        Ok((PartFile::of(path, temporary, Some(locked)), file))
    }

    /// Creates the temporary folder that becomes `path`.
    pub(crate) fn begin_folder(path: &Path) -> anyhow::Result<PartFile> {
        check_name(path)?;
        let temporary = temporary_path_of(path);
        match fs::create_dir(&temporary) {
            Ok(()) => Ok(PartFile::of(path, temporary, None)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let there = format!(
                    "{} exists: another command is writing it. If no command is running, a killed one left \
                     it: remove it",
                    temporary.display()
                );
                Err(WrongUse(there).into())
            }
            Err(error) => Err(error).with_context(|| format!("create {}", temporary.display())),
        }
    }

    fn of(path: &Path, temporary: PathBuf, locked: Option<File>) -> PartFile {
        PartFile {
            temporary,
            path: path.to_owned(),
            locked,
            is_finished: false,
        }
    }

    /// Returns the temporary path.
    pub(crate) fn temporary_path(&self) -> &Path {
        &self.temporary
    }

    /// Renames the file or folder to its final name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.path)?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        // If removal fails, the `.part` name still marks it as incomplete.
        let _ = match (self.is_finished, &self.locked) {
            (true, _) => Ok(()),
            (false, None) => fs::remove_dir_all(&self.temporary),
            (false, Some(_)) => fs::remove_file(&self.temporary),
        };
    }
}

/// Returns whether the name given for a file means standard output.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// Refuses a path at which something exists.
pub(crate) fn refuse_existing(path: &Path) -> Result<(), WrongUse> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let there = format!("{} already exists and is not overwritten", path.display());
    Err(WrongUse(there))
}

fn temporary_path_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

/// Opens a file for writing, truncated and locked. Returns `None` if another process holds the
/// lock.
fn open_locked(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // If the file system has no locks, other writers cannot be detected.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let opened = file.metadata()?;
        let place = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
        // The previous lock holder may just have renamed the file to its final name. That file must
        // not be touched, so retry.
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
