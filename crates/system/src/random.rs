//! Chance: names that nobody else has, secrets, nonces, and times that two callers do not share.
//!
//! The numbers are fit for secrets: they come from rand's generator of the thread (ChaCha, seeded and reseeded by the
//! operating system), unless a test has entered a simulation.

#![expect(clippy::disallowed_methods, reason = "this is the way to the machine")]

use rand::distr::uniform::{SampleRange, SampleUniform};
use rand::distr::{Distribution, StandardUniform};

/// A value of which all are equally likely.
pub fn random<T>() -> T
where
    StandardUniform: Distribution<T>,
{
    #[cfg(feature = "simulated")]
    if let Some(value) = crate::simulated::draw(|dice| rand::RngExt::random(dice)) {
        return value;
    }
    rand::random()
}

/// A value of a range, which must not be empty.
pub fn random_range<T: SampleUniform>(range: impl SampleRange<T> + Clone) -> T {
    #[cfg(feature = "simulated")]
    {
        let range = range.clone();
        if let Some(value) = crate::simulated::draw(|dice| rand::RngExt::random_range(dice, range)) {
            return value;
        }
    }
    rand::random_range(range)
}
