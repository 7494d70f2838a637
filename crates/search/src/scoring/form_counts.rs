//! How often a page has each form of a word, and what the forms weigh.

use tantivy::Score;

/// Weight of an occurrence whose diacritics differ from the query's. It is close to 1, so that it
/// decides only between pages that otherwise score the same.
const OTHER_DIACRITICS: Score = 0.95;

/// Weight of an occurrence of another word with the same stem. Below the others, for the same
/// reason.
pub(crate) const SAME_STEM: Score = 0.9;

/// How often a page has each form of a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FormCounts {
    pub(crate) written: u32,
    pub(crate) other_diacritics: u32,
    pub(crate) same_stem: u32,
    /// How many of the first two kinds are in anchors.
    pub(crate) in_anchors: u32,
}

impl FormCounts {
    /// Returns the weighted frequency for BM25.
    pub(crate) fn frequency(self) -> Score {
        self.written as Score
            + self.other_diacritics as Score * OTHER_DIACRITICS
            + self.same_stem as Score * SAME_STEM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_very_form_counts_most() {
        const { assert!(SAME_STEM < OTHER_DIACRITICS && OTHER_DIACRITICS < 1.0) };
    }
}
