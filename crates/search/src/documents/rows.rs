//! A cache of the stored rows of documents.
//!
//! A row is stored in a compressed block with a hundred others, and the best pages are results of
//! many searches. A document of a segment never changes, so a cached row is valid for every
//! snapshot of the index.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tantivy::index::SegmentId;
use tantivy::schema::Value;
use tantivy::{DocAddress, DocId, Searcher, TantivyDocument};

use crate::documents::document::Row;
use crate::documents::schema::Fields;
use crate::error::SearchError;

/// Memory for rows, in bytes: some 50,000 of them.
const KEPT_BYTES: u64 = 16 << 20;

/// Estimated memory per entry in addition to the row.
const ENTRY_BYTES: u64 = 64;

/// Estimated bytes of a row, to size the cache.
const ROW_BYTES: u64 = 256;

/// Recently read rows.
pub(crate) struct Rows {
    kept: Cache<(SegmentId, DocId), Arc<[u8]>, ByBytes>,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<(SegmentId, DocId), Arc<[u8]>> for ByBytes {
    fn weight(&self, _: &(SegmentId, DocId), row: &Arc<[u8]>) -> u64 {
        ENTRY_BYTES + row.len() as u64
    }
}

impl Rows {
    pub(crate) fn new() -> Rows {
        Rows {
            kept: Cache::with_weighter((KEPT_BYTES / ROW_BYTES) as usize, KEPT_BYTES, ByBytes),
        }
    }

    /// Returns the row of a document.
    pub(crate) fn read(
        &self,
        searcher: &Searcher,
        fields: &Fields,
        address: DocAddress,
    ) -> Result<Row, SearchError> {
        let no_row = || SearchError {
            message: format!("document {address:?} has no row"),
        };
        let segment = searcher.segment_reader(address.segment_ord).segment_id();
        let name = (segment, address.doc_id);
        if let Some(row) = self.kept.get(&name) {
            return Row::decode(&row).ok_or_else(no_row);
        }
        let document: TantivyDocument = searcher.doc(address)?;
        let bytes = document.get_first(fields.row).and_then(|value| value.as_bytes());
        let bytes = bytes.ok_or_else(no_row)?;
        let row = Row::decode(bytes).ok_or_else(no_row)?;
        self.kept.insert(name, bytes.into());
        Ok(row)
    }
}
