//! What every answer is made from.

use weave::Snapshot;

use crate::open_archive::OpenArchive;

/// The archive, and the one snapshot that everything in an answer belongs to.
pub(super) struct Basis<'a> {
    pub(super) open: &'a OpenArchive,
    pub(super) snapshot: Snapshot,
}
