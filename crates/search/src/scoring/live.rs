//! BM25 statistics of live documents only.
//!
//! tantivy counts deleted documents until a merge purges them, so its scores depend on the history
//! of the index. Here the number of documents, their total length and the number of documents with
//! a word cover live documents only. Lengths are read as a segment stores them, in one byte each,
//! so that a merge does not change the total either.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tantivy::index::SegmentId;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Opstamp, Searcher, SegmentReader};

use crate::documents::schema::TextFields;
use crate::filter::visible::{Bits, VisibleDocs};
use crate::scoring::bm25::Fractions;
use crate::scoring::forms::Forms;
use crate::scoring::lists::Lists;

/// Maximum number of words whose document counts are cached.
const COUNTS_MAX: usize = 10_000;

/// Identifies a segment with its deletions. The content under this name never changes.
type SegmentState = (SegmentId, Option<Opstamp>);

/// Statistics of one snapshot of the index.
pub(crate) struct LiveStatistics {
    searcher: Searcher,
    documents: u64,
    words: u64,
    /// Sum of lengths of each segment. The next snapshot reuses those of unchanged segments.
    words_by_segment: FxHashMap<SegmentState, u64>,
    /// Where words are counted.
    text_fields: TextFields,
    /// The documents that are counted.
    visible: VisibleDocs,
    /// Number of live documents with any form of a word, counted on first use.
    counts: Mutex<FxHashMap<Arc<Forms>, u64>>,
    lists: Arc<Lists>,
    fractions: Arc<Fractions>,
}

impl LiveStatistics {
    /// Counts the documents in `visible` and their words in `text_fields`. `before` are the
    /// statistics of an earlier snapshot with the same sight.
    pub(crate) fn new(
        (searcher, lists): (&Searcher, &Arc<Lists>),
        text_fields: TextFields,
        visible: VisibleDocs,
        before: Option<&LiveStatistics>,
    ) -> tantivy::Result<LiveStatistics> {
        let mut words_by_segment = FxHashMap::default();
        let mut documents = 0;
        for (segment, reader) in searcher.segment_readers().iter().enumerate() {
            let bits = visible.of_segment(segment);
            documents += count_documents(reader, bits);
            let state = (reader.segment_id(), reader.delete_opstamp());
            let known = before.and_then(|live| live.words_by_segment.get(&state));
            let words = match known {
                Some(&words) => words,
                None => words_in(reader, text_fields.words, bits)?,
            };
            words_by_segment.insert(state, words);
        }
        let words: u64 = words_by_segment.values().sum();
        Ok(LiveStatistics {
            searcher: searcher.clone(),
            documents,
            text_fields,
            visible,
            words,
            words_by_segment,
            counts: Mutex::default(),
            lists: Arc::clone(lists),
            fractions: Arc::new(Fractions::new(length_mean(words, documents))),
        })
    }

    /// Returns the number of live documents.
    pub(crate) fn documents(&self) -> u64 {
        self.documents
    }

    /// Returns the mean length of a live document in words.
    pub(crate) fn length_mean(&self) -> f32 {
        length_mean(self.words, self.documents)
    }

    /// Returns which fraction of its maximum a word scores in pages of this mean length.
    pub(crate) fn fractions(&self) -> Arc<Fractions> {
        Arc::clone(&self.fractions)
    }

    /// Returns the number of live documents with any form of a word.
    pub(crate) fn pages_with(&self, forms: &Arc<Forms>) -> tantivy::Result<u64> {
        if let Some(&count) = self.counts.lock().get(forms) {
            return Ok(count);
        }
        // Counted without holding the lock: two searches may count the same word, but neither
        // waits.
        let count = self.count(forms)?;
        let mut counts = self.counts.lock();
        if counts.len() >= COUNTS_MAX {
            // Cleared instead of aged: frequent words are counted again within a few queries.
            counts.clear();
        }
        counts.insert(Arc::clone(forms), count);
        Ok(count)
    }

    fn count(&self, forms: &Arc<Forms>) -> tantivy::Result<u64> {
        let mut count = 0;
        for (segment, reader) in self.searcher.segment_readers().iter().enumerate() {
            let visible = self.visible.of_segment(segment);
            let docs = self
                .lists
                .open(forms, reader, self.text_fields, IndexRecordOption::Basic)?;
            count += docs.count_live(reader, visible);
        }
        Ok(count)
    }
}

fn length_mean(words: u64, documents: u64) -> f32 {
    words as f32 / documents.max(1) as f32
}

fn count_documents(reader: &SegmentReader, visible: Option<&Bits>) -> u64 {
    match visible {
        None => u64::from(reader.num_docs()),
        Some(bits) => reader
            .doc_ids_alive()
            .filter(|&document| bits.has(document))
            .count() as u64,
    }
}

fn words_in(reader: &SegmentReader, field: Field, visible: Option<&Bits>) -> tantivy::Result<u64> {
    let lengths = reader.get_fieldnorms_reader(field)?;
    Ok(reader
        .doc_ids_alive()
        .filter(|&document| visible.is_none_or(|bits| bits.has(document)))
        .map(|document| u64::from(lengths.fieldnorm(document)))
        .sum())
}
