//! What words of the query add that stand near each other in a page.
//!
//! The measure is the sequential dependence of Metzler and Croft ("A Markov random field model for term dependencies",
//! 2005), with their weights: each two words that follow each other in the query are looked for right behind each other,
//! and within a window of eight words in any order, and both counts score as a word does. What a page gains is bounded,
//! so positions are read only of pages that it may bring among the best (`collect`): the answer is the same as if they
//! were read of all.

use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Score, SegmentReader};

use crate::bm25::{MOST, saturated_at_mean};
use crate::forms::{FormDocs, Forms, Place, Silent, SilentDocs};
use crate::rank::{self, Units};

/// What two words right behind each other count, and two within the window, where a word counts 1: of Metzler's and
/// Croft's 0.85 for words, 0.1 and 0.05.
const NEXT: Score = 0.1 / 0.85;
const AROUND: Score = 0.05 / 0.85;

/// Words of a window; two words stand in one if they are less than this apart.
const WINDOW: u32 = 8;

/// Words that are looked at: reading the positions of more would be felt, and few queries have them.
const WORDS_MAX: usize = 16;

/// The words of a query whose nearness counts.
#[derive(Debug, Default)]
pub(crate) struct Near {
    words: Vec<(Forms, Score, Silent)>,
    place: Option<Place>,
}

impl Near {
    /// Of words in the query's order, each with how rare it is and where it says nothing.
    pub(crate) fn new(mut words: Vec<(Forms, Score, Silent)>, place: Place) -> Near {
        words.truncate(WORDS_MAX);
        if words.len() < 2 {
            return Near::default();
        }
        Near {
            words,
            place: Some(place),
        }
    }

    /// For the pages of a segment.
    pub(crate) fn open(&self, reader: &SegmentReader) -> tantivy::Result<NearDocs> {
        let mut words = Vec::with_capacity(self.words.len());
        for (forms, idf, silent) in &self.words {
            if let Some(place) = self.place {
                let docs = forms.open(reader, place, IndexRecordOption::WithFreqsAndPositions)?;
                words.push(NearWord {
                    docs,
                    idf: *idf,
                    silent: silent.open(reader)?,
                    count: 0,
                    positions: Vec::new(),
                });
            }
        }
        let mut idfs: Vec<Score> = words.iter().map(|word| word.idf).collect();
        idfs.sort_unstable_by(Score::total_cmp);
        // Whichever others say nothing, each word is in two pairs at most, and the first and the last in one.
        let in_pairs = idfs.iter().sum::<Score>() * 2.0 - idfs.iter().take(2).sum::<Score>();
        let most = in_pairs * MOST * (NEXT + AROUND);
        Ok(NearDocs {
            // Each word's part is rounded once.
            most: rank::units(rank::rounded(most)) + 1,
            words,
        })
    }
}

struct NearWord {
    docs: FormDocs,
    idf: Score,
    silent: SilentDocs,
    /// How often it is in the page at hand.
    count: u32,
    /// In the page at hand, ascending.
    positions: Vec<u32>,
}

/// Gives what pages gain, which must be asked for in ascending order.
pub(crate) struct NearDocs {
    words: Vec<NearWord>,
    /// No page gains more.
    most: Units,
}

impl NearDocs {
    /// A bound on what any page gains.
    pub(crate) fn most(&self) -> Units {
        if self.words.is_empty() { 0 } else { self.most }
    }

    /// What a page gains, if that can be `wanted` or more. Positions cost reads, and most pages cannot gain enough, because they have
    /// the words only once or twice.
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
            word.count = match word.docs.doc() == document {
                true => word.docs.position_count(),
                false => 0,
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
                    "each occurrence has a place"
                );
            }
        }
        let gain = self.of_pairs(document, |one, other| together(&one.positions, &other.positions));
        debug_assert!(gain <= bound + 1, "{gain} is gained where {bound} is the most");
        Some(gain.min(self.most()))
    }

    /// The sum over the pairs of words that the page has, where `together` gives how often two of them stand right behind each other,
    /// and how often around each other.
    fn of_pairs(&self, document: DocId, together: impl Fn(&NearWord, &NearWord) -> (u32, u32)) -> Units {
        let mut gained = 0.0;
        // What stands between two words and says nothing does not part them: `construction of compilers`.
        let mut said = self.words.iter().filter(|word| !word.silent.holds(document));
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

/// How often the first word stands right before the second, and how often one stands at most [`WINDOW`] from the
/// other: of each position of the first the nearest of the second counts. Both ascend.
fn together(first: &[u32], second: &[u32]) -> (u32, u32) {
    let (mut next, mut around) = (0, 0);
    let mut place = 0;
    for &position in first {
        while second.get(place).is_some_and(|&other| other <= position) {
            place += 1;
        }
        let before = place.checked_sub(1).map(|place| position - second[place]);
        let behind = second.get(place).map(|&other| other - position);
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
        // One word of the page can be both words of the query.
        assert_eq!(together(&[5], &[5]), (0, 1));
        assert_eq!(together(&[], &[5]), (0, 0));
    }
}
