//! Deciders: which of a partition's volumes comes first and decides conditions.
//!
//! Every volume decides for its quota divided by R, rounded up or down. Such a choice always
//! exists: the exact quotients are a fractional flow, and a flow between integer bounds can be made
//! integral. A path of changes leads to it.

use std::collections::VecDeque;

use crate::capacity::Tree;
use crate::draw::Draw;

/// The choice of deciders in progress.
struct Deciders<'a> {
    copies: usize,
    picks: &'a mut [u32],
    /// Number of partitions decided, by member.
    decided: Vec<u32>,
    /// Fewest and most partitions to decide, by member.
    bounds: Vec<(u32, u32)>,
}

/// Orders the volumes of every partition by turn, but with the decider first.
pub(super) fn order(tree: &Tree, draws: &[Draw], picks: &mut [u32]) {
    let members = tree.members.len();
    for (row, draws) in picks
        .chunks_exact_mut(tree.copies)
        .zip(draws.chunks_exact(members))
    {
        row.sort_by_key(|pick| (draws[*pick as usize].turn, *pick));
    }
    let copies = tree.copies as u32; // at most 8
    let quotas = tree.groups[tree.first_leaf..].iter().map(|leaf| leaf.quota);
    let mut decided = vec![0; members];
    for row in picks.chunks_exact(tree.copies) {
        decided[row[0] as usize] += 1;
    }
    let mut deciders = Deciders {
        copies: tree.copies,
        picks,
        decided,
        bounds: quotas
            .map(|quota| (quota / copies, quota.div_ceil(copies)))
            .collect(),
    };
    while deciders.sweep() {}
    deciders.finish();
}

impl Deciders<'_> {
    /// Scans all partitions in order and changes deciders where that helps at once. Returns whether
    /// anything changed.
    fn sweep(&mut self) -> bool {
        let mut changed = false;
        for partition in 0..self.picks.len() / self.copies {
            let row = &self.picks[partition * self.copies..][..self.copies];
            let decider = row[0];
            if let Some(place) = (1..self.copies).find(|place| self.helps(decider, row[*place])) {
                self.give(partition, place);
                changed = true;
            }
        }
        changed
    }

    /// Returns whether moving one partition from `from` to `to` brings the numbers closer to the
    /// bounds.
    fn helps(&self, from: u32, to: u32) -> bool {
        let (from, to) = (from as usize, to as usize);
        self.decided[from] > self.bounds[from].1 && self.decided[to] < self.bounds[to].1
            || self.decided[from] > self.bounds[from].0 && self.decided[to] < self.bounds[to].0
    }

    /// Makes the volume at `place` the decider. The others keep their order.
    fn give(&mut self, partition: usize, place: usize) {
        let row = &mut self.picks[partition * self.copies..][..self.copies];
        self.decided[row[0] as usize] -= 1;
        row[..=place].rotate_right(1);
        self.decided[row[0] as usize] += 1;
    }

    /// Changes deciders along paths until all bounds are met.
    fn finish(&mut self) {
        let members = 0..self.decided.len();
        while let Some(over) = members.clone().find(|m| self.decided[*m] > self.bounds[*m].1) {
            if !self.shift(vec![over], |this, m| this.decided[m] < this.bounds[m].1) {
                return;
            }
        }
        while let Some(under) = members.clone().find(|m| self.decided[*m] < self.bounds[*m].0) {
            let rich = members
                .clone()
                .filter(|m| self.decided[*m] > self.bounds[*m].0)
                .collect();
            if !self.shift(rich, |_, m| m == under) {
                return;
            }
        }
    }

    /// Moves one decided partition along a shortest path of members, each of which decides a
    /// partition that the next one holds.
    fn shift(&mut self, from: Vec<usize>, target: impl Fn(&Self, usize) -> bool) -> bool {
        let mut seen = vec![false; self.decided.len()];
        from.iter().for_each(|member| seen[*member] = true);
        let mut came: Vec<Option<(usize, usize)>> = vec![None; self.decided.len()];
        let mut queue = VecDeque::from(from);
        while let Some(at) = queue.pop_front() {
            for (partition, row) in self.picks.chunks_exact(self.copies).enumerate() {
                if row[0] as usize != at {
                    continue;
                }
                for to in row[1..].iter().map(|pick| *pick as usize) {
                    if seen[to] {
                        continue;
                    }
                    seen[to] = true;
                    came[to] = Some((partition, at));
                    if target(self, to) {
                        self.follow(&came, to);
                        return true;
                    }
                    queue.push_back(to);
                }
            }
        }
        false
    }

    /// Gives every partition of a path to its next member.
    fn follow(&mut self, came: &[Option<(usize, usize)>], mut to: usize) {
        while let Some((partition, from)) = came[to] {
            let row = &self.picks[partition * self.copies..][..self.copies];
            if let Some(place) = row.iter().position(|pick| *pick as usize == to) {
                self.give(partition, place);
            }
            to = from;
        }
    }
}
