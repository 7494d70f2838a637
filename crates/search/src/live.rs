//! BM25 statistics of the live documents alone.
//!
//! tantivy counts deleted documents until a merge purges them, so its scores depend on the history of
//! the index. Here the number of documents, their total length and the number of documents with a word
//! are those of live documents. Lengths are as a segment stores them, in one byte each, so that a
//! merge does not change the total either.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tantivy::index::SegmentId;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Opstamp, Searcher, SegmentReader};

use crate::forms::{Forms, Place};
use crate::visible::{Bits, Visible};

/// Document counts of words that are remembered at a time.
const COUNTS_MAX: usize = 10_000;

/// What a segment with certain deletions is: neither changes under this name.
type SegmentState = (SegmentId, Option<Opstamp>);

/// Statistics of one cut of the index.
pub(crate) struct Live {
    searcher: Searcher,
    documents: u64,
    words: u64,
    /// Sum of lengths for each segment: the next cut takes over those that stay.
    words_by_segment: FxHashMap<SegmentState, u64>,
    /// Where words are counted.
    place: Place,
    /// The documents that are counted.
    visible: Visible,
    /// Live documents with any form of a word, counted when first asked for.
    counts: Mutex<FxHashMap<Forms, u64>>,
}

impl Live {
    /// Of the documents in `visible` and their words in `place`. `before` is of those of the same sight.
    pub(crate) fn new(
        searcher: &Searcher,
        place: Place,
        visible: Visible,
        before: Option<&Live>,
    ) -> tantivy::Result<Live> {
        let mut words_by_segment = FxHashMap::default();
        let mut documents = 0;
        for (segment, reader) in searcher.segment_readers().iter().enumerate() {
            let bits = visible.of_segment(segment);
            documents += count_documents(reader, bits);
            let state = (reader.segment_id(), reader.delete_opstamp());
            let known = before.and_then(|live| live.words_by_segment.get(&state));
            let words = match known {
                Some(&words) => words,
                None => words_in(reader, place.words, bits)?,
            };
            words_by_segment.insert(state, words);
        }
        Ok(Live {
            searcher: searcher.clone(),
            documents,
            place,
            visible,
            words: words_by_segment.values().sum(),
            words_by_segment,
            counts: Mutex::default(),
        })
    }

    /// Live documents.
    pub(crate) fn documents(&self) -> u64 {
        self.documents
    }

    /// Mean length of a live document in words.
    pub(crate) fn length_mean(&self) -> f32 {
        self.words as f32 / self.documents.max(1) as f32
    }

    /// Live documents with any form of a word.
    pub(crate) fn pages_with(&self, forms: &Forms) -> tantivy::Result<u64> {
        if let Some(&count) = self.counts.lock().get(forms) {
            return Ok(count);
        }
        // Counted without the lock: two searches may count the same word, but none waits for the other.
        let count = self.count(forms)?;
        let mut counts = self.counts.lock();
        if counts.len() >= COUNTS_MAX {
            // Emptied rather than aged: the words in use are counted again within a few queries.
            counts.clear();
        }
        counts.insert(forms.clone(), count);
        Ok(count)
    }

    fn count(&self, forms: &Forms) -> tantivy::Result<u64> {
        let mut count = 0;
        for (segment, reader) in self.searcher.segment_readers().iter().enumerate() {
            let visible = self.visible.of_segment(segment);
            count += forms
                .open(reader, self.place, IndexRecordOption::Basic)?
                .count_live(reader, visible);
        }
        Ok(count)
    }
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
