//! Paths of the catalogue, which are bytes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use catalogue::{Catalogue, FileVersion, Kind, PathHandle};

/// Returns the path with these bytes.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Returns whether a path is a directory or below it.
pub(crate) fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || directory == b"/")
}

/// Returns whether the path now refers to the file with this identity.
pub(crate) fn is_there(catalogue: &Catalogue, path: &[u8], seen: &FileVersion) -> bool {
    let found = PathHandle::open(path).and_then(|place| place.stat(catalogue));
    matches!(found, Ok(Some(file)) if file.id == seen.id && file.kind != Kind::Directory)
}
