//! How much a word counts in a page: BM25.
//!
//! The parameters are those that Trotman, Puurula and Burgess ("Improvements to BM25 and language models examined",
//! 2014) found for unseen collections, and that Anserini takes. They were not fitted to anything here.
//!
//! Frequencies are weighted counts: an occurrence in the title counts as often as the title was put in
//! (`schema`), and one in another form than that of the query counts a little less.

use tantivy::Score;
use tantivy::fieldnorm::FieldNormReader;

use crate::forms::Counts;
use crate::rank;

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

/// Scores are kept of words that are in a page less often than this, which most are.
const KEPT: usize = 8;

/// Where the score of a word is kept that a page has in one form alone, as the query writes it or by its stem.
fn kept_at(counts: Counts) -> Option<usize> {
    let (from, often) = match (counts.written, counts.same_stem, counts.other_diacritics) {
        (written, 0, 0) => (0, written as usize),
        (0, same_stem, 0) => (KEPT, same_stem as usize),
        _ => return None,
    };
    (often < KEPT).then_some(from + often)
}

/// BM25 of one word or phrase.
#[derive(Debug)]
pub(crate) struct Bm25 {
    /// What the greatest frequency would score.
    most: Score,
    /// By length, as a segment stores it in one byte: the frequency that scores half of `most`.
    halves: [Score; 256],
    /// Scores by [`kept_at`] and length. A search scores up to every page of the archive, and reading a score takes a fifth of the
    /// time that it takes to work it out.
    kept: Box<[[Score; 256]; 2 * KEPT]>,
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
        let most = idf * MOST;
        let mut kept = Box::new([[0.0; 256]; 2 * KEPT]);
        for (place, scores) in kept.iter_mut().enumerate() {
            let frequency = match place.checked_sub(KEPT) {
                None => place as Score,
                Some(same_stem) => same_stem as Score * SAME_STEM,
            };
            for (score, half) in scores.iter_mut().zip(halves) {
                *score = rank::rounded(most * saturated(frequency, half));
            }
        }
        Bm25 { most, halves, kept }
    }

    /// The score of a page, rounded; `length` as its segment stores it.
    pub(crate) fn score(&self, counts: Counts, length: u8) -> Score {
        let length = usize::from(length);
        match kept_at(counts) {
            Some(place) => self.kept[place][length],
            None => rank::rounded(self.most * saturated(counts.frequency(), self.halves[length])),
        }
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
        assert!(rare.score(times(1), length) > common.score(times(1), length));
        assert!(rare.score(times(2), length) > rare.score(times(1), length));
        assert!(rare.score(times(1), length) > rare.score(times(1), length + 20));
        // By hand: idf is ln(1 + 99.5 / 1.5), a page of mean length.
        let expected = (1.0_f32 + 99.5 / 1.5).ln() * 1.9 / 1.9;
        assert!((rare.score(times(1), length) - expected).abs() <= rank::UNIT);
        assert!(rare.score(times(u32::MAX), length) <= rank::rounded(idf(1, 100) * MOST));
    }

    fn times(written: u32) -> Counts {
        Counts {
            written,
            ..Counts::default()
        }
    }

    #[test]
    fn kept_scores_are_those_that_are_worked_out() {
        let bm25 = Bm25::new(idf(3, 1000), 350.0);
        let often = 0..KEPT as u32 + 3;
        for (written, same_stem) in often
            .clone()
            .flat_map(|one| often.clone().map(move |other| (one, other)))
        {
            let counts = Counts {
                same_stem,
                ..times(written)
            };
            for length in 0..=u8::MAX {
                let worked_out = bm25.most * saturated(counts.frequency(), bm25.halves[usize::from(length)]);
                assert_eq!(
                    bm25.score(counts, length),
                    rank::rounded(worked_out),
                    "{counts:?} {length}"
                );
            }
        }
    }

    #[test]
    fn the_very_form_counts_most() {
        const { assert!(SAME_STEM < OTHER_DIACRITICS && OTHER_DIACRITICS < 1.0) };
    }
}
