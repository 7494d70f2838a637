//! How to read.

/// How to read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReaderSettings {
    /// Bytes of a record's block that are kept; the rest is read through for length and digest. 0 skips blocks
    /// (in plain files without reading them).
    pub body_bytes_max: u64,
    /// Check declared block and payload digests.
    pub verify_digests: bool,
    /// First byte to read: a record boundary given by an earlier run.
    pub start_offset: u64,
    /// The file may still be growing: an incomplete tail is not quarantined but left unread.
    pub growing: bool,
}

impl Default for ReaderSettings {
    /// Bodies up to 16 MiB, no digests verified, from the start, not growing.
    fn default() -> ReaderSettings {
        ReaderSettings {
            body_bytes_max: 16 << 20,
            verify_digests: false,
            start_offset: 0,
            growing: false,
        }
    }
}
