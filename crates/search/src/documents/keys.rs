//! Finds documents by their keys, for deletion and for data stored outside the documents.
//!
//! A document stores its whole key (a column with a dictionary, which also orders equal scores) and
//! a hash of it (a column of numbers). Keys are not indexed terms: a term dictionary over keys
//! costs more than everything else of a page without text. A lookup scans the hash column, at about
//! a nanosecond per document, and then compares whole keys, so that equal hashes never confuse two
//! keys.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tantivy::query::{ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, TantivyError};

use crate::documents::document::PastToDelete;
use crate::documents::schema;

/// Documents whose hashes are read at a time.
const BLOCK: usize = 1024;

/// Calls `each` with every document of a segment and the hash of its key.
pub(crate) fn each_hash(reader: &SegmentReader, mut each: impl FnMut(DocId, u64)) -> tantivy::Result<()> {
    let column = reader.fast_fields().u64(schema::HASH)?;
    let count = column.values.num_vals();
    if count != reader.max_doc() {
        return Err(TantivyError::InternalError(format!(
            "segment {} has {count} keys, expected {} (one for each document)",
            reader.segment_id(),
            reader.max_doc()
        )));
    }
    let mut block = [0; BLOCK];
    for start in (0..count).step_by(BLOCK) {
        let length = BLOCK.min((count - start) as usize);
        column.values.get_range(u64::from(start), &mut block[..length]);
        for (document, &hash) in (start..).zip(&block[..length]) {
            each(document, hash);
        }
    }
    Ok(())
}

/// Documents of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyDocuments {
    pub(crate) url_key: String,
    /// Whether the current document is included.
    pub(crate) current: bool,
    /// The past documents included.
    pub(crate) past: PastToDelete,
}

impl KeyDocuments {
    /// Returns whether the document with this identity is included.
    fn has(&self, identity: &str) -> bool {
        let key = schema::key_text(&self.url_key);
        match (schema::key_of_past(identity.as_bytes()), &self.past) {
            (None, _) => self.current && identity == key,
            (Some(of), PastToDelete::All) => of == key.as_bytes(),
            (Some(_), PastToDelete::Since(times)) => times
                .iter()
                .any(|since_ms| schema::past_identity(&self.url_key, *since_ms) == identity),
        }
    }
}

/// The documents of some keys, as a query to delete by.
#[derive(Debug, Clone)]
pub(crate) struct DeleteQuery(Arc<FxHashMap<u64, KeyDocuments>>);

impl DeleteQuery {
    /// Takes the keys by their hashes.
    pub(crate) fn new(keys: FxHashMap<u64, KeyDocuments>) -> DeleteQuery {
        DeleteQuery(Arc::new(keys))
    }

    fn documents(&self, reader: &SegmentReader) -> tantivy::Result<Vec<DocId>> {
        let mut documents = Vec::new();
        each_hash(reader, |document, hash| {
            if let Some(of_key) = self.0.get(&hash) {
                documents.push((document, of_key));
            }
        })?;
        let mut found = Vec::with_capacity(documents.len());
        let Some(column) = reader.fast_fields().str(schema::KEY)? else {
            return Ok(found);
        };
        let mut held = String::new();
        for (document, of_key) in documents {
            held.clear();
            if let Some(ordinal) = column.ords().first(document) {
                column.ord_to_str(ordinal, &mut held)?;
            }
            if of_key.has(&held) {
                found.push(document);
            }
        }
        Ok(found)
    }
}

impl Query for DeleteQuery {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for DeleteQuery {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let documents = self.documents(reader)?;
        Ok(Box::new(ConstScorer::new(Documents::new(documents), boost)))
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        Ok(Explanation::new("a key", 0.0))
    }
}

/// An ascending list of documents as a tantivy `DocSet`.
pub(crate) struct Documents {
    /// In ascending order.
    documents: Vec<DocId>,
    at: usize,
}

impl Documents {
    /// Takes documents in ascending order.
    pub(crate) fn new(documents: Vec<DocId>) -> Documents {
        Documents { documents, at: 0 }
    }
}

impl DocSet for Documents {
    fn advance(&mut self) -> DocId {
        self.at += 1;
        self.doc()
    }

    fn doc(&self) -> DocId {
        self.documents.get(self.at).copied().unwrap_or(TERMINATED)
    }

    fn size_hint(&self) -> u32 {
        self.documents.len() as u32
    }
}
