//! The eviction order: S3-FIFO, with weights, pins and shares.
//!
//! A new block enters a small queue of one tenth of the space. At the end of this queue, a block
//! that was read again moves to the main queue. The others are evicted, and their keys are
//! remembered for a while (the ghost queue); a block that returns soon enters the main queue. At
//! the end of the main queue a block goes round again, once per read, at most three times. So a
//! full scan passes through only a tenth of the space (Yang, Zhang, Qiu, Yue, Vigfusson: FIFO
//! queues are all you need for cache eviction, SOSP 2023).
//!
//! The blocks of a **share** have a separate limit: metadata, and each prefix with a quota.

use std::collections::VecDeque;
use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

/// The small queue has this fraction of the space (1/10).
const SMALL_PART: u64 = 10;
/// Maximum number of reads counted per block.
const READS_MAX: u8 = 3;

/// A share of the space.
pub(crate) type ShareId = u16;

/// The order and the total weight of cached items. It knows their keys and weights, not their
/// contents.
pub(crate) struct Ring<K> {
    entries: FxHashMap<K, Entry>,
    shares: Vec<Share<K>>,
    capacity: u64,
    used: u64,
    pinned: u64,
    /// Numbers the insertions, so that a queue can tell an item that was removed and added again
    /// from its old position.
    next_turn: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    weight: u64,
    share: ShareId,
    is_small: bool,
    is_pinned: bool,
    reads: u8,
    turn: u64,
}

struct Share<K> {
    limit: u64,
    used: u64,
    small: Queue<K>,
    main: Queue<K>,
    ghost: Ghost<K>,
}

/// A queue of keys. Keys of items removed in another way are skipped at its end.
struct Queue<K> {
    names: VecDeque<(K, u64)>,
    weight: u64,
}

/// Keys of recently evicted items.
struct Ghost<K> {
    order: VecDeque<K>,
    names: FxHashSet<K>,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Queue {
            names: VecDeque::new(),
            weight: 0,
        }
    }
}

impl<K: Copy + Eq + Hash> Ghost<K> {
    fn add(&mut self, name: K, length_max: usize) {
        if self.names.insert(name) {
            self.order.push_back(name);
        }
        while self.order.len() > length_max.max(1) {
            if let Some(oldest) = self.order.pop_front() {
                self.names.remove(&oldest);
            }
        }
    }

    fn take(&mut self, name: &K) -> bool {
        // The key stays in `order`, where it is skipped.
        self.names.remove(name)
    }
}

impl<K: Copy + Eq + Hash> Ring<K> {
    /// Creates a ring with this capacity and a share for each limit. Share 0 is for items without
    /// another share.
    pub(crate) fn new(capacity: u64, limits: &[u64]) -> Ring<K> {
        let share = |limit: &u64| Share {
            limit: (*limit).min(capacity),
            used: 0,
            small: Queue::default(),
            main: Queue::default(),
            ghost: Ghost {
                order: VecDeque::new(),
                names: FxHashSet::default(),
            },
        };
        Ring {
            entries: FxHashMap::default(),
            shares: limits.iter().map(share).collect(),
            capacity,
            used: 0,
            pinned: 0,
            next_turn: 0,
        }
    }

