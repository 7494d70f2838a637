//! Objects of a store as entries of the catalogue: what a store must say of them, and how keys become names in directories.
//!
//! Nothing here knows a network: whoever scans a store gives the catalogue an [`Objects`].

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
    /// The objects whose keys begin with `prefix` and come after `after`, in bytewise order of key, as many as the store gives
    /// at a time. A page that is not the last one has at least one object.
    ///
    /// # Errors
    /// What the store says, after retries; also if there is no such bucket, which must not look like one without objects.
    fn page(&self, prefix: &[u8], after: Option<&[u8]>) -> io::Result<ObjectsPage>;
}

/// Objects that follow one another in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectsPage {
    /// In bytewise order of key.
    pub objects: Vec<Object>,
    /// Whether there are no more.
    pub is_last: bool,
}

/// An object as a listing has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its key in the bucket.
    pub key: Vec<u8>,
    /// Its length.
    pub size_bytes: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub modified_ns: i64,
}

/// Owner and group of what has none: no user has this number, which means "as it is" to chown(2).
pub const NO_OWNER: u32 = u32::MAX;

/// Whatever is numbered from here on is a bucket, below it a file system.
pub(crate) const BUCKETS_BEGIN: u32 = 1 << 31;

/// Which object or directory a key stands for: 128 bits of a hash of it, which nobody can make two keys have.
fn id(volume: u32, kind: Kind, key: &[u8]) -> FileId {
    let mut hash = sums::Sha256::default();
    hash.update(&[kind as u8]);
    hash.update(key);
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = hash.finish();
    FileId {
        volume,
        inode: u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        born_ns: i64::from_be_bytes([i, j, k, l, m, n, o, p]),
    }
}

/// The directory of the keys that begin with `path` and a slash; of all keys, if the path is empty.
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

/// The entry of an object under a name.
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
