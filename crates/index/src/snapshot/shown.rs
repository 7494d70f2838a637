//! The data of a page that search results show.

use std::sync::Arc;

use super::Snapshot;
use crate::error::SnapshotError;
use crate::shown::ShownPage;
use crate::views::{texts, uris};

impl Snapshot {
    /// Returns the data of a page that search results show.
    pub fn shown(&self, url_key: &str) -> Result<ShownPage, SnapshotError> {
        let (cut, epoch) = (self.cut(), self.epoch());
        let cache = cut.tables().map(|tables| &tables.shown);
        if let Some(page) = cache.and_then(|cache| cache.get(epoch, url_key)) {
            return Ok(page);
        }
        let Some(uri) = uris::read(cut, url_key)? else {
            return Ok(ShownPage::default());
        };
        let text = if uri.is_page || uri.is_document {
            texts::read(cut, url_key)
        } else {
            Ok(None)
        };
        // An unreadable text does not fail the answer: `weft verify` reports the damage.
        let is_read = text.is_ok();
        let page = ShownPage {
            inlinks: uri.counts.inlinks,
            inlinks_external: uri.counts.inlinks_external,
            text: text.ok().flatten().map(|text| Arc::from(texts::visible(text))),
        };
        if let Some(cache) = cache.filter(|_| is_read) {
            cache.insert(epoch, url_key, page.clone());
        }
        Ok(page)
    }
}
