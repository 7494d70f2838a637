//! A cache of the page data that search results show and the search index does not hold: in-links
//! and text. The best pages are results of many searches.
//!
//! Invariants:
//! - An entry names the epoch that it was read in, and only snapshots of that epoch get it. So an
//!   answer never mixes epochs, and a changed text never shows its old words.
//! - The cache belongs to the open tables. Opening the index again starts with an empty one.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::ids::Epoch;

/// Approximate memory of an entry in addition to key and text.
const ENTRY_BYTES: u64 = 128;

/// Approximate size of one page, for an estimate of the number of entries.
const PAGE_BYTES: u64 = 4096;

/// Data of a page that a result shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownPage {
    /// Pages that link to it.
    pub inlinks: u64,
    /// Number of these pages in other domains.
    pub inlinks_external: u64,
    /// Its visible text. `None` if it is neither page nor document, its captures have no text, or
    /// the text cannot be read.
    pub text: Option<Arc<str>>,
}

/// Recently shown pages.
pub(crate) struct ShownPages {
    pages: Cache<Box<str>, CachedPage, PageBytes>,
}

#[derive(Clone)]
struct CachedPage {
    epoch: Epoch,
    page: ShownPage,
}

#[derive(Clone)]
struct PageBytes;

impl Weighter<Box<str>, CachedPage> for PageBytes {
    fn weight(&self, url_key: &Box<str>, cached: &CachedPage) -> u64 {
        let text = cached.page.text.as_ref().map_or(0, |text| text.len());
        ENTRY_BYTES + (url_key.len() + text) as u64
    }
}

impl ShownPages {
    /// Creates a cache of about `bytes` of memory.
    pub(crate) fn new(bytes: u64) -> ShownPages {
        let pages = usize::try_from(bytes / PAGE_BYTES).unwrap_or(usize::MAX);
        ShownPages {
            pages: Cache::with_weighter(pages, bytes, PageBytes),
        }
    }

    /// Returns a page as of `epoch`, if it is in the cache.
    pub(crate) fn get(&self, epoch: Epoch, url_key: &str) -> Option<ShownPage> {
        let cached = self.pages.get(url_key).filter(|cached| cached.epoch == epoch)?;
        Some(cached.page)
    }

    pub(crate) fn insert(&self, epoch: Epoch, url_key: &str, page: ShownPage) {
        self.pages.insert(url_key.into(), CachedPage { epoch, page });
    }
}
