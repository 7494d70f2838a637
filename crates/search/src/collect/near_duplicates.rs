//! A set of likenesses that finds whether a likeness is near any of its members.
//!
//! Invariant: the answer is the same as comparing with each member.
//!
//! The 64 bits are split into eight bands of eight bits. Two likenesses that differ in at most six
//! bits differ in at most six bands, so at least two bands are equal. Each likeness is stored under
//! all 28 pairs of its bands and compared only with those that share a pair. The bands therefore
//! miss no likeness within the distance. Texts that are similar but whose likenesses differ in more
//! bits are not found ([`crate::words::likeness`]).

use rustc_hash::FxHashMap;

use crate::words::likeness::{self, DISTANCE_MAX};

const BANDS: usize = 8;

/// Number of pairs of bands.
const PAIRS: usize = BANDS * (BANDS - 1) / 2;

const _: () = assert!(DISTANCE_MAX as usize == BANDS - 2, "at least two bands are equal");

/// End of a chain.
const NONE: u32 = u32::MAX;

/// Likenesses, no two of which are near each other.
#[derive(Default)]
pub(crate) struct LikenessSet {
    likenesses: Vec<u64>,
    /// By pair and its bits, the last likeness that was inserted.
    last: FxHashMap<u32, u32>,
    /// For each likeness and pair, the previous likeness with the same bits.
    before: Vec<[u32; PAIRS]>,
}

impl LikenessSet {
    /// Inserts a likeness and returns true, unless one in the set is near it.
    pub(crate) fn insert_unless_near(&mut self, likeness: u64) -> bool {
        let keys = keys(likeness);
        let is_near = keys
            .iter()
            .enumerate()
            .any(|(pair, key)| self.has_near(likeness, pair, *key));
        if is_near {
            return false;
        }
        // An index has fewer documents than a `u32` can count.
        let number = self.likenesses.len() as u32;
        self.likenesses.push(likeness);
        self.before
            .push(keys.map(|key| self.last.insert(key, number).unwrap_or(NONE)));
        true
    }

    fn has_near(&self, likeness: u64, pair: usize, key: u32) -> bool {
        let mut next = self.last.get(&key).copied().unwrap_or(NONE);
        while let Some(other) = self.likenesses.get(next as usize) {
            if likeness::are_near(likeness, *other) {
                return true;
            }
            next = self.before[next as usize][pair];
        }
        false
    }
}

/// Returns the keys that a likeness is stored under: each pair of bands, with the number of the
/// pair.
fn keys(likeness: u64) -> [u32; PAIRS] {
    let band = |number: usize| (likeness >> (8 * number)) as u32 & 0xff;
    let mut keys = [0; PAIRS];
    let mut pair = 0;
    for first in 0..BANDS {
        for second in first + 1..BANDS {
            keys[pair] = (pair as u32) << 16 | band(first) << 8 | band(second);
            pair += 1;
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Clustered around a few values, so that all distances occur.
        #[test]
        fn bands_miss_nothing(flips in prop::collection::vec((0..3_u64, prop::collection::vec(0..64_u32, 0..12)), 0..200)) {
            let mut set = LikenessSet::default();
            let mut model: Vec<u64> = Vec::new();
            for (around, bits) in flips {
                let likeness = bits.iter().fold(around.wrapping_mul(0x9e37_79b9_7f4a_7c15), |value, bit| value ^ 1 << bit);
                let is_near = model.iter().any(|other| (likeness ^ other).count_ones() <= 6);
                prop_assert_eq!(set.insert_unless_near(likeness), !is_near);
                if !is_near {
                    model.push(likeness);
                }
            }
        }
    }
}
