//! Proximity: the score that words of the query add if they are near each other in a page.
//!
//! The measure is the sequential dependence model of Metzler and Croft ("A Markov random field
//! model for term dependencies", 2005), with their weights. It counts how often two consecutive
//! words of the query are adjacent in the page, in order, and how often they are within a window of
//! eight words in any order. Both counts score as a word does. The gain of a page is bounded, so
//! positions are read only for pages that it can bring among the best (`collect`). The answer is
//! the same as with the positions of all pages.

use std::sync::Arc;

use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Score, SegmentReader};

use crate::documents::schema::TextFields;
use crate::scoring::bm25::{MOST, saturated_at_mean};
use crate::scoring::forms::{FormDocs, Forms, FunctionWordLanguages, LanguageDocs};
use crate::scoring::lists::Lists;
use crate::scoring::rank::{self, Units};

/// Weights of two adjacent words, and of two words within the window, relative to a word. Metzler
/// and Croft use 0.85 for words, 0.1 and 0.05.
const NEXT: Score = 0.1 / 0.85;
const AROUND: Score = 0.05 / 0.85;

/// Words in a window. Two words are in one window if they are less than this apart.
const WINDOW: u32 = 8;

/// Maximum number of words considered. Reading the positions of more would be slow, and few queries
/// have more.
const WORDS_MAX: usize = 16;

/// The words of a query whose proximity counts.
#[derive(Debug, Default)]
pub(crate) struct Near {
    words: Vec<(Arc<Forms>, Score, FunctionWordLanguages)>,
    /// Where the words are searched; `None` without words.
    place: Option<(TextFields, Arc<Lists>)>,
}

impl Near {
    /// Takes words in the query's order, each with its idf and the languages in which it is
    /// ignored.
    pub(crate) fn new(
        mut words: Vec<(Arc<Forms>, Score, FunctionWordLanguages)>,
        text_fields: TextFields,
        lists: &Arc<Lists>,
    ) -> Near {
        words.truncate(WORDS_MAX);
        if words.len() < 2 {
            return Near::default();
        }
        Near {
            words,
            place: Some((text_fields, Arc::clone(lists))),
        }
    }

    /// Opens the words in a segment.
    pub(crate) fn open(&self, reader: &SegmentReader) -> tantivy::Result<NearDocs> {
        let mut words = Vec::with_capacity(self.words.len());
        for (forms, idf, function_words) in &self.words {
            if let Some((text_fields, lists)) = &self.place {
                let option = IndexRecordOption::WithFreqsAndPositions;
                let docs = lists.open(forms, reader, *text_fields, option)?;
                words.push(NearWord {
                    docs,
                    idf: *idf,
                    function_words: function_words.open(reader, lists)?,
                    count: 0,
                    positions: Vec::new(),
                });
            }
        }
        let mut idfs: Vec<Score> = words.iter().map(|word| word.idf).collect();
        idfs.sort_unstable_by(Score::total_cmp);
        // Whichever words are ignored, each word is in at most two pairs, and the first and the
        // last word in at most one.
        let in_pairs = idfs.iter().sum::<Score>() * 2.0 - idfs.iter().take(2).sum::<Score>();
        let most = in_pairs * MOST * (NEXT + AROUND);
        Ok(NearDocs {
            // One more, because the score is rounded.
            most: rank::units(rank::rounded(most)) + 1,
            words,
        })
    }
}

struct NearWord {
    docs: FormDocs,
    idf: Score,
    function_words: LanguageDocs,
    /// Number of its occurrences in the current page.
    count: u32,
    /// Its positions in the current page, ascending.
    positions: Vec<u32>,
}

/// Computes the gain of pages, which must be requested in ascending order.
pub(crate) struct NearDocs {
    words: Vec<NearWord>,
    /// Upper bound of the gain of any page.
    most: Units,
}

impl NearDocs {
    /// Returns an upper bound of the gain of any page.
    pub(crate) fn most(&self) -> Units {
        if self.words.is_empty() { 0 } else { self.most }
    }

    /// Returns the gain of a page, or `None` if it cannot reach `wanted`. Positions are costly to
    /// read, and most pages have the words too rarely to gain enough.
    pub(crate) fn gain(&mut self, document: DocId, wanted: Units) -> Option<Units> {
        if self.most() < wanted {
            return None;
        }
        if self.words.is_empty() {
            return Some(0);
        }
        for word in &mut self.words {
            if word.docs.doc() < document {
                word.docs.seek(document);
            }
            word.count = if word.docs.doc() == document {
                word.docs.position_count()
            } else {
                0
            };
        }
        let bound = self.of_pairs(document, |one, other| (one.count.min(other.count), one.count));
        // One more, for the rounding of each.
        if bound + 1 < wanted {
            return None;
        }
        for word in &mut self.words {
            word.positions.clear();
            if word.count > 0 {
                word.docs.positions(0, &mut word.positions);
                debug_assert_eq!(
                    word.positions.len(),
                    word.count as usize,
                    "each occurrence has a position"
                );
            }
        }
        let gain = self.of_pairs(document, |one, other| together(&one.positions, &other.positions));
        debug_assert!(gain <= bound + 1, "the gain {gain} exceeds its bound {bound}");
        Some(gain.min(self.most()))
    }

    /// Returns the sum over the pairs of words that the page has. `together` returns how often two
    /// words are adjacent, and how often they are within the window.
    fn of_pairs(&self, document: DocId, together: impl Fn(&NearWord, &NearWord) -> (u32, u32)) -> Units {
        let mut gained = 0.0;
        // Ignored words between two others do not separate them: `construction of compilers`.
        let mut said = self
            .words
            .iter()
            .filter(|word| !word.function_words.holds(document));
        let Some(mut one) = said.next() else {
            return 0;
        };
        for other in said {
            if one.count > 0 && other.count > 0 {
                let (next, around) = together(one, other);
                let most = (one.idf + other.idf) * MOST;
                gained += most * NEXT * saturated_at_mean(next as Score);
                gained += most * AROUND * saturated_at_mean(around as Score);
            }
            one = other;
        }
        rank::units(rank::rounded(gained))
    }
}

/// Returns how often the first word directly precedes the second, and how often the two are less
/// than [`WINDOW`] apart. For each position of the first word only the nearest position of the
/// second counts. Both lists are ascending.
fn together(first: &[u32], second: &[u32]) -> (u32, u32) {
    let (mut next, mut around) = (0, 0);
    let mut text_fields = 0;
    for &position in first {
        while second.get(text_fields).is_some_and(|&other| other <= position) {
            text_fields += 1;
        }
        let before = text_fields
            .checked_sub(1)
            .map(|text_fields| position - second[text_fields]);
        let behind = second.get(text_fields).map(|&other| other - position);
        next += u32::from(behind == Some(1));
        let nearest = before.into_iter().chain(behind).min();
        around += u32::from(nearest.is_some_and(|distance| distance < WINDOW));
    }
    (next, around)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_right_behind_each_other_and_within_the_window_are_counted() {
        assert_eq!(together(&[1, 10], &[2, 30]), (1, 1));
        assert_eq!(together(&[1, 10], &[3, 17]), (0, 2));
        assert_eq!(together(&[9], &[1, 2]), (0, 1));
        assert_eq!(together(&[9], &[1]), (0, 0));
        // One word of the page can match both words of the query.
        assert_eq!(together(&[5], &[5]), (0, 1));
        assert_eq!(together(&[], &[5]), (0, 0));
    }
}
