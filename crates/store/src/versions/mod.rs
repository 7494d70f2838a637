//! Versions of objects in buckets that keep them, on top of a store that keeps one version per key.
//!
//! The current version is the plain object `bucket/name`, as in any bucket, so readers that ignore
//! versions are right. Older versions and delete markers are objects of the hidden bucket
//! `.versions`, named `BUCKET/NAME`, a NUL, and a [`Place`]: in order of names, the newest first.
//!
//! Invariants:
//!  - a version is copied to its place before it is replaced or removed, and the write that
//!    replaces it requires that it is still current: no crash or concurrent node loses a version;
//!  - the current version is newer than all others. An entry at a place above it is unfinished work
//!    (a marker before its deletion, a version after its removal) and is not listed;
//!  - a version keeps one id. Two entries with one id are one version: the write or removal between
//!    the two steps was interrupted, or is in progress.
//!
//! Every step is one write of the store, and the change takes effect with that of the plain object.

mod entry;
mod list;
mod read;
mod remove;
mod rewrite;
mod write;

pub use list::{ListVersions, VersionListing};
pub use read::ObjectVersion;
pub use write::Deletion;

pub(crate) use write::{VersionCopy, refused};

/// How often a change is retried after another client wrote the object in between. Fewer would
/// refuse some of many simultaneous writers; without a limit a request could try forever.
pub(crate) const TRIES: u32 = 32;
