//! The properties of an input known before it is read.

/// The properties of an input known before it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stat {
    /// Size in bytes; 0 if the server does not report it.
    pub size: u64,
    /// A strong entity tag, which changes whenever the content does; `None` if the source has no
    /// such tag.
    pub validator: Option<String>,
    /// SHA-256 of the content, if Weft's own store has it.
    pub sha256: Option<[u8; 32]>,
}
