//! Scores whose sum does not depend on the order of addition.
//!
//! A score is a sum: BM25 of each word or phrase, the proximity of words, and a prior for in-links.
//! Sums of floating-point numbers depend on the order, and the scorers of a segment are added in an
//! order that depends on the segment. So each part is rounded to a multiple of [`UNIT`]. With at
//! most 64 words a sum stays below 4,096, which is exact in 24 bits in any order.

use tantivy::Score;

/// Scores are multiples of this.
pub(crate) const UNIT: f32 = 1.0 / 4096.0;

/// Units that each step of the in-link bucket adds: an eighth of a point. Two steps double the
/// in-links. BM25 of an average word is 3 to 8 points, so a thousand in-links outweigh about half a
/// word.
const PRIOR_STEP: u32 = 512;

/// Buckets above this (a million in-links) add no further score.
const BUCKET_MAX: u8 = 40;

/// A score in whole units.
pub(crate) type Units = u32;

/// Returns the prior of an in-link bucket.
pub(crate) fn prior(bucket: u8) -> Units {
    u32::from(bucket.min(BUCKET_MAX)) * PRIOR_STEP
}

/// Returns the least bucket with at least this prior; `None` if no bucket has it.
pub(crate) fn bucket_from(prior: Units) -> Option<u8> {
    let bucket = u8::try_from(prior.div_ceil(PRIOR_STEP)).ok()?;
    (bucket <= BUCKET_MAX).then_some(bucket)
}

/// Returns a sum of rounded scores in units.
pub(crate) fn units(score: Score) -> Units {
    // Exact: sums are whole multiples of the unit, below 2^24 of them.
    (score / UNIT) as u32
}

/// Returns units as a score.
pub(crate) fn score(units: Units) -> Score {
    units as Score * UNIT
}

/// Returns the points of a score in units.
pub(crate) fn points(units: Units) -> f64 {
    f64::from(units) * f64::from(UNIT)
}

/// Rounds a non-negative score to the nearest multiple of the unit.
pub(crate) fn rounded(score: Score) -> Score {
    // Avoids `round`, which calls the C library for every match. The arithmetic is exact, as in
    // `units`, and so is the difference of two such close numbers.
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
        for (wanted, bucket) in [
            (0, 0),
            (1, 1),
            (prior(1), 1),
            (prior(1) + 1, 2),
            (prior(BUCKET_MAX), BUCKET_MAX),
        ] {
            assert_eq!(bucket_from(wanted), Some(bucket), "{wanted}");
        }
        assert_eq!(bucket_from(prior(BUCKET_MAX) + 1), None);
        assert_eq!(bucket_from(Units::MAX), None);
    }
}
