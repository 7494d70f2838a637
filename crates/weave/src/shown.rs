//! What the results of a search show of pages, beside what the search index holds: in-links and text. It is kept for
//! the next search, because the best pages are results of many.
//!
//! Invariants:
//! - What is kept names the epoch that it was read in, and only snapshots of that epoch get it: an answer never mixes
//!   epochs, and a text that changed never shows its old words.
//! - It belongs to the open tables: where the index is opened again, nothing is left of it.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::Epoch;
use crate::views::{texts, uris};

/// Memory for what is kept besides key and text, about.
const ENTRY_BYTES: u64 = 128;

/// Bytes of one page, about: how many are kept is estimated from it.
const PAGE_BYTES: u64 = 4096;

/// What a result shows of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownPage {
    /// Pages that link to it.
    pub inlinks: u64,
    /// Of these, pages of other domains.
    pub inlinks_external: u64,
    /// Its visible text; `None` where it is neither page nor document, its captures have no text, or the text cannot be read.
    pub text: Option<Arc<str>>,
}

/// Pages shown lately.
pub(crate) struct ShownPages {
    pages: Cache<Box<str>, Kept, ByBytes>,
}

#[derive(Clone)]
struct Kept {
    epoch: Epoch,
    page: ShownPage,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<Box<str>, Kept> for ByBytes {
    fn weight(&self, url_key: &Box<str>, kept: &Kept) -> u64 {
        let text = kept.page.text.as_ref().map_or(0, |text| text.len());
        ENTRY_BYTES + (url_key.len() + text) as u64
    }
}

impl ShownPages {
    /// Keeps about `bytes` of memory.
    pub(crate) fn new(bytes: u64) -> ShownPages {
        let pages = usize::try_from(bytes / PAGE_BYTES).unwrap_or(usize::MAX);
        ShownPages {
            pages: Cache::with_weighter(pages, bytes, ByBytes),
        }
    }
}

/// Reads a page as of `epoch`, which is the cut's.
pub(crate) fn read(cut: &Cut, epoch: Epoch, url_key: &str) -> Result<ShownPage, SnapshotError> {
    let kept = cut.tables().map(|tables| &tables.shown.pages);
    if let Some(kept) = kept.and_then(|pages| pages.get(url_key))
        && kept.epoch == epoch
    {
        return Ok(kept.page);
    }
    let Some(uri) = uris::read(cut, url_key)? else {
        return Ok(ShownPage::default());
    };
    let text = match uri.is_page || uri.is_document {
        true => texts::read(cut, url_key),
        false => Ok(None),
    };
    // A text that cannot be read is no reason to refuse an answer: `weft verify` says what is damaged.
    let is_read = text.is_ok();
    let page = ShownPage {
        inlinks: uri.counts.inlinks,
        inlinks_external: uri.counts.inlinks_external,
        text: text.ok().flatten().map(Arc::from),
    };
    if let Some(pages) = kept.filter(|_| is_read) {
        let page = page.clone();
        pages.insert(url_key.into(), Kept { epoch, page });
    }
    Ok(page)
}
