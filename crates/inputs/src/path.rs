//! Converts paths to text and back. Any bytes of a path survive the ledger, the socket and JSON.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Returns the text of a path for requests, answers and the ledger. Valid UTF-8 is kept. A byte
/// that is not part of valid UTF-8 is written as `\xNN`, and a backslash that could be mistaken for
/// this as `\x5c`.
///
/// ```
/// use std::ffi::OsStr;
/// use std::os::unix::ffi::OsStrExt;
/// use std::path::Path;
///
/// let path = Path::new(OsStr::from_bytes(b"/crawls/\xff.warc"));
/// let text = inputs::path_text(path);
/// assert_eq!(text, r"/crawls/\xff.warc");
/// assert_eq!(inputs::path_of(&text), path);
/// ```
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

/// Returns whether a location is an address (`scheme://...`) instead of a path.
pub fn is_address(location: &str) -> bool {
    let Some((scheme, _)) = location.split_once("://") else {
        return false;
    };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Splits an address into `scheme://authority` and the rest without its leading slash.
pub(super) fn split(address: &str) -> (&str, &str) {
    let start = address.find("://").map_or(0, |at| at + 3);
    match address[start..].find('/') {
        Some(slash) => (&address[..start + slash], &address[start + slash + 1..]),
        None => (address, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_paths() {
        for address in ["s3://bucket/x", "https://h/x?y", "store://b", "HTTP://h"] {
            assert!(is_address(address), "{address}");
        }
        for path in [
            "/a/b",
            "a://b/c".trim_start_matches("a"),
            "a/b://c",
            "C:\\x",
            "x.warc",
            "1a://b",
        ] {
            assert!(!is_address(path), "{path}");
        }
        assert_eq!(split("s3://b/c/d"), ("s3://b", "c/d"));
        assert_eq!(split("s3://b"), ("s3://b", ""));
    }
}
