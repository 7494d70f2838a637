//! Estimates of the hit rate for other cache sizes: rings that hold only keys.
//!
//! In a large cache one block in [`SAMPLED`], selected by its key, is tracked in rings of 1/4, 1/2,
//! 1, 2 and 4 times the space. A sample by key preserves reuse distances, so its hit rate is that
//! of the whole (Waldspurger, Park, Garthwaite, Ahmad: Efficient MRC construction with SHARDS, FAST
//! 2015).

use std::collections::BTreeMap;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::block::{BLOCK_BYTES, BlockKey};
use crate::ring::Ring;

/// Sampling rate for large caches.
const SAMPLED: u64 = 8;
/// Space, in blocks, from which a sample is sufficient.
const SAMPLE_FROM_BLOCKS: u64 = 8192;
/// Minimum size of the smallest ring in blocks: below this, chance decides.
const BLOCKS_MIN: u64 = 8;
/// Maximum number of groups; reads of further ones are combined.
const GROUPS_MAX: usize = 1000;
const OTHERS: &str = "(others)";

/// Sizes of the rings as multiples of the present space.
pub const SPACES: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

/// Simulated caches of other sizes.
pub(crate) struct Ghosts {
    /// The sampling rate.
    sampled: u64,
    state: Mutex<State>,
}

struct State {
    rings: Vec<Ring<BlockKey>>,
    groups: FxHashMap<String, Group>,
}

#[derive(Default, Clone)]
struct Group {
    reads: u64,
    hits: [u64; SPACES.len()],
}

/// Estimated hit rates of a prefix for other cache sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The prefix of a rule, or the first folder of the address.
    pub prefix: String,
    /// Approximate number of block reads.
    pub reads: u64,
    /// Share of these reads that would hit the cache with 1/4, 1/2, 1, 2 and 4 times the present
    /// space.
    pub hit_rates: [f64; SPACES.len()],
}

impl Ghosts {
    pub(crate) fn new(space_bytes: u64) -> Ghosts {
        let sampled = if space_bytes / BLOCK_BYTES < SAMPLE_FROM_BLOCKS {
            1
        } else {
            SAMPLED
        };
        let ring = |part: &f64| {
            let blocks = (space_bytes as f64 * part / (BLOCK_BYTES * sampled) as f64) as u64;
            let blocks = blocks.max(BLOCKS_MIN);
            Ring::new(blocks, &[blocks])
        };
        Ghosts {
            sampled,
            state: Mutex::new(State {
                rings: SPACES.iter().map(ring).collect(),
                groups: FxHashMap::default(),
            }),
        }
    }

    /// Records a read of a block.
    pub(crate) fn read(&self, key: &BlockKey, group: &str) {
        // Bits of the object's digest, mixed with the number of the block.
        let mixed = (key.object.0 as u64)
            .wrapping_add(u64::from(key.block))
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        if mixed >> 32 & (self.sampled - 1) != 0 {
            return;
        }
        let mut state = self.state.lock();
        let State { rings, groups } = &mut *state;
        let name = if groups.contains_key(group) || groups.len() < GROUPS_MAX {
            group
        } else {
            OTHERS
        };
        let counts = match groups.get_mut(name) {
            Some(counts) => counts,
            None => groups.entry(name.to_owned()).or_default(),
        };
        counts.reads += 1;
        for (ring, hits) in rings.iter_mut().zip(&mut counts.hits) {
            if ring.contains(key) {
                ring.touch(key);
                *hits += 1;
            } else {
                ring.insert(*key, 1, 0, false);
            }
        }
    }

    /// Returns the estimates for each prefix, sorted by prefix.
    pub(crate) fn advice(&self) -> Vec<Advice> {
        let state = self.state.lock();
        let sorted: BTreeMap<&String, &Group> = state.groups.iter().collect();
        let advice = |(prefix, group): (&String, &Group)| Advice {
            prefix: prefix.clone(),
            reads: group.reads * self.sampled,
            hit_rates: group.hits.map(|hits| hits as f64 / group.reads.max(1) as f64),
        };
        sorted.into_iter().map(advice).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Class, ObjectId};

    #[test]
    fn more_space_is_told_to_bring_hits_where_it_would() {
        let ghosts = Ghosts::new(1000 * BLOCK_BYTES);
        let key = |object: u64, block: u32| BlockKey {
            object: ObjectId(u128::from(object) << 17 | 5),
            block,
            class: Class::Data,
        };
        for _ in 0..20 {
            for block in 0..1500 {
                ghosts.read(&key(1, block), "loop");
            }
        }
        let advice = ghosts.advice();
        let [.., twice, four] = advice[0].hit_rates;
        assert!(twice > 0.9 && four > 0.9, "{advice:?}");
        assert!(advice[0].hit_rates[0] < 0.5, "{advice:?}");
        assert!((20_000..40_000).contains(&advice[0].reads), "{advice:?}");
    }
}
