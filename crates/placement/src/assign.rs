//! The assignment: which volumes get a copy of each partition.
//!
//! Every volume has a price. A partition goes to the volumes with the lowest sums of score and
//! price, as far as the bounds of their groups allow. Prices are tuned until the quotas are nearly
//! met; then single copies are moved (`settle.rs`) until they are met exactly.
//!
//! Invariants: after any step every partition has `tree.copies` different volumes, and every group
//! has between `lo` and `hi` copies of it; in the end every volume has exactly its quota.

use crate::capacity::{ALL, Tree};
use crate::draw::{Draw, log2_score};
use crate::pick::Picker;

/// Most rounds of tuning. Part of the placement rule: another value would give other tables.
const ROUNDS_MAX: u32 = 32;

/// Most rounds of tuning in a row that improve the best result by less than an eighth. Part of the
/// placement rule: another value would give other tables.
const IDLE_ROUNDS_MAX: u32 = 2;

/// The volumes of every partition.
#[derive(Clone)]
pub(super) struct Assignment<'a> {
    pub(super) tree: &'a Tree,
    pub(super) draws: &'a [Draw],
    /// Added to a volume's scores; the lowest sums are chosen.
    pub(super) prices: Vec<i64>,
    /// The volumes of every partition in the tree's order, as indices of members.
    pub(super) picks: Vec<u32>,
    /// Number of copies by group.
    pub(super) counts: Vec<u32>,
}

impl<'a> Assignment<'a> {
    /// Computes the assignment. `draws` are ordered by partition, then by member.
    pub(super) fn new(tree: &'a Tree, draws: &'a [Draw]) -> Self {
        let leaves = &tree.groups[tree.first_leaf..];
        let price = |quota: u32| -log2_score(2 * u64::from(quota) + 1);
        let mut assignment = Self {
            tree,
            draws,
            prices: leaves.iter().map(|leaf| price(leaf.quota)).collect(),
            picks: Vec::new(),
            counts: Vec::new(),
        };
        assignment.tune();
        assignment.settle();
        assignment
    }

    /// Returns the prices by member, and the volumes of all partitions.
    pub(super) fn into_parts(self) -> (Vec<i64>, Vec<u32>) {
        (self.prices, self.picks)
    }

    /// Changes prices until that no longer helps, and keeps the best result.
    fn tune(&mut self) {
        let mut picker = Picker::new(self.tree);
        self.pick(&mut picker);
        let mut best = self.clone();
        let mut idle = 0;
        for _ in 1..ROUNDS_MAX {
            let least = best.wrong();
            if least == 0 || idle == IDLE_ROUNDS_MAX {
                break;
            }
            self.reprice();
            self.pick(&mut picker);
            let wrong = self.wrong();
            idle = if wrong < least - least / 8 { 0 } else { idle + 1 };
            if wrong < least {
                best.clone_from(self);
            }
        }
        *self = best;
    }

    /// Chooses the volumes of all partitions at the current prices.
    pub(super) fn pick(&mut self, picker: &mut Picker<'_>) {
        self.picks.clear();
        for draws in self.draws.chunks_exact(self.tree.members.len()) {
            picker.pick(draws, &self.prices, &mut self.picks);
        }
        self.counts = vec![0; self.tree.groups.len()];
        for pick in &self.picks {
            self.counts[self.tree.first_leaf + *pick as usize] += 1;
        }
        for group in (1..self.tree.groups.len()).rev() {
            self.counts[self.tree.groups[group].parent] += self.counts[group];
        }
    }

    /// Returns the number of copies above the quotas of their volumes.
    fn wrong(&self) -> u32 {
        let leaves = self.tree.first_leaf..self.tree.groups.len();
        leaves
            .map(|leaf| self.counts[leaf].saturating_sub(self.tree.groups[leaf].quota))
            .sum()
    }

    /// Raises the prices of groups with too many copies and lowers those of the others, relative to
    /// their parent.
    fn reprice(&mut self) {
        let groups = &self.tree.groups;
        let mut change = vec![0; groups.len()];
        for group in 1..groups.len() {
            change[group] = change[groups[group].parent] + self.step(group);
        }
        for (price, change) in self.prices.iter_mut().zip(&change[self.tree.first_leaf..]) {
            *price += change;
        }
    }

    /// Returns half of the price change (a logarithm) that would bring a group from its rate of
    /// copies to the wanted one if all other groups stayed the same.
    fn step(&self, group: usize) -> i64 {
        let groups = &self.tree.groups;
        let this = &groups[group];
        if this.lo == this.hi {
            return 0;
        }
        let parent = &groups[this.parent];
        let fixed: u32 = groups[parent.children.clone()]
            .iter()
            .map(|child| child.lo * ALL)
            .sum();
        let all_found = u64::from(self.counts[this.parent] - fixed);
        let all_wanted = u64::from(parent.quota - fixed);
        // In 256ths of a copy: rounding to whole copies would keep small volumes from their quotas.
        let most = 256 * all_found.min(u64::from(ALL));
        let found = 256 * u64::from(self.counts[group] - this.lo * ALL);
        let wanted = (256 * u64::from(this.quota - this.lo * ALL) * all_found / all_wanted).min(most);
        // A volume passed over with probability q is passed over with probability q * q at twice
        // the rate. So the logarithm of q (here with half a copy to spare) is proportional to the
        // rate.
        let passed_over = |n: u64| log2_score(most + 256) - log2_score(most - n + 128);
        let rate = |n: u64| log2_score(passed_over(n).unsigned_abs());
        (rate(found) - rate(wanted)) / 2
    }
}
