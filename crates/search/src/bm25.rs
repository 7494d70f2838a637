//! How much a word counts in a page: BM25.
//!
//! The parameters are those that Trotman, Puurula and Burgess ("Improvements to BM25 and language models examined",
//! 2014) found for unseen collections, and that Anserini takes. They were not fitted to anything here.
//!
//! Frequencies are weighted counts: an occurrence in the title counts as often as the title was put in
//! (`schema`), and one in another form than that of the query counts a little less.

use tantivy::Score;
use tantivy::fieldnorm::FieldNormReader;

/// How soon further occurrences stop to count.
const K1: Score = 0.9;

/// How far long pages are held against their length.
const B: Score = 0.4;

/// The most that a word of a page counts, for each of its [`idf`].
pub(crate) const MOST: Score = K1 + 1.0;

/// What one occurrence of the word counts whose diacritics differ from those of the query. So close to 1 that it
/// decides only between pages that are alike otherwise.
pub(crate) const OTHER_DIACRITICS: Score = 0.95;

/// What one occurrence of another word of the same stem counts; below the others for the same reason.
pub(crate) const SAME_STEM: Score = 0.9;

/// BM25 of one word or phrase.
#[derive(Debug)]
pub(crate) struct Bm25 {
    /// What the greatest frequency would score.
    most: Score,
    /// By length, as a segment stores it in one byte: the frequency that scores half of `most`.
    halves: [Score; 256],
}

impl Bm25 {
    /// Of a word of this [`idf`] (of a phrase: their sum) among pages of this mean length.
    pub(crate) fn new(idf: Score, length_mean: Score) -> Bm25 {
        // An index without words has no length; then nothing is scored.
        let mean = length_mean.max(1.0);
        let half = |length: u8| {
            let length = FieldNormReader::id_to_fieldnorm(length) as Score;
            K1 * (1.0 - B + B * length / mean)
        };
        let mut halves = [0.0; 256];
        for (length, slot) in (0..=u8::MAX).zip(&mut halves) {
            *slot = half(length);
        }
        Bm25 {
            most: idf * MOST,
            halves,
        }
    }

    /// The score of a page; `length` as its segment stores it.
    pub(crate) fn score(&self, frequency: Score, length: u8) -> Score {
        self.most * saturated(frequency, self.halves[usize::from(length)])
    }
}

/// What part of all it may count a frequency counts, where `half` counts half.
pub(crate) fn saturated(frequency: Score, half: Score) -> Score {
    frequency / (frequency + half)
}

/// As [`Bm25::score`] of a page of mean length.
pub(crate) fn saturated_at_mean(frequency: Score) -> Score {
    saturated(frequency, K1)
}

/// How rare a word is that is in so many of the pages.
pub(crate) fn idf(pages_with: u64, pages: u64) -> Score {
    debug_assert!(pages_with <= pages, "{pages_with} of {pages} pages have a word");
    let without = pages.saturating_sub(pages_with);
    let odds = (without as Score + 0.5) / (pages_with as Score + 0.5);
    (1.0 + odds).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_and_frequent_words_count_more_and_long_pages_less() {
        let rare = Bm25::new(idf(1, 100), 20.0);
        let common = Bm25::new(idf(50, 100), 20.0);
        let length = FieldNormReader::fieldnorm_to_id(20);
        assert!(rare.score(1.0, length) > common.score(1.0, length));
        assert!(rare.score(2.0, length) > rare.score(1.0, length));
        assert!(rare.score(1.0, length) > rare.score(1.0, length + 20));
        // By hand: idf is ln(1 + 99.5 / 1.5), a page of mean length.
        let expected = (1.0_f32 + 99.5 / 1.5).ln() * 1.9 / 1.9;
        assert!((rare.score(1.0, length) - expected).abs() < 1e-5);
        assert!(rare.score(1e9, length) <= idf(1, 100) * MOST);
    }

    #[test]
    fn the_very_form_counts_most() {
        const { assert!(SAME_STEM < OTHER_DIACRITICS && OTHER_DIACRITICS < 1.0) };
    }
}
