//! Tracks the epochs fed to the search index, those that wait, and the deferred anchor changes.
//!
//! A page whose anchors change has to be indexed again, with all of its text. A load of pages that
//! link to one another changes, in every epoch, the anchors of far more pages than it adds. So a
//! large load lets whole epochs wait while nobody searches, and each page is indexed once, with the
//! anchors of all of them. If somebody searches, pages are fed at once and only their anchors wait,
//! until the load ends. Only hashes of the keys are held; the keys are in the index's rows of
//! changes. The search index stores the last epoch without deferred changes
//! ([`settled_epoch`](search::SearchIndex::settled_epoch)), so that they survive a crash.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use index::{Epoch, PageChange, Snapshot};
use search::SearchIndex;

use super::{Coverage, FeedError, SearchProgress, anchors_change, apply};
use crate::crash;

/// Up to this number, pages of a load are fed immediately, which takes some 0.1 s.
const AT_ONCE_MAX: u64 = if cfg!(test) { 3 } else { 1000 };

/// One in so many documents may be indexed again at once because its anchors changed.
const AGAIN_ONE_IN: u64 = 10;

/// Limit of deferred pages: 8 bytes each, in a table that is half empty.
const DEFERRED_MAX: usize = 2_000_000;

/// Limit of changes that wait: 16 bytes for each of their pages when they are fed.
const WAITING_MAX: u64 = 3_600_000;

/// Limit of epochs that wait or whose anchors are deferred. The index keeps the changes of some
/// 1,000.
const EPOCHS_MAX: u64 = 768;

/// If more than so many times the documents of the search index wait, it is rebuilt, which needs no
/// rows of changes.
const MOSTLY_NEW: u64 = 8;

/// A load without a new epoch for this time has stalled.
const STALLED_AFTER: Duration = Duration::from_secs(10);

/// Returns whether most pages are new to a search index with this number of documents.
pub(super) fn is_mostly_new(pages: u64, documents_on_disk: u64) -> bool {
    pages > MOSTLY_NEW * documents_on_disk
}

/// The state of feeding.
#[derive(Debug)]
pub(crate) struct FeedState {
    /// The last epoch that was fed.
    pub(crate) epoch: u64,
    /// The last epoch up to which nothing is deferred.
    settled: u64,
    /// Hashes of the keys of pages whose anchors have changed since.
    deferred: HashSet<u64>,
    hashes: RandomState,
    /// Number of documents indexed since `settled`, one epoch at a time.
    unsettled: u64,
    /// The same in this load.
    documents: u64,
    /// Number of documents that this load has indexed again because of their anchors alone.
    again: u64,
    /// The epochs after `epoch` that wait.
    waiting: WaitingEpochs,
    progress: Arc<SearchProgress>,
}

/// Epochs that wait to be fed together.
#[derive(Debug, Default)]
struct WaitingEpochs {
    /// Number of new or changed pages.
    pages: u64,
    /// Number of changes for which a document is indexed or deleted.
    changes: u64,
    /// The newest.
    last: u64,
    /// When the last one was added; `None` if no epoch waits.
    added_at: Option<Instant>,
}

impl FeedState {
    /// Makes the state of a search index that covers this epoch completely.
    pub(crate) fn at(epoch: u64) -> FeedState {
        FeedState {
            epoch,
            settled: epoch,
            deferred: HashSet::new(),
            hashes: RandomState::new(),
            unsettled: 0,
            documents: 0,
            again: 0,
            waiting: WaitingEpochs::default(),
            progress: Arc::default(),
        }
    }

    /// Returns the same state, with its progress reported to `progress`.
    pub(crate) fn with_progress(self, progress: Arc<SearchProgress>) -> FeedState {
        FeedState { progress, ..self }
    }

    /// Returns the progress of the search index.
    pub(crate) fn progress(&self) -> &SearchProgress {
        &self.progress
    }

