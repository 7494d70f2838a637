//! What the stored bytes are, told by the bytes themselves, never by a file name.

pub(crate) mod decode;
pub(crate) mod decoders;
pub(crate) mod gzip;
pub(crate) mod lz4;
pub(crate) mod zstd;

/// What begins at a place in a file, between records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    /// A gzip member.
    Gzip,
    /// A zstd frame.
    Zstd,
    /// An LZ4 frame.
    Lz4,
    /// A skippable frame (zstd and LZ4 share them) with so many bytes of content.
    Skippable(u32),
}

/// Bytes needed to tell; also the length of a skippable frame's header.
pub(crate) const MAGIC_BYTES: usize = 8;

/// First bytes (as a little-endian number) of the skippable frame that holds the dictionary of a `.warc.zst`.
pub(crate) const DICTIONARY_MAGIC: u32 = 0x184D_2A5D;

/// Recognises the container whose bytes begin here.
pub(crate) fn sniff(bytes: &[u8]) -> Option<Container> {
    match bytes {
        // Method 8 is deflate; the upper three flags are reserved.
        [0x1f, 0x8b, 8, flags, ..] if flags & 0xe0 == 0 => Some(Container::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Container::Zstd),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some(Container::Lz4),
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] => {
            Some(Container::Skippable(u32::from_le_bytes([*a, *b, *c, *d])))
        }
        _ => None,
    }
}
