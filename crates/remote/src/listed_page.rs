//! A page of a listing, as every source of objects returns it.

/// An object of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedObject {
    /// Its key in the bucket.
    pub key: Vec<u8>,
    /// Its length in bytes.
    pub size_bytes: u64,
    /// When it was last written, in milliseconds since 1970.
    pub modified_ms: i64,
}

/// A page of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListedPage {
    /// Objects in bytewise order of key.
    pub objects: Vec<ListedObject>,
    /// Whether this is the last page.
    pub is_last: bool,
}
