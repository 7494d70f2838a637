//! The assignment: which volumes take a partition.
//!
//! Every volume has a price. In a partition the volumes with the least sum of score and price are taken, as the
//! bounds of their groups allow. Prices are tuned until the quotas are nearly met ([`Assignment::tune`]); what is
//! left is settled copy by copy, the cheapest change first ([`Assignment::settle`]), until they are met exactly.
//!
//! Invariants: after any step every partition has `tree.copies` different volumes and every group between `lo` and
//! `hi` copies of it; in the end every volume has exactly its quota.

use std::collections::VecDeque;

use super::capacity::{ALL, REPLICAS_MAX, Tree};
use super::draw::{Draw, log2_score};

/// Rounds of tuning at most. Part of the rule of placement.
const ROUNDS_MAX: u32 = 32;

/// Rounds of tuning in a row, at most, that take less than an eighth off the best. Part of the rule of placement.
const IDLE_ROUNDS_MAX: u32 = 2;

/// Volumes by partition.
#[derive(Clone)]
pub(super) struct Assignment<'a> {
    tree: &'a Tree,
    draws: &'a [Draw],
    /// What is added to a volume's scores.
    prices: Vec<i64>,
    /// For every partition its volumes, in their order in the tree, as indices of members.
    picks: Vec<u32>,
    /// Copies by group.
    counts: Vec<u32>,
}

/// A score with a price, and the member that has it.
type Item = (i64, u32);

/// The least few of the candidates offered, in order; the first offered of equals.
struct Least {
    items: [Item; REPLICAS_MAX + 1],
    len: usize,
    room: usize,
}

/// A copy that could lie elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    cost: i64,
    partition: usize,
    from: usize,
    to: usize,
}

impl Least {
    const fn new() -> Self {
        Self {
            items: [(0, 0); REPLICAS_MAX + 1],
            len: 0,
            room: 0,
        }
    }

    /// Empties it for the `free` least and, perhaps, one more.
    fn clear(&mut self, (free, more): (usize, bool)) {
        self.len = 0;
        self.room = free + usize::from(more);
    }

    fn offer(&mut self, item: Item) {
        if self.len < self.room {
            self.len += 1;
        } else if self.room == 0 || item.0 >= self.items[self.len - 1].0 {
            return;
        }
        let mut at = self.len - 1;
        while at > 0 && item.0 < self.items[at - 1].0 {
            self.items[at] = self.items[at - 1];
            at -= 1;
        }
        self.items[at] = item;
    }

    /// Takes the `free` least, and gives the next to the group above.
    fn pass(&self, free: usize, picks: &mut Vec<u32>, above: &mut Self) {
        let free = free.min(self.len);
        picks.extend(self.items[..free].iter().map(|item| item.1));
        if let Some(item) = self.items[..self.len].get(free) {
            above.offer(*item);
        }
    }
}

/// Takes partition by partition; holds what does not change between them.
struct Picker<'a> {
    tree: &'a Tree,
    /// By group: copies that its parts compete for, and whether it may have one more.
    free: Vec<(usize, bool)>,
    of_all: Least,
    of_zone: Least,
    of_node: Least,
}

impl<'a> Picker<'a> {
    fn new(tree: &'a Tree) -> Self {
        let free = |group: usize| (tree.free(group), tree.groups[group].hi > tree.groups[group].lo);
        Self {
            tree,
            free: (0..tree.first_leaf).map(free).collect(),
            of_all: Least::new(),
            of_zone: Least::new(),
            of_node: Least::new(),
        }
    }

    /// The volumes of one partition. Within a node the first `free` go in by right, the next may go in as one of its
    /// zone's, and the next of a zone as one of all: the same as taking all in order of score, as bounds allow.
    fn pick(&mut self, draws: &[Draw], prices: &[i64], picks: &mut Vec<u32>) {
        let Tree {
            groups, first_leaf, ..
        } = self.tree;
        let begin = picks.len();
        self.of_all.clear(self.free[0]);
        for zone in groups[0].children.clone() {
            self.of_zone.clear(self.free[zone]);
            for node in groups[zone].children.clone() {
                let leaves = groups[node].children.clone();
                // The one volume of a node goes straight to the zone: the same, and quicker.
                let single = leaves.len() == 1;
                let rivals = if single {
                    &mut self.of_zone
                } else {
                    &mut self.of_node
                };
                if !single {
                    rivals.clear(self.free[node]);
                }
                for leaf in leaves {
                    let i = leaf - first_leaf;
                    if groups[leaf].lo == 1 {
                        picks.push(i as u32);
                    } else if groups[leaf].hi == 1 {
                        rivals.offer((i64::from(draws[i].score) + prices[i], i as u32));
                    }
                }
                if !single {
                    self.of_node.pass(self.free[node].0, picks, &mut self.of_zone);
                }
            }
            self.of_zone.pass(self.free[zone].0, picks, &mut self.of_all);
        }
        picks.extend(self.of_all.items[..self.of_all.len].iter().map(|item| item.1));
        picks[begin..].sort_unstable();
    }
}

