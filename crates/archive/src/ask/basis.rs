//! The state from which every answer is made.

use std::ops::Deref;
use std::sync::Arc;

use access::AccessFilter;
use index::Snapshot;
use inputs::Sources;

use super::visible_snapshot::VisibleSnapshot;
use crate::inlink_counts::InlinkCounts;
use crate::open_archive::OpenArchive;
use crate::question::PurgedBody;
use crate::views::Views;

/// What look-ups read. An archive has it, and so have serving tables.
pub(super) struct LookUps<'a> {
    views: Box<dyn Views + 'a>,
    /// The parts of the views that the client may see.
    pub(super) filter: Arc<AccessFilter>,
    inlink_counts: &'a InlinkCounts,
    /// Sources of inputs.
    pub(super) sources: &'a Sources,
}

impl<'a> LookUps<'a> {
    pub(super) fn new(
        views: Box<dyn Views + 'a>,
        filter: Arc<AccessFilter>,
        inlink_counts: &'a InlinkCounts,
        sources: &'a Sources,
    ) -> LookUps<'a> {
        LookUps {
            views,
            filter,
            inlink_counts,
            sources,
        }
    }

    /// Returns the views as the client may see them.
    pub(super) fn visible(&self) -> VisibleSnapshot<'_> {
        VisibleSnapshot::new(&*self.views, &self.filter, self.inlink_counts)
    }
}

/// The archive, and the one snapshot that a whole answer describes.
pub(super) struct Basis<'a> {
    pub(super) open: &'a OpenArchive,
    pub(super) snapshot: Snapshot,
    look_ups: LookUps<'a>,
    /// Result of the purge, if the question asks for one. The purge runs before the snapshot is
    /// taken, because it would wait for the snapshot to be dropped.
    pub(super) purged: Option<PurgedBody>,
}

impl<'a> Basis<'a> {
    /// Takes the newest snapshot.
    pub(super) fn new(
        open: &'a OpenArchive,
        filter: Arc<AccessFilter>,
        purged: Option<PurgedBody>,
    ) -> Basis<'a> {
        let snapshot = open.index.snapshot();
        let views = Box::new(snapshot.clone());
        Basis {
            open,
            snapshot,
            look_ups: LookUps::new(views, filter, &open.inlink_counts, &open.sources),
            purged,
        }
    }
}

impl<'a> Deref for Basis<'a> {
    type Target = LookUps<'a>;

    fn deref(&self) -> &LookUps<'a> {
        &self.look_ups
    }
}