    /// Returns whether any changes are deferred.
    pub(crate) fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// Returns whether any epochs wait.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.added_at.is_some()
    }

    /// Returns whether so many changes wait that a question or the end of a process should not feed
    /// them. Changed anchors count: their pages are indexed again.
    pub(crate) fn is_far_behind(&self) -> bool {
        self.waiting.changes > AT_ONCE_MAX
    }

    /// Returns whether a search should feed the epochs that wait, because they are few.
    pub(crate) fn should_search_feed(&self) -> bool {
        self.is_waiting() && !self.is_far_behind()
    }

    /// Returns whether epochs wait, and none has come for some time.
    pub(crate) fn has_stalled(&self) -> bool {
        self.waiting
            .added_at
            .is_some_and(|at| system::since(at) > STALLED_AFTER)
    }

    /// Returns whether this load is large, so that its next epochs may wait.
    pub(super) fn is_large_load(&self) -> bool {
        self.documents >= AT_ONCE_MAX
    }

    /// Notes the end of a load.
    pub(crate) fn end_load(&mut self) {
        self.documents = 0;
        self.again = 0;
    }

    /// Notes that nothing waits or is deferred up to this epoch.
    pub(crate) fn settle_at(&mut self, epoch: u64) {
        self.again += self.deferred.len() as u64;
        self.deferred = HashSet::new();
        self.unsettled = 0;
        self.waiting = WaitingEpochs::default();
        self.epoch = epoch;
        self.settled = epoch;
    }

    /// Notes that the search index may lack epochs that were fed, because it could not be written.
    /// The next feed then begins at the epoch up to which the search index has all changes.
    pub(crate) fn fall_behind(&mut self) {
        self.deferred = HashSet::new();
        self.waiting.added_at = Some(system::now());
    }

    /// Lets an epoch wait, and returns whether it does. It does not if a crash would then cost too
    /// much: beyond some epochs the index does not list their changes, and the search index is
    /// rebuilt.
    pub(super) fn hold_back(&mut self, epoch: u64, changes: &[PageChange], documents_on_disk: u64) -> bool {
        let is_upsert = |change: &&PageChange| matches!(change, PageChange::Upsert(_));
        let is_of_document = |change: &&PageChange| !matches!(change, PageChange::Bucket(..));
        let pages = self.waiting.pages + changes.iter().filter(is_upsert).count() as u64;
        let changes = self.waiting.changes + changes.iter().filter(is_of_document).count() as u64;
        // New inputs make epochs too, which are not handed over. So the next epoch may be as far
        // from this one as this one is from the last.
        let last = self.waiting.last.max(self.epoch);
        let next = epoch + epoch.saturating_sub(last);
        let are_few = changes <= WAITING_MAX && next - self.settled <= EPOCHS_MAX;
        // Deferred anchors wait with the epoch: everything since `settled` is then fed again, which
        // must not be more documents than these.
        let is_cheaper = !self.has_deferred() || self.deferred.len() as u64 >= self.unsettled;
        let waits = is_cheaper && (are_few || is_mostly_new(pages, documents_on_disk));
        if waits {
            self.deferred = HashSet::new();
            self.waiting = WaitingEpochs {
                pages,
                changes,
                last: epoch,
                added_at: Some(system::now()),
            };
        }
        waits
    }

    /// Notes the changes of an epoch that is fed. Returns whether deferred anchors must be fed now,
    /// including those of this epoch.
    pub(super) fn note(&mut self, epoch: u64, changes: &[PageChange]) -> bool {
        for change in changes {
            let hash = self.hashes.hash_one(change.url_key());
            match change {
                PageChange::Anchors(_) => drop(self.deferred.insert(hash)),
                // The document includes its anchors, or is deleted.
                PageChange::Upsert(_) => {
                    self.deferred.remove(&hash);
                    self.unsettled += 1;
                    self.documents += 1;
                }
                PageChange::Delete(_) | PageChange::Past(_) => drop(self.deferred.remove(&hash)),
                PageChange::Bucket(..) => {}
            }
        }
        let again = self.again + self.deferred.len() as u64;
        self.deferred.is_empty()
            || again <= AT_ONCE_MAX + self.documents / AGAIN_ONE_IN
            || self.deferred.len() > DEFERRED_MAX
            || epoch - self.settled >= EPOCHS_MAX
    }

    /// Feeds the deferred changes from the snapshot: that of the last epoch fed, or of a later one,
    /// whose changes follow.
    pub(super) fn settle(&mut self, search: &SearchIndex, snapshot: &Snapshot) -> Result<(), FeedError> {
        crash::point("feed.before_settle");
        self.progress.begin(self.deferred.len() as u64);
        self.again += self.deferred.len() as u64;
        let (deferred, hashes, progress) = (&mut self.deferred, &self.hashes, &self.progress);
        let changes = snapshot.pages_changed_between(Epoch(self.settled), Epoch(self.epoch));
        let again = changes.filter_map(|change| match change {
            // Fed once, even if several epochs list it.
            Ok(change) => (deferred.remove(&hashes.hash_one(change.url_key()))).then(|| {
                progress.count();
                anchors_change(snapshot, change.url_key().to_owned())
            }),
            Err(error) => Some(Err(error)),
        });
        let applied = apply(search, self.epoch, self.epoch, Coverage::Whole, again);
        self.progress.end();
        applied?;
        self.settle_at(self.epoch);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, numbers: std::ops::Range<u64>, change: fn(String) -> PageChange) -> Vec<PageChange> {
        numbers.map(|number| change(format!("{name}{number}"))).collect()
    }

    #[test]
    fn anchors_are_fed_at_once_only_for_a_tenth_of_the_documents() {
        let mut fed = FeedState::at(7);
        assert!(fed.note(8, &named("a", 0..AT_ONCE_MAX, PageChange::Anchors)));
        fed.settle_at(8);
        assert!(!fed.note(9, &named("a", 0..2, PageChange::Anchors)));
        assert!(!fed.note(10, &named("b", 0..19, PageChange::Upsert)));
        assert!(fed.note(11, &named("c", 0..1, PageChange::Upsert)));
        assert!(fed.has_deferred());
        fed.settle_at(11);
        assert!(!fed.has_deferred());
        assert!(!fed.note(12, &named("a", 0..1, PageChange::Anchors)));
        fed.settle_at(12);
        fed.end_load();
        assert!(fed.note(13, &named("a", 0..1, PageChange::Anchors)));
    }

    #[test]
    fn what_comes_or_goes_is_no_longer_owed() {
        let mut fed = FeedState::at(1);
        fed.note(2, &named("a", 0..3, PageChange::Anchors));
        fed.note(
            3,
            &[PageChange::Upsert("a0".into()), PageChange::Delete("a1".into())],
        );
        fed.note(4, &[PageChange::Bucket("a2".into(), 3)]);
        assert_eq!(fed.deferred.len(), 1);
    }

    #[test]
    fn nothing_is_owed_longer_than_the_index_has_the_changes() {
        let mut fed = FeedState::at(1);
        assert!(!fed.note(2, &named("a", 0..2 * AT_ONCE_MAX, PageChange::Anchors)));
        assert!(!fed.note(EPOCHS_MAX, &[]));
        assert!(fed.note(EPOCHS_MAX + 1, &[]));
    }

    #[test]
    fn epochs_of_a_large_load_wait_until_a_crash_would_cost_too_much() {
        let pages = named("a", 0..AT_ONCE_MAX, PageChange::Upsert);
        let mut fed = FeedState::at(1);
        assert!(!fed.is_large_load());
        fed.note(2, &pages);
        assert!(fed.is_large_load());
        fed.settle_at(2);
        let many = 1000;
        assert!(fed.hold_back(3, &pages, many) && fed.is_waiting() && fed.should_search_feed());
        assert!(fed.hold_back(4, &pages, many) && !fed.should_search_feed());
        assert!(!fed.hold_back(2 + EPOCHS_MAX, &pages, many));
        assert!(fed.hold_back(2 + EPOCHS_MAX, &pages, 1), "a rebuild is cheap");
        fed.settle_at(2 + EPOCHS_MAX);
        assert!(!fed.is_waiting());
        let (anchors, others) = (
            named("a", 0..9, PageChange::Anchors),
            named("b", 0..10, PageChange::Upsert),
        );
        fed.note(3 + EPOCHS_MAX, &anchors);
        assert!(fed.hold_back(4 + EPOCHS_MAX, &pages, 1) && !fed.has_deferred());
        fed.settle_at(4 + EPOCHS_MAX);
        fed.note(5 + EPOCHS_MAX, &anchors);
        fed.note(6 + EPOCHS_MAX, &others);
        assert!(!fed.hold_back(7 + EPOCHS_MAX, &pages, 1), "anchors are fed first");
    }

    /// Many small inputs make many epochs between two that are handed over.
    #[test]
    fn epochs_far_apart_are_fed_before_the_index_forgets_their_changes() {
        let pages = named("a", 0..1, PageChange::Upsert);
        for (apart, waits) in [(1, true), (EPOCHS_MAX / 2, true), (EPOCHS_MAX / 2 + 1, false)] {
            let mut fed = FeedState::at(1);
            assert_eq!(fed.hold_back(1 + apart, &pages, 1000), waits, "{apart}");
        }
        let mut fed = FeedState::at(1);
        assert!(fed.hold_back(1 + EPOCHS_MAX / 3, &pages, 1000));
        assert!(fed.hold_back(1 + EPOCHS_MAX / 3 * 2, &pages, 1000));
        assert!(!fed.hold_back(1 + EPOCHS_MAX, &pages, 1000));
    }

    #[test]
    fn a_search_does_not_feed_many_pages_even_if_the_load_has_stalled() {
        let mut fed = FeedState::at(1);
        assert!(!fed.has_stalled());
        let pages = named("a", 0..AT_ONCE_MAX + 1, PageChange::Upsert);
        assert!(fed.hold_back(2, &pages, 1000));
        let earlier = system::now().checked_sub(STALLED_AFTER * 2);
        fed.waiting.added_at = earlier;
        // A machine that has just started has no such time.
        assert_eq!(fed.has_stalled(), earlier.is_some());
        assert!(!fed.should_search_feed());
    }

    #[test]
    fn pages_whose_anchors_wait_count_like_new_pages() {
        let mut fed = FeedState::at(1);
        let anchors = named("a", 0..AT_ONCE_MAX, PageChange::Anchors);
        let bucket = [PageChange::Bucket("b".into(), 3)];
        assert!(fed.hold_back(2, &anchors, 1000) && fed.hold_back(3, &bucket, 1000));
        assert!(fed.should_search_feed());
        assert!(fed.hold_back(4, &named("c", 0..1, PageChange::Anchors), 1000));
        assert!(fed.is_far_behind() && !fed.should_search_feed());
    }
}
