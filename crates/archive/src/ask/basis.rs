//! The state from which every answer is made.

use std::sync::Arc;

use access::Sight;
use index::Snapshot;

use super::seen::Seen;
use crate::open_archive::OpenArchive;
use crate::question::PurgedBody;

/// The archive, and the one snapshot that a whole answer describes.
pub(super) struct Basis<'a> {
    pub(super) open: &'a OpenArchive,
    pub(super) snapshot: Snapshot,
    /// The parts of the snapshot that the client may see.
    pub(super) sight: Arc<Sight>,
    /// Result of the purge, if the question asks for one. The purge runs before the snapshot is
    /// taken, because it would wait for the snapshot to be dropped.
    pub(super) purged: Option<PurgedBody>,
}

impl Basis<'_> {
    /// Returns the snapshot as the client may see it.
    pub(super) fn seen(&self) -> Seen<'_> {
        Seen::new(&self.snapshot, &self.sight, &self.open.seen_counts)
    }
}
