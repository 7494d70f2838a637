//! Files and directories that only their owner can access, so that a store's content is private on
//! a shared machine.
//!
//! Entries that an earlier version created with the usual permissions are restricted when next used
//! ([`close`]).

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

/// Permission bits of group and others.
const OTHERS: u32 = 0o077;

/// Returns options to open or create a file; a new file is readable and writable only by its owner.
pub fn file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE_MODE);
    options
}

/// Creates a directory that only its owner can access.
pub fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIR_MODE).create(path)
}

/// Removes the permissions of group and others from the entry at a path, if it exists.
pub fn close(path: &Path) -> io::Result<()> {
    let mode = match fs::symlink_metadata(path) {
        // The target of a link was chosen by the user, and may be shared for a reason.
        Ok(found) if found.is_symlink() => return Ok(()),
        Ok(found) => found.permissions().mode(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if mode & OTHERS == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 & !OTHERS))
}
