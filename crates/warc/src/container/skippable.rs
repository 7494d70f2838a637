//! Skippable frames, which zstd and LZ4 share: magic 4, length of the content 4, content.

/// Length of the content of the skippable frame that begins here, if one does.
pub(crate) fn content_bytes(bytes: &[u8]) -> Option<u32> {
    match bytes {
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] => Some(u32::from_le_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}
