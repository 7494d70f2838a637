//! Randomness: unique names, secrets, nonces, and jitter.
//!
//! The numbers are suitable for secrets: they come from rand's thread-local generator (ChaCha,
//! seeded and reseeded by the operating system), unless a test has entered a simulation.

#![expect(clippy::disallowed_methods, reason = "this is the way to the machine")]

use rand::distr::uniform::{SampleRange, SampleUniform};
use rand::distr::{Distribution, StandardUniform};

/// Returns a uniformly distributed random value.
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

/// Returns a random value in a range, which must not be empty.
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
