//! Scores that are computed only for matches that may be among the best.

use tantivy::query::Scorer;
use tantivy::{DocSet, Score};

/// Matches whose scores have an upper bound.
pub(crate) trait Bounded: DocSet {
    /// Returns an upper bound of the score of any document.
    fn most(&self) -> Score;

    /// Leaves out documents that cannot score this much, from the next one on. Others may be left
    /// in. Must be called with ascending scores.
    fn require(&mut self, _: Score) {}

    /// Returns the score of the current document, or `None` if it is less than `wanted`. It may be
    /// returned although it is less.
    fn score_from(&mut self, wanted: Score) -> Option<Score>;
}

impl Bounded for Box<dyn Scorer> {
    fn most(&self) -> Score {
        Score::INFINITY
    }

    fn score_from(&mut self, _: Score) -> Option<Score> {
        Some(self.score())
    }
}
