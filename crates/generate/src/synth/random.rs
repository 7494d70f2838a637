//! The only source of randomness: a counter mixed by splitmix64, so that any part of the generated
//! web can be computed separately from the seed and its numbers.

/// Odd, and near 2^64 divided by the golden ratio: its multiples spread evenly.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Pseudorandom numbers that depend only on the initial state.
#[derive(Debug, Clone)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// Creates a generator from `seed` and the numbers that identify the generated part.
    pub(super) fn of(seed: u64, names: &[u64]) -> Random {
        let state = names.iter().fold(mix(seed ^ STEP), |state, &name| {
            mix(state ^ name.wrapping_mul(STEP))
        });
        Random { state }
    }

    /// Returns 64 random bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// Returns a number below `bound`; 0 if `bound` is 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns true with a probability of `permille` in a thousand.
    pub(super) fn chance(&mut self, permille: u64) -> bool {
        self.below(1000) < permille
    }

    /// Returns one of `choices`, which must not be empty.
    pub(super) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// Returns a rank below 2^`log2` (at most 2^63) by Zipf's law with exponent 1: all octaves of
    /// ranks are equally likely.
    pub(super) fn zipf(&mut self, log2: u32) -> u64 {
        let octave = self.below(u64::from(log2.max(1)));
        (1 << octave) - 1 + self.below(1 << octave)
    }
}

/// The last step of splitmix64: a bijection on 64 bits.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A bijection on 32 bits that depends on `key`: different numbers give different results.
pub(super) fn scatter(number: u32, key: u32) -> u32 {
    let mut x = number ^ key;
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}
