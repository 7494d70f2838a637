//! What every answer is made from.

use weave::Snapshot;

use crate::parts::Parts;

/// The archive, and the one snapshot that everything in an answer belongs to.
pub(super) struct Basis<'a> {
    pub(super) parts: &'a Parts,
    pub(super) snapshot: Snapshot,
}