    /// Returns the total weight.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Returns the weight of pinned items.
    pub(crate) fn pinned(&self) -> u64 {
        self.pinned
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn contains(&self, name: &K) -> bool {
        self.entries.contains_key(name)
    }

    /// Changes the capacity. Excess items are evicted by the next insertion or [`Ring::shrink`].
    pub(crate) fn set_capacity(&mut self, capacity: u64) {
        self.capacity = capacity;
    }

    /// Records a read.
    pub(crate) fn touch(&mut self, name: &K) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.reads = (entry.reads + 1).min(READS_MAX);
        }
    }

    /// Returns whether an item of this weight fits without an eviction.
    pub(crate) fn has_room(&self, share: ShareId, weight: u64) -> bool {
        let limit = self
            .shares
            .get(usize::from(share))
            .map_or(0, |share| share.limit.saturating_sub(share.used));
        weight <= limit && self.used.saturating_add(weight) <= self.capacity
    }

    /// Inserts an item or changes its weight. Returns the items to evict, which may include the
    /// item itself if it was present and became too heavy. Returns `None` and changes nothing if
    /// there is no room for a new item, because it exceeds its share or the rest of the share is
    /// pinned.
    pub(crate) fn insert(&mut self, name: K, weight: u64, share: ShareId, is_pinned: bool) -> Option<Vec<K>> {
        let before = self.take_out(&name);
        let (share, is_pinned) = before.map_or((share, is_pinned), |before| (before.share, before.is_pinned));
        let mut dropped = Vec::new();
        let fits = self.make_room(share, weight, &mut dropped);
        match (fits, before) {
            (true, Some(before)) => {
                self.enter_queue(name, weight, share, is_pinned, before.is_small);
                self.entries
                    .entry(name)
                    .and_modify(|entry| entry.reads = before.reads);
            }
            (true, None) => self.enter(name, weight, share, is_pinned),
            (false, Some(_)) => dropped.push(name),
            (false, None) if dropped.is_empty() => return None,
            // Items were evicted, and there is still no room.
            (false, None) => dropped.push(name),
        }
        Some(dropped)
    }

    fn make_room(&mut self, share: ShareId, weight: u64, dropped: &mut Vec<K>) -> bool {
        let limit = self.shares.get(usize::from(share)).map_or(0, |share| share.limit);
        if weight > limit || weight > self.capacity {
            return false;
        }
        loop {
            let used = self.shares.get(usize::from(share)).map_or(0, |share| share.used);
            let full = if used + weight > limit {
                share
            } else if self.used + weight > self.capacity {
                self.fullest(share)
            } else {
                return true;
            };
            match self.drop_one(full) {
                Some(gone) => dropped.push(gone),
                None => return false,
            }
        }
    }

    /// Restores an item from before this ring was created. Items enter the main queue in the order
    /// of calls. A pin is kept only if all pinned items fit: weights may have grown, or the
    /// capacity may have shrunk.
    pub(crate) fn restore(&mut self, name: K, weight: u64, share: ShareId, is_pinned: bool) {
        let fits = self.pinned.saturating_add(weight) <= self.capacity;
        if !self.entries.contains_key(&name) {
            self.enter_queue(name, weight, share, is_pinned && fits, false);
        }
    }

    /// Evicts items until the rest fits.
    pub(crate) fn shrink(&mut self) -> Vec<K> {
        let mut dropped = Vec::new();
        for share in 0..self.shares.len() {
            let share = ShareId::try_from(share).unwrap_or(ShareId::MAX);
            let is_over = |ring: &Self| {
                ring.shares
                    .get(usize::from(share))
                    .is_some_and(|share| share.used > share.limit)
            };
            while is_over(self) {
                match self.drop_one(share) {
                    Some(gone) => dropped.push(gone),
                    None => break,
                }
            }
        }
        while self.used > self.capacity {
            let share = self.fullest(0);
            match self.drop_one(share) {
                Some(gone) => dropped.push(gone),
                None => break,
            }
        }
        dropped
    }

    /// Removes an item without remembering its key.
    pub(crate) fn remove(&mut self, name: &K) -> bool {
        self.take_out(name).is_some()
    }

    /// Pins or unpins an item. An unpinned item enters the main queue.
    pub(crate) fn set_pinned(&mut self, name: &K, is_pinned: bool) {
        let Some(entry) = self.entries.get(name).copied() else {
            return;
        };
        if entry.is_pinned != is_pinned {
            self.take_out(name);
            self.enter_queue(*name, entry.weight, entry.share, is_pinned, false);
        }
    }

    fn enter(&mut self, name: K, weight: u64, share: ShareId, is_pinned: bool) {
        let is_small = self
            .shares
            .get_mut(usize::from(share))
            .is_some_and(|share| !share.ghost.take(&name));
        self.enter_queue(name, weight, share, is_pinned, is_small);
    }

    fn enter_queue(&mut self, name: K, weight: u64, share: ShareId, is_pinned: bool, is_small: bool) {
        let turn = self.next_turn;
        self.next_turn += 1;
        let Some(of) = self.shares.get_mut(usize::from(share)) else {
            return;
        };
        if is_pinned {
            self.pinned += weight;
        } else {
            let queue = if is_small { &mut of.small } else { &mut of.main };
            queue.names.push_back((name, turn));
            queue.weight += weight;
        }
        of.used += weight;
        self.used += weight;
        self.entries.insert(
            name,
            Entry {
                weight,
                share,
                is_small,
                is_pinned,
                reads: 0,
                turn,
            },
        );
    }

    fn take_out(&mut self, name: &K) -> Option<Entry> {
        let entry = self.entries.remove(name)?;
        self.used -= entry.weight;
        if entry.is_pinned {
            self.pinned -= entry.weight;
        }
        if let Some(of) = self.shares.get_mut(usize::from(entry.share)) {
            of.used -= entry.weight;
            if !entry.is_pinned {
                let queue = if entry.is_small {
                    &mut of.small
                } else {
                    &mut of.main
                };
                queue.weight -= entry.weight;
                // Keys of removed items would otherwise fill a queue whose end is never reached.
                if queue.names.len() > 64 && queue.names.len() > 2 * self.entries.len() {
                    let entries = &self.entries;
                    queue
                        .names
                        .retain(|(name, turn)| entries.get(name).is_some_and(|entry| entry.turn == *turn));
                }
            }
        }
        Some(entry)
    }

    /// Returns the share to evict from if the total is too large: the one with the most weight.
    fn fullest(&self, preferred: ShareId) -> ShareId {
        let queued = |share: &Share<K>| share.small.weight + share.main.weight;
        let most = self
            .shares
            .iter()
            .enumerate()
            .max_by_key(|(_, share)| queued(share));
        match most {
            Some((index, share)) if queued(share) > 0 => ShareId::try_from(index).unwrap_or(preferred),
            _ => preferred,
        }
    }

    /// Evicts the next item of a share.
    fn drop_one(&mut self, share: ShareId) -> Option<K> {
        // Terminates: each step evicts an item, decrements a read count, or removes a key from a
        // queue.
        loop {
            let of = self.shares.get_mut(usize::from(share))?;
            let small_max = of.limit.min(self.capacity) / SMALL_PART;
            let from_small =
                !of.small.names.is_empty() && (of.small.weight > small_max || of.main.names.is_empty());
            let queue = if from_small { &mut of.small } else { &mut of.main };
            let (name, turn) = queue.names.pop_front()?;
            let entry = self.entries.get_mut(&name).filter(|entry| entry.turn == turn);
            let Some(entry) = entry else {
                continue;
            };
            let weight = entry.weight;
            if entry.reads == 0 {
                queue.weight -= weight;
                of.used -= weight;
                self.used -= weight;
                self.entries.remove(&name);
                if from_small {
                    of.ghost.add(name, self.entries.len());
                }
                return Some(name);
            }
            entry.reads -= 1;
            if from_small {
                entry.is_small = false;
                entry.reads = 0;
                of.small.weight -= weight;
                of.main.weight += weight;
            }
            of.main.names.push_back((name, turn));
        }
    }

    /// Checks the invariants, for tests.
    #[cfg(test)]
    pub(crate) fn assert_whole(&self) {
        let sum = |of: &dyn Fn(&Entry) -> bool| -> u64 {
            self.entries
                .values()
                .filter(|entry| of(entry))
                .map(|entry| entry.weight)
                .sum()
        };
        assert_eq!(self.used, sum(&|_| true), "all");
        assert_eq!(self.pinned, sum(&|entry| entry.is_pinned), "pinned");
        for (index, share) in self.shares.iter().enumerate() {
            let mine = |entry: &Entry| usize::from(entry.share) == index;
            assert_eq!(share.used, sum(&mine), "share {index}");
            assert_eq!(
                share.small.weight,
                sum(&|entry| mine(entry) && entry.is_small && !entry.is_pinned)
            );
            assert_eq!(
                share.main.weight,
                sum(&|entry| mine(entry) && !entry.is_small && !entry.is_pinned)
            );
            assert!(
                share.used <= share.limit,
                "share {index} has {} of {}",
                share.used,
                share.limit
            );
        }
        assert!(self.used <= self.capacity, "{} of {}", self.used, self.capacity);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_scan_does_not_drive_out_what_is_read_again() {
        let mut ring = Ring::new(100, &[100]);
        for hot in 0..50_u32 {
            ring.insert(hot, 1, 0, false);
            ring.touch(&hot);
        }
        for scanned in 1000..11_000_u32 {
            ring.insert(scanned, 1, 0, false);
            if scanned % 10 == 0 {
                ring.touch(&(scanned / 10 % 50));
            }
        }
        let kept = (0..50).filter(|hot| ring.contains(hot)).count();
        assert!(kept >= 49, "{kept} of 50");
    }

    #[test]
    fn what_comes_back_soon_enters_the_main_queue() {
        let mut ring = Ring::new(10, &[10]);
        for name in 0..20_u32 {
            ring.insert(name, 1, 0, false);
        }
        let ghost = (0..20).rev().find(|name| !ring.contains(name)).unwrap();
        ring.insert(ghost, 1, 0, false);
        for name in 100..109_u32 {
            ring.insert(name, 1, 0, false);
        }
        assert!(ring.contains(&ghost));
        ring.assert_whole();
    }

    #[test]
    fn pinned_blocks_stay_and_too_many_of_them_are_refused() {
        let mut ring = Ring::new(10, &[10]);
        for name in 0..8_u32 {
            assert!(ring.insert(name, 1, 0, true).is_some());
        }
        for name in 100..200_u32 {
            ring.insert(name, 1, 0, false);
        }
        assert!((0..8).all(|name| ring.contains(&name)));
        for name in 8..10_u32 {
            assert!(ring.insert(name, 1, 0, true).is_some());
        }
        assert_eq!(ring.insert(300, 1, 0, false), None);
        ring.set_pinned(&3, false);
        assert_eq!(ring.insert(300, 1, 0, false), Some(vec![3]));
        ring.assert_whole();
    }

    #[test]
    fn a_share_is_held_to_its_limit_and_others_do_not_take_from_it() {
        let mut ring = Ring::new(100, &[100, 10]);
        for name in 0..10_u32 {
            ring.insert(name, 1, 1, false);
        }
        for name in 1000..2000_u32 {
            ring.insert(name, 1, 0, false);
        }
        assert!((0..10).all(|name| ring.contains(&name)));
        ring.insert(10, 1, 1, false);
        ring.assert_whole();
        assert_eq!((0..11).filter(|name| ring.contains(name)).count(), 10);
    }

    proptest! {
        #[test]
        fn sums_hold_whatever_happens(
            steps in prop::collection::vec((0..6_u8, 0..40_u32, 1..30_u64), 1..400),
            capacity in 20..200_u64,
        ) {
            let mut ring = Ring::new(capacity, &[capacity, capacity / 3 + 1]);
            for (step, name, weight) in steps {
                let share = ShareId::from(name % 3 == 0);
                match step {
                    0 | 1 => {
                        let before: Vec<u32> = (0..40).filter(|name| ring.contains(name)).collect();
                        match ring.insert(name, weight, share, name % 7 == 0) {
                            None => prop_assert_eq!(before, (0..40).filter(|name| ring.contains(name)).collect::<Vec<_>>()),
                            Some(dropped) => {
                                for gone in &dropped {
                                    prop_assert!(!ring.contains(gone));
                                }
                                prop_assert!(ring.contains(&name) || dropped.contains(&name));
                            }
                        }
                    }
                    2 => ring.touch(&name),
                    3 => drop(ring.remove(&name)),
                    4 => ring.set_pinned(&name, weight % 2 == 0),
                    _ => {
                        let full = ring.capacity();
                        ring.set_capacity(full / 2);
                        ring.shrink();
                        prop_assert!(ring.used() <= full / 2 || ring.used() == ring.pinned());
                        ring.set_capacity(full);
                    }
                }
                ring.assert_whole();
            }
        }
    }
}
