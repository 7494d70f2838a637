//! What every answer is made from.

use weave::Snapshot;

use crate::open_archive::OpenArchive;
use crate::question::PurgedBody;

/// The archive, and the one snapshot that everything in an answer belongs to.
pub(super) struct Basis<'a> {
    pub(super) open: &'a OpenArchive,
    pub(super) snapshot: Snapshot,
    /// What a purge came to, where one was asked for: done before the snapshot was taken, which it would wait for.
    pub(super) purged: Option<PurgedBody>,
}
