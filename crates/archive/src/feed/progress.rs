//! Progress of the search index in catching up.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of pages to feed, and how many are done. Shared with those who report it.
#[derive(Debug, Default)]
pub(crate) struct SearchProgress {
    pages: AtomicU64,
    done: AtomicU64,
}

impl SearchProgress {
    /// Starts again with this number of pages.
    pub(super) fn begin(&self, pages: u64) {
        self.done.store(0, Relaxed);
        self.pages.store(pages, Relaxed);
    }

    /// Counts one more page.
    pub(super) fn count(&self) {
        self.done.fetch_add(1, Relaxed);
    }

    /// Ends the count: all pages are fed.
    pub(super) fn end(&self) {
        self.begin(0);
    }

    /// Returns the number of pages, and how many are done; zeros while nothing is caught up.
    pub(crate) fn at(&self) -> (u64, u64) {
        let pages = self.pages.load(Relaxed);
        // Pages may have changed while they were counted, so there may be more.
        (pages, self.done.load(Relaxed).min(pages))
    }
}
