//! Settings of a reader.

/// Settings of a reader.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReaderSettings {
    /// Most bytes of a block to store. Further bytes are read only for length and digest. 0 skips
    /// blocks (in plain files without reading them).
    pub body_bytes_max: u64,
    /// Whether to verify declared block and payload digests.
    pub verify_digests: bool,
    /// Offset of the first byte to read: a record boundary returned by an earlier run.
    pub start_offset: u64,
    /// Whether the file may still be growing. If so, an incomplete tail is left unread instead of
    /// quarantined.
    pub growing: bool,
}

impl Default for ReaderSettings {
    /// Stores bodies of up to 16 MiB, verifies no digests, starts at 0, and assumes that the file
    /// is complete.
    fn default() -> ReaderSettings {
        ReaderSettings {
            body_bytes_max: 16 << 20,
            verify_digests: false,
            start_offset: 0,
            growing: false,
        }
    }
}
