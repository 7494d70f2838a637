//! The state from which every answer is made.

use std::sync::Arc;

use access::AccessFilter;
use index::Snapshot;

use super::visible_snapshot::VisibleSnapshot;
use crate::open_archive::OpenArchive;
use crate::question::PurgedBody;

/// The archive, and the one snapshot that a whole answer describes.
pub(super) struct Basis<'a> {
    pub(super) open: &'a OpenArchive,
    pub(super) snapshot: Snapshot,
    /// The parts of the snapshot that the client may see.
    pub(super) filter: Arc<AccessFilter>,
    /// Result of the purge, if the question asks for one. The purge runs before the snapshot is
    /// taken, because it would wait for the snapshot to be dropped.
    pub(super) purged: Option<PurgedBody>,
}

impl Basis<'_> {
    /// Returns the snapshot as the client may see it.
    pub(super) fn visible(&self) -> VisibleSnapshot<'_> {
        VisibleSnapshot::new(&self.snapshot, &self.filter, &self.open.inlink_counts)
    }
}
