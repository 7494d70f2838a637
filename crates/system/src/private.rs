//! Files and directories for their owner alone: what a store keeps is nobody's business on a machine that is shared.
//!
//! What an earlier version made with the usual permissions is closed when it is met again ([`close`]).

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

/// Bits of everybody but the owner.
const OTHERS: u32 = 0o077;

/// Options to open or make a file with; one that is made can be read and written by its owner only.
pub fn file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE_MODE);
    options
}

/// Makes a directory that only its owner may look into.
pub fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIR_MODE).create(path)
}

/// Takes the rights of everybody but the owner from what is at a path, if something is there.
pub fn close(path: &Path) -> io::Result<()> {
    let mode = match fs::symlink_metadata(path) {
        // What a link leads to was chosen by a person, and may be shared for a reason.
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
