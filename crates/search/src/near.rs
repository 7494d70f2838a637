//! What words of the query add that stand near each other in a page.
//!
//! The measure is that of Büttcher, Clarke and Lushman ("Term proximity scoring for ad-hoc retrieval on very large text
//! collections", 2006): wherever two different words of the query follow each other in the page, with none of the
//! query's between them, each gains the rareness of the other over the square of their distance. The sum is
//! saturated as BM25's frequency is. It is bounded, so positions are read only of pages that it may bring among the best
//! (`collect`): the answer is the same as if they were read of all.

use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Score, SegmentReader};

use crate::bm25::{MOST, saturated_at_mean};
use crate::forms::{FormDocs, Forms, Place};
use crate::rank::{self, Units};

/// Words that are looked at: reading the positions of more would be felt, and few queries have them.
const WORDS_MAX: usize = 16;

/// The words of a query whose nearness counts.
#[derive(Debug, Default)]
pub(crate) struct Near {
    words: Vec<(Forms, Score)>,
    place: Option<Place>,
}

impl Near {
    /// Of different words, each with how rare it is.
    pub(crate) fn new(mut words: Vec<(Forms, Score)>, place: Place) -> Near {
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
        for (forms, idf) in &self.words {
            if let Some(place) = self.place {
                let docs = forms.open(reader, place, IndexRecordOption::WithFreqsAndPositions)?;
                words.push(NearWord {
                    docs,
                    idf: *idf,
                    gained: 0.0,
                });
            }
        }
        let most: Score = words.iter().map(|word| weight(word.idf) * MOST).sum();
        Ok(NearDocs {
            // Each word's part is rounded once.
            most: rank::units(rank::rounded(most)) + 1,
            words,
            found: Vec::new(),
            positions: Vec::new(),
        })
    }
}

/// A word in most pages says little by standing beside another.
fn weight(idf: Score) -> Score {
    idf.min(1.0)
}

struct NearWord {
    docs: FormDocs,
    idf: Score,
    /// What it gained in the page at hand.
    gained: Score,
}

/// Gives what pages gain, which must be asked for in ascending order.
pub(crate) struct NearDocs {
    words: Vec<NearWord>,
    /// No page gains more.
    most: Units,
    /// Positions in the page at hand, and index of the word.
    found: Vec<(u32, usize)>,
    positions: Vec<u32>,
}

impl NearDocs {
    /// A bound on what any page gains.
    pub(crate) fn most(&self) -> Units {
        if self.words.is_empty() { 0 } else { self.most }
    }

    /// What a page gains.
    pub(crate) fn gain(&mut self, document: DocId) -> Units {
        self.find(document);
        for word in &mut self.words {
            word.gained = 0.0;
        }
        for pair in self.found.windows(2) {
            let ((before, one), (after, other)) = (pair[0], pair[1]);
            if one != other {
                // One position can be of two words of a query: `résumé resume`.
                let distance = (after - before).max(1) as Score;
                let closeness = 1.0 / (distance * distance);
                self.words[one].gained += self.words[other].idf * closeness;
                self.words[other].gained += self.words[one].idf * closeness;
            }
        }
        let gain = |word: &NearWord| weight(word.idf) * MOST * saturated_at_mean(word.gained);
        let gained: Score = self.words.iter().map(gain).sum();
        rank::units(rank::rounded(gained)).min(self.most())
    }

    fn find(&mut self, document: DocId) {
        self.found.clear();
        for (index, word) in self.words.iter_mut().enumerate() {
            if word.docs.doc() < document {
                word.docs.seek(document);
            }
            if word.docs.doc() == document {
                word.docs.positions(0, &mut self.positions);
                self.found
                    .extend(self.positions.iter().map(|&position| (position, index)));
            }
        }
        self.found.sort_unstable();
    }
}
