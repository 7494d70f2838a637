//! BM25 statistics of the live documents alone.
//!
//! tantivy counts deleted documents until a merge purges them, so its scores depend on the history of
//! the index. Here the number of documents, their total length and the number of documents with a word
//! are those of live documents. Lengths are as a segment stores them, in one byte each, so that a
//! merge does not change the total either.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tantivy::index::SegmentId;
use tantivy::postings::TermInfo;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{InvertedIndexReader, Opstamp, Searcher, SegmentReader, Term};

/// Document counts of words that are remembered at a time.
const COUNTS_MAX: usize = 10_000;

/// What a segment with certain deletions is: neither changes under this name.
type SegmentState = (SegmentId, Option<Opstamp>);

/// Statistics of one cut of the index.
pub(crate) struct Live {
    searcher: Searcher,
    field: Field,
    documents: u64,
    words: u64,
    /// Sum of lengths for each segment: the next cut takes over those that stay.
    words_by_segment: FxHashMap<SegmentState, u64>,
    /// Live documents with a word, counted when first asked for.
    counts: Mutex<FxHashMap<Term, u64>>,
}

impl Live {
    pub(crate) fn new(searcher: &Searcher, field: Field, before: Option<&Live>) -> tantivy::Result<Live> {
        let mut words_by_segment = FxHashMap::default();
        for reader in searcher.segment_readers() {
            let state = (reader.segment_id(), reader.delete_opstamp());
            let known = before.and_then(|live| live.words_by_segment.get(&state));
            let words = match known {
                Some(&words) => words,
                None => words_in(reader, field)?,
            };
            words_by_segment.insert(state, words);
        }
        Ok(Live {
            searcher: searcher.clone(),
            field,
            documents: searcher.num_docs(),
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

    /// Live documents with `word`.
    pub(crate) fn pages_with(&self, word: &str) -> tantivy::Result<u64> {
        self.doc_freq(&Term::from_field_text(self.field, word))
    }

    fn count(&self, term: &Term) -> tantivy::Result<u64> {
        let mut count = 0;
        for reader in self.searcher.segment_readers() {
            count += count_in(reader, term)?;
        }
        Ok(count)
    }
}

fn words_in(reader: &SegmentReader, field: Field) -> tantivy::Result<u64> {
    let lengths = reader.get_fieldnorms_reader(field)?;
    Ok(reader
        .doc_ids_alive()
        .map(|document| u64::from(lengths.fieldnorm(document)))
        .sum())
}

fn count_in(reader: &SegmentReader, term: &Term) -> tantivy::Result<u64> {
    let index = reader.inverted_index(term.field())?;
    let Some(info) = index.get_term_info(term)? else {
        return Ok(0);
    };
    count_of(reader, &index, &info)
}

/// Live documents of a segment with the word that `info` is of.
pub(crate) fn count_of(
    reader: &SegmentReader,
    index: &InvertedIndexReader,
    info: &TermInfo,
) -> tantivy::Result<u64> {
    let count = match reader.alive_bitset() {
        None => info.doc_freq,
        // The frequency in the dictionary counts deleted documents too, so the postings are read.
        Some(alive) => index
            .read_postings_from_terminfo(info, IndexRecordOption::Basic)?
            .doc_freq_given_deletes(alive),
    };
    Ok(u64::from(count))
}

impl Bm25StatisticsProvider for Live {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        debug_assert_eq!(field, self.field, "only one field is scored");
        Ok(self.words)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        if let Some(&count) = self.counts.lock().get(term) {
            return Ok(count);
        }
        // Counted without the lock: two searches may count the same word, but none waits for the other.
        let count = self.count(term)?;
        let mut counts = self.counts.lock();
        if counts.len() >= COUNTS_MAX {
            // Emptied rather than aged: the words in use are counted again within a few queries.
            counts.clear();
        }
        counts.insert(term.clone(), count);
        Ok(count)
    }
}
