//! Settling: moves single copies until every volume has its quota, the cheapest change first.
//!
//! A solution is always reachable: the sets of volumes that the bounds allow for a partition can be
//! changed into one another by single exchanges (nested bounds, as in a matroid), and so can sums
//! of them. The number of paths is still bounded, because a table that is not quite even is better
//! than a node that does not start.

use std::collections::VecDeque;

use crate::assign::Assignment;

/// A possible move of one copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    cost: i64,
    partition: usize,
    from: usize,
    to: usize,
}

impl Assignment<'_> {
    /// Moves single copies until every volume has its quota.
    pub(super) fn settle(&mut self) {
        for _ in 0..self.tree.groups[0].quota {
            let Some(from) = self.fullest() else { return };
            let path = match self.cheapest(from) {
                Some(change) => vec![change],
                None => self.detour(from),
            };
            // `all` stops at a change that an earlier one on the path has made impossible. The next
            // path continues from there.
            let _ = path.into_iter().all(|change| self.apply(change));
        }
    }

    /// Returns the volume furthest above its quota, the first among equal ones.
    fn fullest(&self) -> Option<usize> {
        let leaves = self.tree.first_leaf..self.tree.groups.len();
        let over = |leaf: &usize| self.counts[*leaf].saturating_sub(self.tree.groups[*leaf].quota);
        leaves.rev().max_by_key(over).filter(|leaf| over(leaf) > 0)
    }

    /// Returns the cheapest change from a volume to one below its quota.
    fn cheapest(&self, from: usize) -> Option<Change> {
        let leaves = self.tree.first_leaf..self.tree.groups.len();
        let below: Vec<usize> = leaves
            .filter(|leaf| self.counts[*leaf] < self.tree.groups[*leaf].quota)
            .collect();
        let held = self.holding(from);
        let changes = held.flat_map(|partition| below.iter().map(move |to| (partition, *to)));
        changes
            .filter(|(partition, to)| self.allowed(*partition, from, *to))
            .map(|(partition, to)| self.change(partition, from, to))
            .min()
    }

    /// Returns the shortest path of changes from a volume to one below its quota.
    fn detour(&self, from: usize) -> Vec<Change> {
        let mut came: Vec<Option<Change>> = vec![None; self.tree.groups.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for partition in self.holding(at) {
                for to in self.tree.first_leaf..self.tree.groups.len() {
                    if to == from || came[to].is_some() || !self.allowed(partition, at, to) {
                        continue;
                    }
                    came[to] = Some(self.change(partition, at, to));
                    if self.counts[to] < self.tree.groups[to].quota {
                        return way(&came, to);
                    }
                    queue.push_back(to);
                }
            }
        }
        Vec::new()
    }

    /// Returns the partitions that a volume holds.
    fn holding(&self, leaf: usize) -> impl Iterator<Item = usize> {
        let pick = (leaf - self.tree.first_leaf) as u32;
        let rows = self.picks.chunks_exact(self.tree.copies).enumerate();
        rows.filter(move |(_, row)| row.contains(&pick))
            .map(|(partition, _)| partition)
    }

    /// Returns the volumes of a partition, as groups.
    fn row(&self, partition: usize) -> impl Iterator<Item = usize> {
        let begin = partition * self.tree.copies;
        self.picks[begin..begin + self.tree.copies]
            .iter()
            .map(|pick| self.tree.first_leaf + *pick as usize)
    }

    /// Returns whether a partition's copy on `from` may move to `to`.
    fn allowed(&self, partition: usize, from: usize, to: usize) -> bool {
        let groups = &self.tree.groups;
        if groups[from].lo == 1 || groups[to].hi == 0 || self.row(partition).any(|leaf| leaf == to) {
            return false;
        }
        let (from, to) = (self.tree.above(from), self.tree.above(to));
        let fits = |leave: usize, enter: usize, count: &dyn Fn(usize) -> u32| {
            leave == enter || (count(leave) > groups[leave].lo && count(enter) < groups[enter].hi)
        };
        let in_node = |node| {
            self.row(partition)
                .filter(|leaf| self.tree.above(*leaf).0 == node)
                .count() as u32
        };
        let in_zone = |zone| {
            self.row(partition)
                .filter(|leaf| self.tree.above(*leaf).1 == zone)
                .count() as u32
        };
        fits(from.0, to.0, &in_node) && fits(from.1, to.1, &in_zone)
    }

    fn change(&self, partition: usize, from: usize, to: usize) -> Change {
        let at = |leaf: usize| {
            let i = leaf - self.tree.first_leaf;
            i64::from(self.draws[partition * self.tree.members.len() + i].score) + self.prices[i]
        };
        Change {
            cost: at(to) - at(from),
            partition,
            from,
            to,
        }
    }

    /// Makes a change if it is allowed. Returns whether it was allowed.
    fn apply(&mut self, change: Change) -> bool {
        let Change {
            partition, from, to, ..
        } = change;
        if !self.row(partition).any(|leaf| leaf == from) || !self.allowed(partition, from, to) {
            return false;
        }
        let begin = partition * self.tree.copies;
        let row = &mut self.picks[begin..begin + self.tree.copies];
        for pick in row.iter_mut() {
            if *pick as usize == from - self.tree.first_leaf {
                *pick = (to - self.tree.first_leaf) as u32;
            }
        }
        row.sort_unstable();
        self.counts[from] -= 1;
        self.counts[to] += 1;
        true
    }
}

/// Returns the path of changes that leads to `to`, in order.
fn way(came: &[Option<Change>], mut to: usize) -> Vec<Change> {
    let mut way = Vec::new();
    while let Some(change) = came[to] {
        way.push(change);
        to = change.from;
    }
    way.reverse();
    way
}
