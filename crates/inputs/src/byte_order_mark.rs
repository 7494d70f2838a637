//! The byte order mark of UTF-8, which some editors write at the beginning of a text.

const MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns `bytes` without a leading byte order mark.
pub(crate) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}
