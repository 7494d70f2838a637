//! Sets of blocks of one object: the bad blocks of a replica, or those that are good in no replica.
//!
//! Invariant: the ranges are in order, not empty, and no two of them touch. Ranges from outside are
//! sorted and joined when a set is made of them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::meta::BLOCK_BYTES;

/// Most ranges in a set. A replica with more separate damage is reported bad without the places,
/// and is then tried block by block. Fewer would lose the places of scattered damage; each range
/// costs some 30 bytes of JSON in the index.
pub const RANGES_MAX: usize = 1024;

/// Most ranges listed in a text; the others are only counted. More would make log lines unreadable.
const NAMED_MAX: usize = 20;

/// A set of blocks of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Range<u64>>", into = "Vec<Range<u64>>")]
pub struct BlockSet(Vec<Range<u64>>);

impl BlockSet {
    /// Returns the blocks of one range.
    pub fn from_range(blocks: Range<u64>) -> Self {
        vec![blocks].into()
    }

    /// Adds some blocks, which must not precede the last one added.
    pub fn push(&mut self, blocks: Range<u64>) {
        if blocks.is_empty() {
            return;
        }
        match self.0.last_mut() {
            // Ranges that touch are joined, so that equal sets have equal ranges.
            Some(last) if last.end >= blocks.start => {
                debug_assert!(last.start <= blocks.start, "blocks must be added in order");
                last.end = last.end.max(blocks.end);
            }
            _ => self.0.push(blocks),
        }
    }

    /// Returns the ranges, in order.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of blocks in the set.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// Returns the blocks that are in both sets.
    #[must_use]
    pub fn shared_with(&self, other: &Self) -> Self {
        let mut shared = Self::default();
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(our), Some(their)) = (ours.peek(), theirs.peek()) {
            let (start, end) = (our.start.max(their.start), our.end.min(their.end));
            // Two ranges that do not overlap give an empty range, which `push` ignores.
            shared.push(start..end.max(start));
            // The range that ends first cannot overlap any further one.
            if our.end <= their.end {
                ours.next();
            } else {
                theirs.next();
            }
        }
        shared
    }

    /// Returns the bytes of these blocks in an object of `size` bytes, as HTTP writes ranges: first
    /// to last.
    pub fn bytes_text(&self, size: u64) -> String {
        let text = |range: &Range<u64>| {
            let first = range.start.saturating_mul(BLOCK_BYTES);
            let end = range.end.saturating_mul(BLOCK_BYTES).min(size);
            format!("{first}-{}", end.saturating_sub(1).max(first))
        };
        let mut texts: Vec<_> = self.0.iter().take(NAMED_MAX).map(text).collect();
        if self.0.len() > NAMED_MAX {
            texts.push(format!("{} more ranges", self.0.len() - NAMED_MAX));
        }
        format!("bytes {} of {size}", texts.join(", "))
    }
}

impl From<Vec<Range<u64>>> for BlockSet {
    fn from(mut ranges: Vec<Range<u64>>) -> Self {
        // `push` joins ranges that touch, but only if they are in order.
        ranges.sort_by_key(|range| range.start);
        let mut set = Self::default();
        ranges.into_iter().for_each(|range| set.push(range));
        set
    }
}

impl From<BlockSet> for Vec<Range<u64>> {
    fn from(set: BlockSet) -> Self {
        set.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns sets of up to eight blocks, from the bits of a number.
    fn of_bits(bits: u8) -> BlockSet {
        let mut set = BlockSet::default();
        (0..8)
            .filter(|block| bits >> block & 1 == 1)
            .for_each(|block| set.push(block..block + 1));
        set
    }

    #[test]
    fn what_two_sets_share_is_what_their_bits_share() {
        for ours in 0..=255u8 {
            assert_eq!(of_bits(ours).count(), u64::from(ours.count_ones()));
            for theirs in 0..=255u8 {
                assert_eq!(
                    of_bits(ours).shared_with(&of_bits(theirs)),
                    of_bits(ours & theirs),
                    "{ours:08b} {theirs:08b}"
                );
            }
        }
    }

    #[test]
    fn ranges_from_outside_are_put_in_order() {
        let set: BlockSet = serde_json::from_str(
            r#"[{"start":7,"end":9},{"start":3,"end":3},{"start":1,"end":4},{"start":2,"end":5}]"#,
        )
        .unwrap();
        assert_eq!(set.ranges(), [1..5, 7..9]);
        let size = 8 * BLOCK_BYTES + 10;
        assert_eq!(
            set.bytes_text(size),
            format!(
                "bytes {}-{}, {}-{} of {size}",
                BLOCK_BYTES,
                5 * BLOCK_BYTES - 1,
                7 * BLOCK_BYTES,
                size - 1
            )
        );
        let many: BlockSet = (0..50).map(|i| 2 * i..2 * i + 1).collect::<Vec<_>>().into();
        assert!(many.bytes_text(u64::MAX).contains(", 30 more ranges of "));
    }
}
