//! Properties of an input that are known before it is read.

/// Properties of an input that are known before it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stat {
    /// Size in bytes; 0 if the server does not report it.
    pub size: u64,
    /// A strong entity tag, which changes whenever the content does; `None` if there is none.
    pub validator: Option<String>,
    /// SHA-256 of the content, if our own store keeps it.
    pub sha256: Option<[u8; 32]>,
}
