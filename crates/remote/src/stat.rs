//! What is known of an input before it is read.

/// What is known of an input before it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stat {
    /// Bytes; 0 where it is not told before reading.
    pub size: u64,
    /// Changes whenever the content does (a strong entity tag); `None` if there is nothing of the kind.
    pub validator: Option<String>,
    /// SHA-256 of the content, where our own store keeps it.
    pub sha256: Option<[u8; 32]>,
}
