//! Scores that add up alike in any order.
//!
//! A score is a sum: BM25 of each word or phrase, what words gain by standing near each other, and a prior for in-links. Sums of floating-point
//! numbers depend on their order, and the order in which a segment's scorers are added depends on the
//! segment. So each part is rounded to a multiple of [`UNIT`]; with at most 64 words a sum stays below
//! 4,096 and is exact in 24 bits, in whatever order.

use tantivy::Score;

/// Scores are multiples of this.
pub(crate) const UNIT: f32 = 1.0 / 4096.0;

/// What each step of the in-link bucket adds, in units: an eighth of a point. Two steps double the
/// in-links; BM25 of a middling word is 3 to 8 points, so that a thousand in-links outweigh about half a word.
const PRIOR_STEP: u32 = 512;

/// Buckets beyond this (a million in-links) add no more.
const BUCKET_MAX: u8 = 40;

/// A score in whole units.
pub(crate) type Units = u32;

/// The prior of an in-link bucket.
pub(crate) fn prior(bucket: u8) -> Units {
    u32::from(bucket.min(BUCKET_MAX)) * PRIOR_STEP
}

/// A sum of rounded scores in units.
pub(crate) fn units(score: Score) -> Units {
    // Exact: sums are whole multiples of the unit, below 2^24 of them.
    (score / UNIT) as u32
}

/// Points of a score in units.
pub(crate) fn points(units: Units) -> f64 {
    f64::from(units) * f64::from(UNIT)
}

/// The nearest multiple of the unit; of a score that is not negative.
pub(crate) fn rounded(score: Score) -> Score {
    // Without `round`, which is a call of the C library for every match. Exact as in `units`, and so is the
    // difference of two numbers so close.
    let units = score / UNIT;
    let whole = units as Units as Score;
    let up = if units - whole >= 0.5 { 1.0 } else { 0.0 };
    (whole + up) * UNIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_rounded_scores_are_exact_in_any_order() {
        let scores: Vec<f32> = (0..crate::query::WORDS_MAX)
            .map(|index| rounded(48.7 / (index as f32 + 1.0)))
            .collect();
        let forward: f32 = scores.iter().sum();
        let backward: f32 = scores.iter().rev().sum();
        assert_eq!(forward, backward);
        let exact: u32 = scores.iter().map(|&score| units(score)).sum();
        assert_eq!(units(forward), exact);
    }

    #[test]
    fn scores_are_rounded_to_the_nearest() {
        let scores = (0..100_000).map(|step| step as Score * (UNIT / 4.0));
        for score in scores.chain((1..10_000).map(|part| 900.0 / part as Score)) {
            assert_eq!(rounded(score), (score / UNIT).round() * UNIT, "{score}");
        }
    }

    #[test]
    fn the_prior_grows_and_ends() {
        assert_eq!(prior(0), 0);
        assert!(prior(3) > prior(2));
        assert_eq!(prior(200), prior(BUCKET_MAX));
    }
}
