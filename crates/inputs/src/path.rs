//! Converts paths to text and back. Any bytes of a path survive the ledger, the socket and JSON.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Returns the text of a path for requests, answers and the ledger. Valid UTF-8 is kept. A byte
/// that is not part of valid UTF-8 is written as `\xNN`, and a backslash that could be mistaken for
/// this as `\x5c`.
pub fn path_text(path: &Path) -> String {
    format::file_name::name_text(path.as_os_str().as_bytes())
}

/// Returns the path with this text.
pub fn path_of(text: &str) -> PathBuf {
    PathBuf::from(OsString::from_vec(format::file_name::name_bytes(text)))
}

/// Returns the address with this text; `None` if its bytes are not UTF-8, as an address must be.
pub(super) fn address_of(text: &str) -> Option<String> {
    String::from_utf8(format::file_name::name_bytes(text)).ok()
}

/// Returns the text of an address.
pub(super) fn address_text(address: &str) -> String {
    format::file_name::name_text(address.as_bytes())
}
