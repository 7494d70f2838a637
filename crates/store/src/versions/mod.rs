//! Versions of objects in buckets that keep them, above a store that keeps one version of each key.
//!
//! The current version is the plain object `bucket/name`, as in any bucket, so readers that know nothing of
//! versions are right. Older versions and delete markers are objects of the hidden bucket `.versions`, named
//! `BUCKET/NAME`, a NUL, and a [`Place`]: names stay in order, and of one name the newest comes first.
//!
//! Invariants:
//!  - a version is copied to its place before it is replaced or removed, and the write that replaces it is on
//!    condition that it is still current: nothing is lost, whoever crashes, and whichever nodes write at once;
//!  - the current version is newer than all others. What lies at a place above it is unfinished work (a marker
//!    whose deletion has not happened, a version whose removal has), and is not listed;
//!  - a version has one id for ever. What is found twice under one id is one version: the write or the removal
//!    between the two steps was broken off, or is under way.
//!
//! Each step below a change is one write of the store, and the change happens with that of the plain object.
//! Within a process changes of one name wait for each other. Through several nodes at once a version that is
//! removed for good while two others write the object may stay as an older version; it is removed again then.
//! A listing made while a newest version is being removed may miss the one below it.

mod entry;
mod id;
mod list;
mod read;
mod remove;
mod rewrite;
mod write;

pub use id::{VersionId, is_delete_marker};
pub use list::{ListVersions, VersionListing};
pub use read::ObjectVersion;
pub use write::{Deletion, Versioning};

pub(crate) use id::VERSION_ID;
pub(crate) use write::{Kept, refused};

/// How often a change is tried again after somebody else wrote the object in between. Fewer would refuse some
/// of many writers at once; without an end a request could try for ever.
pub(crate) const TRIES: u32 = 32;
