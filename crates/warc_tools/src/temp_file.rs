//! Temporary files in the folder of an output.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::{WriteError, io_error};

/// Prefix of the names of temporary files.
pub(crate) const PREFIX: &str = ".weft-warc-";

/// Creates a temporary file for `out`, in its folder.
pub(crate) fn temporary(out: &Path) -> Result<NamedTempFile, WriteError> {
    // With the usual permissions of new files, within the umask of the process.
    tempfile::Builder::new()
        .prefix(PREFIX)
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder_of(out))
        .map_err(io_error("write", out))
}

/// Renames a file to its path, durably.
pub(crate) fn put(file: NamedTempFile, out: &Path, replaces: bool) -> Result<(), WriteError> {
    let named = if replaces {
        file.persist(out).map(drop)
    } else {
        file.persist_noclobber(out).map(drop)
    };
    named.map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => WriteError::Exists { path: out.to_owned() },
        _ => io_error("rename the temporary file to", out)(error.error),
    })?;
    sync_folder(out)
}

/// Syncs the folder of a file.
pub(crate) fn sync_folder(out: &Path) -> Result<(), WriteError> {
    let failed = || io_error("sync the folder of", out);
    let folder = File::open(folder_of(out)).map_err(failed())?;
    folder.sync_all().map_err(failed())
}

/// Returns the folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
