//! Binds and connects even if the path is longer than a socket address allows (108 bytes on Linux).
//!
//! A long path is reached through its folder, which is opened first: `/proc/self/fd/N/socket` is
//! always short.
//!
//! A process that can connect has all rights to the archive. So the socket is in a folder that only
//! the owner of the archive may enter, and has restricted permissions itself, whatever the umask of
//! the process is.

#![expect(
    clippy::disallowed_methods,
    reason = "this module opens the socket of an archive"
)]

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Longest path passed to the system unchanged. Some systems allow only 104 bytes with the final
/// zero.
const DIRECT_MAX: usize = 100;

/// Only the owner may connect, which requires write permission.
const SOCKET_MODE: u32 = 0o600;

/// Binds `path` and replaces a socket that a crashed owner left behind. The caller holds the lock,
/// so no living owner uses it. Creates the folder of the socket if needed.
pub(super) fn bind(path: &Path) -> io::Result<UnixListener> {
    if let Some(folder) = path.parent() {
        // Restrict the folder first: a new socket is open to others until its own permissions are
        // set.
        match system::private::create_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => system::private::close(folder)?,
            made => made?,
        }
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let short = ShortPath::of(path)?;
    let listener = UnixListener::bind(&short.path)?;
    std::fs::set_permissions(&short.path, Permissions::from_mode(SOCKET_MODE))?;
    Ok(listener)
}

pub(super) fn connect(path: &Path) -> io::Result<UnixStream> {
    let short = ShortPath::of(path)?;
    UnixStream::connect(&short.path)
}

/// A path short enough for an address, and the open folder through which it leads, if any.
struct ShortPath {
    path: PathBuf,
    _folder: Option<File>,
}

impl ShortPath {
    fn of(path: &Path) -> io::Result<ShortPath> {
        let parts = (path.parent(), path.file_name());
        let (Some(folder), Some(name)) = parts else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a socket needs a file name",
            ));
        };
        if path.as_os_str().as_bytes().len() <= DIRECT_MAX {
            return Ok(ShortPath {
                path: path.to_owned(),
                _folder: None,
            });
        }
        let folder = File::open(folder)?;
        let through = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
        Ok(ShortPath {
            path: through,
            _folder: Some(folder),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_longer_than_an_address_works() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("x".repeat(120)).join("y".repeat(120));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("socket");
        std::fs::write(&path, "left behind").unwrap();
        let listener = bind(&path).unwrap();
        let client = connect(&path).unwrap();
        listener.accept().unwrap();
        drop(client);
    }
}
