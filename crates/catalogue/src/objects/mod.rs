//! Objects of a store as entries of the catalogue: the listing interface, and the mapping of keys
//! to names in directories.
//!
//! This module does no network access: the caller provides an [`Objects`].

mod address;
mod key;

use std::io;

pub(crate) use address::path_parts;
pub use address::{Address, AddressError, is_address};
pub(crate) use key::{dir_name, dirs_of, shown_name, split};

use crate::attributes::{Attributes, Entry, FileId, Kind};
use crate::format::Format;

/// The objects of one bucket, as a store lists them.
pub trait Objects: Send + Sync {
    /// Returns the next page of objects whose keys start with `prefix` and come after `after`, in
    /// bytewise order of key. The store chooses the page size. Every page but the last has at least
    /// one object.
    ///
    /// # Errors
    /// Errors of the store, after retries. A missing bucket must be an error, not an empty page.
    fn page(&self, prefix: &[u8], after: Option<&[u8]>) -> io::Result<ObjectsPage>;
}

/// A page of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectsPage {
    /// Objects in bytewise order of key.
    pub objects: Vec<Object>,
    /// Whether this is the last page.
    pub is_last: bool,
}

/// An object in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its key in the bucket.
    pub key: Vec<u8>,
    /// Its length in bytes.
    pub size_bytes: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub modified_ns: i64,
}

/// Owner and group of objects. No user has this id: chown(2) interprets it as "unchanged".
pub const NO_OWNER: u32 = u32::MAX;

/// Returns the identity of the object or directory with this key: 128 bits of a cryptographic hash,
/// so collisions cannot be forged.
fn id(volume: u32, kind: Kind, key: &[u8]) -> FileId {
    let mut hash = digests::Sha256::default();
    hash.update(&[kind as u8]);
    hash.update(key);
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = hash.finish();
    FileId {
        volume,
        inode: u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        born_ns: i64::from_be_bytes([i, j, k, l, m, n, o, p]),
    }
}

/// Returns the directory of the keys that start with `path` and a slash; of all keys if the path is
/// empty.
pub(crate) fn directory(volume: u32, path: &[u8]) -> Attributes {
    Attributes {
        id: id(volume, Kind::Directory, path),
        kind: Kind::Directory,
        uid: NO_OWNER,
        gid: NO_OWNER,
        links: 1,
        ..Attributes::default()
    }
}

/// Returns the entry of an object under a name.
pub(crate) fn entry(volume: u32, object: &Object, name: &[u8]) -> Entry {
    Entry {
        name: name.into(),
        attributes: Attributes {
            id: id(volume, Kind::File, &object.key),
            kind: Kind::File,
            uid: NO_OWNER,
            gid: NO_OWNER,
            links: 1,
            size_bytes: object.size_bytes,
            blocks: object.size_bytes.div_ceil(512),
            modified_ns: object.modified_ns,
            changed_ns: object.modified_ns,
            format: Format::of_name(name),
            ..Attributes::default()
        },
    }
}
