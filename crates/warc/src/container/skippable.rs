//! Skippable frames, used by both zstd (RFC 8878, 3.1.2) and LZ4: magic number 4, content length 4,
//! content.

/// Returns the content length if a skippable frame begins here.
pub(crate) fn content_bytes(bytes: &[u8]) -> Option<u32> {
    match bytes {
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] => Some(u32::from_le_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}
