//! The last change of each page in a range of epochs.
//!
//! A page that several epochs changed is indexed once, as the snapshot has it. Only hashes of the
//! keys are held; the changes are read twice.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use index::{Epoch, PageChange, Snapshot, SnapshotError};

/// What a range of epochs did to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastChange {
    /// It has content.
    Upsert,
    /// It has no content.
    Delete,
    /// Its anchors alone changed.
    Anchors,
}

/// The pages that a range of epochs changed.
#[derive(Debug, Default)]
pub(super) struct ChangedPages {
    /// By the hash of the URL key.
    pages: HashMap<u64, LastChange>,
    hashes: RandomState,
}

impl ChangedPages {
    /// Reads the changes after the epoch `since` up to `until`.
    pub(super) fn read(
        snapshot: &Snapshot,
        since: Epoch,
        until: Epoch,
    ) -> Result<ChangedPages, SnapshotError> {
        let mut changed = ChangedPages::default();
        for change in snapshot.pages_changed_between(since, until) {
            changed.note(&change?);
        }
        Ok(changed)
    }

    /// Returns the number of pages.
    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    /// Returns the last change of each page, from the same snapshot and range. Changed buckets come
    /// first: the document of a page includes its bucket, and an earlier one must not replace it.
    pub(super) fn into_changes(
        self,
        snapshot: &Snapshot,
        since: Epoch,
        until: Epoch,
    ) -> impl Iterator<Item = Result<PageChange, SnapshotError>> {
        let mut changed = self;
        let is_bucket =
            |change: &Result<PageChange, SnapshotError>| matches!(change, Ok(PageChange::Bucket(..)));
        let buckets = snapshot.pages_changed_between(since, until).filter(is_bucket);
        let pages = snapshot.pages_changed_between(since, until);
        let pages = pages.filter_map(move |change| match change {
            Ok(change) => changed.take(&change).map(Ok),
            Err(error) => Some(Err(error)),
        });
        buckets.chain(pages)
    }

    fn note(&mut self, change: &PageChange) {
        let hash = self.hash(change);
        match change {
            PageChange::Upsert(_) => drop(self.pages.insert(hash, LastChange::Upsert)),
            PageChange::Delete(_) | PageChange::Past(_) => drop(self.pages.insert(hash, LastChange::Delete)),
            // The document of a page includes its anchors.
            PageChange::Anchors(_) => drop(self.pages.entry(hash).or_insert(LastChange::Anchors)),
            PageChange::Bucket(..) => {}
        }
    }

    /// Returns the last change of the page, the first time that it is asked for.
    fn take(&mut self, change: &PageChange) -> Option<PageChange> {
        let last = self.pages.remove(&self.hash(change))?;
        let url_key = change.url_key().to_owned();
        Some(match last {
            LastChange::Upsert => PageChange::Upsert(url_key),
            LastChange::Delete => PageChange::Delete(url_key),
            LastChange::Anchors => PageChange::Anchors(url_key),
        })
    }

    fn hash(&self, change: &PageChange) -> u64 {
        self.hashes.hash_one(change.url_key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_last_change_once() {
        let key = String::from;
        let rows = [
            PageChange::Anchors(key("a")),
            PageChange::Upsert(key("b")),
            PageChange::Delete(key("c")),
            PageChange::Anchors(key("b")),
            PageChange::Upsert(key("c")),
            PageChange::Bucket(key("d"), 3),
            PageChange::Upsert(key("e")),
            PageChange::Past(key("e")),
            PageChange::Anchors(key("a")),
        ];
        let mut changed = ChangedPages::default();
        for change in &rows {
            changed.note(change);
        }
        assert_eq!(changed.len(), 4);
        let changes: Vec<PageChange> = rows.iter().filter_map(|change| changed.take(change)).collect();
        assert_eq!(
            changes,
            [
                PageChange::Anchors(key("a")),
                PageChange::Upsert(key("b")),
                PageChange::Upsert(key("c")),
                PageChange::Delete(key("e")),
            ]
        );
    }
}
