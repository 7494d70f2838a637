//! Tracks the epochs fed to the search index, and the deferred anchor changes.
//!
//! A page whose anchors change has to be indexed again, with all of its text. A load of pages that
//! link to one another changes, in every epoch, the anchors of far more pages than it adds. So a
//! load may defer them. They are fed when as many documents have been added as pages are deferred,
//! which at most doubles the indexing work, and at the end of the load. Only hashes of the keys are
//! held; the keys are in the index's rows of changes. The search index stores the last epoch
//! without deferred changes ([`settled_epoch`](search::SearchIndex::settled_epoch)), so that they
//! survive a crash.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use index::{Epoch, PageChange, Snapshot};
use search::SearchIndex;

use super::{Coverage, FeedError, SearchProgress, anchors_change, apply};
use crate::crash;

/// Up to this number, deferred pages are fed immediately, which takes some 0.1 s.
const AT_ONCE_MAX: u64 = if cfg!(test) { 3 } else { 1000 };

/// Limit of deferred pages: 8 bytes each, in a table that is half empty.
const DEFERRED_MAX: usize = 2_000_000;

/// Limit of epochs for which anchors are deferred. The index keeps the changes of some 1,000.
const EPOCHS_MAX: u64 = 256;

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
    /// Number of documents indexed since.
    documents: u64,
    progress: Arc<SearchProgress>,
}

impl FeedState {
    /// Makes the state of a search index that covers this epoch completely.
    pub(crate) fn at(epoch: u64) -> FeedState {
        FeedState {
            epoch,
            settled: epoch,
            deferred: HashSet::new(),
            hashes: RandomState::new(),
            documents: 0,
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

    /// Notes that nothing is deferred up to this epoch.
    pub(crate) fn settle_at(&mut self, epoch: u64) {
        *self = FeedState::at(epoch).with_progress(Arc::clone(&self.progress));
    }

    /// Notes the changes of an epoch. Returns whether deferred anchors must be fed now, including
    /// those of this epoch.
    pub(super) fn note(&mut self, epoch: u64, changes: &[PageChange]) -> bool {
        for change in changes {
            let hash = self.hashes.hash_one(change.url_key());
            match change {
                PageChange::Anchors(_) => drop(self.deferred.insert(hash)),
                // The document includes its anchors, or is deleted.
                PageChange::Upsert(_) => {
                    self.deferred.remove(&hash);
                    self.documents += 1;
                }
                PageChange::Delete(_) | PageChange::Past(_) => drop(self.deferred.remove(&hash)),
                PageChange::Bucket(..) => {}
            }
        }
        self.deferred.len() as u64 <= AT_ONCE_MAX + self.documents
            || self.deferred.len() > DEFERRED_MAX
            || epoch - self.settled >= EPOCHS_MAX
    }

    /// Feeds the deferred changes from the snapshot: that of the last epoch fed, or of a later one,
    /// whose changes follow.
    pub(super) fn settle(&mut self, search: &SearchIndex, snapshot: &Snapshot) -> Result<(), FeedError> {
        crash::point("feed.before_settle");
        self.progress.begin(self.deferred.len() as u64);
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
    fn anchors_wait_until_as_many_documents_have_come() {
        let mut fed = FeedState::at(7);
        assert!(fed.note(8, &named("a", 0..AT_ONCE_MAX, PageChange::Anchors)));
        assert!(!fed.note(9, &named("a", 0..AT_ONCE_MAX + 3, PageChange::Anchors)));
        assert!(!fed.note(10, &named("b", 0..2, PageChange::Upsert)));
        assert!(fed.note(11, &named("c", 0..1, PageChange::Upsert)));
        assert!(fed.has_deferred());
        fed.settle_at(11);
        assert!(!fed.has_deferred());
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
}
