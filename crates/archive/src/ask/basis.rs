//! What every answer is made from.

use std::sync::Arc;

use rights::Sight;
use weave::Snapshot;

use super::seen::Seen;
use crate::open_archive::OpenArchive;
use crate::question::PurgedBody;

/// The archive, and the one snapshot that everything in an answer belongs to.
pub(super) struct Basis<'a> {
    pub(super) open: &'a OpenArchive,
    pub(super) snapshot: Snapshot,
    /// What of it may show in an answer.
    pub(super) sight: Arc<Sight>,
    /// What a purge came to, where one was asked for: done before the snapshot was taken, which it would wait for.
    pub(super) purged: Option<PurgedBody>,
}

impl Basis<'_> {
    /// The snapshot as who asks may see it.
    pub(super) fn seen(&self) -> Seen<'_> {
        Seen::new(&self.snapshot, &self.sight, &self.open.seen_counts)
    }
}
