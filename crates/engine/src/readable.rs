//! Makes the files of a database readable for everyone who may list their directory.
//!
//! The engines write some of their files through temporary ones, which only their owner may read
//! whatever the umask is; other files follow the umask. This runs when the engines are closed and
//! the lock is still held, so nothing changes meanwhile.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Read permission of the group and of others.
const OTHERS_READ: u32 = 0o044;

/// Adds the read permissions of the directory to files below `dir` that only their owner may read.
///
/// # Errors
/// The first error of the system. Later files are left unchanged.
pub fn make_readable(dir: &Path) -> io::Result<()> {
    let folder = fs::metadata(dir)?.permissions().mode();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            make_readable(&entry.path())?;
        } else if kind.is_file() {
            let mode = entry.metadata()?.permissions().mode() & 0o7777;
            if mode & 0o077 == 0 && folder & OTHERS_READ != 0 {
                fs::set_permissions(entry.path(), Permissions::from_mode(mode | folder & OTHERS_READ))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_become_as_readable_as_their_folder() {
        let dir = tempfile::tempdir().unwrap();
        let make = |folder: &str, mode: u32| {
            let folder = dir.path().join(folder);
            fs::create_dir(&folder).unwrap();
            let file = folder.join("current");
            fs::write(&file, b"x").unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            file
        };
        let (open, group, closed) = (make("open", 0o755), make("group", 0o750), make("closed", 0o700));
        make_readable(dir.path()).unwrap();
        let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&open), mode(&group), mode(&closed)), (0o644, 0o640, 0o600));
    }
}
