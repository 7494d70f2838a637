//! Converts paths to text and back. Any bytes of a path survive the ledger, the socket and JSON.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The text of a path in requests, answers and the ledger. It is the path itself if that is UTF-8. A byte
/// that is not part of valid UTF-8 is written as `\xNN`, and a backslash that could be mistaken for this as
/// `\x5c`.
pub fn path_text(path: &Path) -> String {
    format::file_name::name_text(path.as_os_str().as_bytes())
}

/// The path that has this text.
pub fn path_of(text: &str) -> PathBuf {
    PathBuf::from(OsString::from_vec(format::file_name::name_bytes(text)))
}

/// The address that has this text; `None` if its bytes are not UTF-8, which no address has.
pub(super) fn address_of(text: &str) -> Option<String> {
    String::from_utf8(format::file_name::name_bytes(text)).ok()
}

/// The text of an address.
pub(super) fn address_text(address: &str) -> String {
    format::file_name::name_text(address.as_bytes())
}