impl<'a> Assignment<'a> {
    /// The finished assignment; `draws` are by partition, then by member.
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

    /// Prices by member, and the volumes of all partitions.
    pub(super) fn into_parts(self) -> (Vec<i64>, Vec<u32>) {
        (self.prices, self.picks)
    }

    /// Changes prices until that does not help any more, and keeps the best.
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

    /// Takes all partitions by the prices.
    fn pick(&mut self, picker: &mut Picker<'_>) {
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

    /// Copies above the quota of their volume.
    fn wrong(&self) -> u32 {
        let leaves = self.tree.first_leaf..self.tree.groups.len();
        leaves
            .map(|leaf| self.counts[leaf].saturating_sub(self.tree.groups[leaf].quota))
            .sum()
    }

    /// Raises the prices of groups with too many copies and lowers the others', group by group within their parent.
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

    /// Half of what brings a group from the rate that it has, as a logarithm, to the one that it should have, if all
    /// others stayed as they are.
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
        // In 256ths of a copy, so that rounding does not keep small volumes from their quotas.
        let most = 256 * all_found.min(u64::from(ALL));
        let found = 256 * u64::from(self.counts[group] - this.lo * ALL);
        let wanted = (256 * u64::from(this.quota - this.lo * ALL) * all_found / all_wanted).min(most);
        // What is passed over with probability q is passed over with q * q at twice the rate: the logarithm of q, here
        // with half a copy to spare, is in proportion to the rate.
        let passed_over = |n: u64| log2_score(most + 256) - log2_score(most - n + 128);
        let rate = |n: u64| log2_score(passed_over(n).unsigned_abs());
        (rate(found) - rate(wanted)) / 2
    }

    /// Moves single copies until every volume has its quota.
    fn settle(&mut self) {
        while let Some(from) = self.fullest() {
            let path = match self.cheapest(from) {
                Some(change) => vec![change],
                None => self.detour(from),
            };
            // The quotas can always be met, by a path of changes from `from`: see the module's comment.
            debug_assert!(!path.is_empty(), "no way out of a full volume");
            // A change that one before it on the path took away ends the path; the next path goes on from there.
            let done = path.into_iter().take_while(|change| self.apply(*change)).count();
            if done == 0 {
                return;
            }
        }
    }

    /// The volume furthest above its quota, the first of equals.
    fn fullest(&self) -> Option<usize> {
        let leaves = self.tree.first_leaf..self.tree.groups.len();
        let over = |leaf: &usize| self.counts[*leaf].saturating_sub(self.tree.groups[*leaf].quota);
        leaves.rev().max_by_key(over).filter(|leaf| over(leaf) > 0)
    }

    /// The cheapest change from a volume to one below its quota.
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

    /// The shortest row of changes from a volume to one below its quota.
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

    /// Partitions that a volume holds.
    fn holding(&self, leaf: usize) -> impl Iterator<Item = usize> {
        let pick = (leaf - self.tree.first_leaf) as u32;
        let rows = self.picks.chunks_exact(self.tree.copies).enumerate();
        rows.filter(move |(_, row)| row.contains(&pick))
            .map(|(partition, _)| partition)
    }

    /// The volumes of a partition, as groups.
    fn row(&self, partition: usize) -> impl Iterator<Item = usize> {
        let begin = partition * self.tree.copies;
        self.picks[begin..begin + self.tree.copies]
            .iter()
            .map(|pick| self.tree.first_leaf + *pick as usize)
    }

    /// Whether a partition's copy on `from` may lie on `to` instead.
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

    /// Does a change if it is allowed.
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

/// The changes that led to `to`, in order.
fn way(came: &[Option<Change>], mut to: usize) -> Vec<Change> {
    let mut way = Vec::new();
    while let Some(change) = came[to] {
        way.push(change);
        to = change.from;
    }
    way.reverse();
    way
}
