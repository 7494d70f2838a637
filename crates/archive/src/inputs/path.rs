//! Paths as text and back: whatever bytes a path has, it survives the ledger, the socket and JSON.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The text of a path, as requests, answers and the ledger have it: the path itself where it is UTF-8; a byte that is
/// not stands as `\xNN`, and a backslash that would be read so as `\x5c`.
pub fn path_text(path: &Path) -> String {
    weave::name_text(path.as_os_str().as_bytes())
}

/// The path that has this text.
pub fn path_of(text: &str) -> PathBuf {
    PathBuf::from(OsString::from_vec(weave::name_bytes(text)))
}

/// The address that has this text; `None` where its bytes are no text, as no address's are.
pub(super) fn address_of(text: &str) -> Option<String> {
    String::from_utf8(weave::name_bytes(text)).ok()
}

/// The text of an address.
pub(super) fn address_text(address: &str) -> String {
    weave::name_text(address.as_bytes())
}
