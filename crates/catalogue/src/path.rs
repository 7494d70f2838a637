//! Paths of the catalogue, which are bytes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// Splits a path of a file system into names.
pub(crate) fn names_of(path: &[u8]) -> Vec<&[u8]> {
    let names = path.split(|&byte| byte == b'/');
    names.filter(|name| !name.is_empty()).collect()
}

/// Returns the path with these bytes.
pub(crate) fn path_buf(path: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(path))
}

/// Returns the rest of a path below `root`; empty if they are equal.
pub(crate) fn rest_below<'a>(path: &'a [u8], root: &[u8]) -> Option<&'a [u8]> {
    let rest = path.strip_prefix(root)?;
    match rest.first() {
        None | Some(b'/') => Some(rest.strip_prefix(b"/").unwrap_or(rest)),
        // The root directory itself ends in a slash.
        Some(_) if root == b"/" => Some(rest),
        Some(_) => None,
    }
}
