//! How far search has caught up.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Pages that search is to be given in one go, and how many of them it was. Shared with whoever shows it.
#[derive(Debug, Default)]
pub(crate) struct SearchProgress {
    pages: AtomicU64,
    done: AtomicU64,
}

impl SearchProgress {
    /// Begins anew with so many pages.
    pub(super) fn begin(&self, pages: u64) {
        self.done.store(0, Relaxed);
        self.pages.store(pages, Relaxed);
    }

    /// One more page is on its way.
    pub(super) fn count(&self) {
        self.done.fetch_add(1, Relaxed);
    }

    /// All pages are given.
    pub(super) fn end(&self) {
        self.begin(0);
    }

    /// How many pages there are, and how many of them are done; none while nothing is caught up.
    pub(crate) fn at(&self) -> (u64, u64) {
        let pages = self.pages.load(Relaxed);
        // What changed while it was counted may be more.
        (pages, self.done.load(Relaxed).min(pages))
    }
}
