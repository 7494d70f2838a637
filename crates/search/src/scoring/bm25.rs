//! BM25: the score of a word in a page.
//!
//! The parameters are those that Trotman, Puurula and Burgess ("Improvements to BM25 and language
//! models examined", 2014) found for unseen collections; Anserini uses them too. They were not
//! fitted to any data here.
//!
//! Frequencies are weighted counts. A word in the title counts once for each copy of the title in
//! the index (`schema`). An occurrence in another form than the query's counts a little less.

use std::sync::Arc;

use tantivy::Score;
use tantivy::fieldnorm::FieldNormReader;

use crate::scoring::form_counts::{FormCounts, SAME_STEM};
use crate::scoring::rank;

/// How quickly the gain of further occurrences falls off (BM25's `k1`).
const K1: Score = 0.9;

/// How strongly a page's length reduces its score (BM25's `b`).
const B: Score = 0.4;

/// Upper bound of a word's score in a page, as a multiple of its [`idf`].
pub(crate) const MOST: Score = K1 + 1.0;

/// Fractions are precomputed for frequencies below this. Most words of most pages are below it.
const KEPT: usize = 8;

/// Returns the index of the precomputed fraction for a page that has the word in one form only,
/// either as the query writes it or by its stem.
fn kept_at(counts: FormCounts) -> Option<usize> {
    let (from, often) = match (counts.written, counts.same_stem, counts.other_diacritics) {
        (written, 0, 0) => (0, written as usize),
        (0, same_stem, 0) => (KEPT, same_stem as usize),
        _ => return None,
    };
    (often < KEPT).then_some(from + often)
}

/// Which fraction of its maximum any word scores, for pages with one mean length. One table serves
/// all queries of a snapshot of the index.
#[derive(Debug)]
pub(crate) struct Fractions {
    /// Indexed by length as a segment stores it (one byte): the frequency that scores half of the
    /// maximum.
    halves: [Score; 256],
    /// Precomputed fractions by [`kept_at`] and length. A search may score every page of the
    /// archive, and a division takes longer than to read its result.
    kept: Box<[[Score; 256]; 2 * KEPT]>,
}

impl Fractions {
    pub(crate) fn new(length_mean: Score) -> Fractions {
        // An index without words has length 0. Nothing is scored then.
        let mean = length_mean.max(1.0);
        let half = |length: u8| {
            let length = FieldNormReader::id_to_fieldnorm(length) as Score;
            K1 * (1.0 - B + B * length / mean)
        };
        let mut halves = [0.0; 256];
        for (length, slot) in (0..=u8::MAX).zip(&mut halves) {
            *slot = half(length);
        }
        let mut kept = Box::new([[0.0; 256]; 2 * KEPT]);
        for (at, fractions) in kept.iter_mut().enumerate() {
            let frequency = match at.checked_sub(KEPT) {
                None => at as Score,
                Some(same_stem) => same_stem as Score * SAME_STEM,
            };
            for (fraction, half) in fractions.iter_mut().zip(halves) {
                *fraction = saturated(frequency, half);
            }
        }
        Fractions { halves, kept }
    }

    fn of(&self, counts: FormCounts, length: u8) -> Score {
        let length = usize::from(length);
        match kept_at(counts) {
            Some(at) => self.kept[at][length],
            None => saturated(counts.frequency(), self.halves[length]),
        }
    }
}

/// BM25 of one word or phrase.
#[derive(Debug, Clone)]
pub(crate) struct Bm25 {
    /// Limit of the score as the frequency grows.
    most: Score,
    fractions: Arc<Fractions>,
}

impl Bm25 {
    /// Creates the scorer for a word with this [`idf`]; for a phrase, the sum of its words'.
    pub(crate) fn new(idf: Score, fractions: Arc<Fractions>) -> Bm25 {
        Bm25 {
            most: idf * MOST,
            fractions,
        }
    }

    /// Returns an upper bound of the rounded score of any page.
    pub(crate) fn most(&self) -> Score {
        rank::rounded(self.most)
    }

    /// Returns the rounded score of a page. `length` is in the segment's one-byte encoding.
    pub(crate) fn score(&self, counts: FormCounts, length: u8) -> Score {
        rank::rounded(self.most * self.fractions.of(counts, length))
    }
}

/// Returns the fraction of the maximum score that a frequency reaches; `half` reaches one half.
pub(crate) fn saturated(frequency: Score, half: Score) -> Score {
    frequency / (frequency + half)
}

/// Like [`Bm25::score`], as a fraction of the maximum, for a page of mean length.
pub(crate) fn saturated_at_mean(frequency: Score) -> Score {
    saturated(frequency, K1)
}

/// Returns the inverse document frequency of a word in `pages_with` of `pages` pages.
pub(crate) fn idf(pages_with: u64, pages: u64) -> Score {
    debug_assert!(
        pages_with <= pages,
        "{pages_with} of {pages} pages contain a word"
    );
    let without = pages.saturating_sub(pages_with);
    let odds = (without as Score + 0.5) / (pages_with as Score + 0.5);
    (1.0 + odds).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_and_frequent_words_count_more_and_long_pages_less() {
        let fractions = Arc::new(Fractions::new(20.0));
        let rare = Bm25::new(idf(1, 100), Arc::clone(&fractions));
        let common = Bm25::new(idf(50, 100), fractions);
        let length = FieldNormReader::fieldnorm_to_id(20);
        assert!(rare.score(times(1), length) > common.score(times(1), length));
        assert!(rare.score(times(2), length) > rare.score(times(1), length));
        assert!(rare.score(times(1), length) > rare.score(times(1), length + 20));
        // Computed by hand: idf is ln(1 + 99.5 / 1.5), for a page of mean length.
        let expected = (1.0_f32 + 99.5 / 1.5).ln() * 1.9 / 1.9;
        assert!((rare.score(times(1), length) - expected).abs() <= rank::UNIT);
        assert!(rare.score(times(u32::MAX), length) <= rare.most());
    }

    fn times(written: u32) -> FormCounts {
        FormCounts {
            written,
            ..FormCounts::default()
        }
    }

    #[test]
    fn kept_fractions_are_those_that_are_worked_out() {
        let fractions = Fractions::new(350.0);
        let often = 0..KEPT as u32 + 3;
        for (written, same_stem) in often
            .clone()
            .flat_map(|one| often.clone().map(move |other| (one, other)))
        {
            let counts = FormCounts {
                same_stem,
                ..times(written)
            };
            for length in 0..=u8::MAX {
                let worked_out = saturated(counts.frequency(), fractions.halves[usize::from(length)]);
                assert_eq!(fractions.of(counts, length), worked_out, "{counts:?} {length}");
            }
        }
    }
}
