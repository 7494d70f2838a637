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

/// Volumes by partition.
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
    fn new(room: usize) -> Self {
        Self {
            items: [(0, 0); REPLICAS_MAX + 1],
            len: 0,
            room,
        }
    }

    fn offer(&mut self, item: Item) {
        let mut at = self.len;
        while at > 0 && item.0 < self.items[at - 1].0 {
            at -= 1;
        }
        if at >= self.room {
            return;
        }
        self.len = (self.len + 1).min(self.room);
        self.items.copy_within(at..self.len - 1, at + 1);
        self.items[at] = item;
    }

    fn split(&self, at: usize) -> (&[Item], Option<Item>) {
        let items = &self.items[..self.len];
        (&items[..at.min(self.len)], items.get(at).copied())
    }
}

/// Takes partition by partition; holds what does not change between them.
struct Picker<'a> {
    tree: &'a Tree,
    /// By group: copies that its parts compete for, and whether it may have one more.
    free: Vec<(usize, bool)>,
}

impl<'a> Picker<'a> {
    fn new(tree: &'a Tree) -> Self {
        let free = |group: usize| (tree.free(group), tree.groups[group].hi > tree.groups[group].lo);
        Self {
            tree,
            free: (0..tree.first_leaf).map(free).collect(),
        }
    }

    /// The volumes of one partition. Within a node the first `free` go in by right, the next may go in as one of its
    /// zone's, and the next of a zone as one of all: the same as taking all in order of score, as bounds allow.
    fn pick(&self, draws: &[Draw], prices: &[i64], picks: &mut Vec<u32>) {
        let Tree {
            groups, first_leaf, ..
        } = self.tree;
        let begin = picks.len();
        let mut take = |taken: &[Item]| picks.extend(taken.iter().map(|item| item.1));
        let mut of_all = Least::new(self.free[0].0);
        for zone in groups[0].children.clone() {
            let (zone_free, zone_more) = self.free[zone];
            let mut of_zone = Least::new(zone_free + usize::from(zone_more));
            for node in groups[zone].children.clone() {
                let (node_free, node_more) = self.free[node];
                let mut of_node = Least::new(node_free + usize::from(node_more));
                for leaf in groups[node].children.clone() {
                    let i = leaf - first_leaf;
                    let item = (i64::from(draws[i].score) + prices[i], i as u32);
                    if groups[leaf].lo == 1 {
                        take(&[item]);
                    } else if groups[leaf].hi == 1 {
                        of_node.offer(item);
                    }
                }
                let (taken, next) = of_node.split(node_free);
                take(taken);
                if let Some(item) = next {
                    of_zone.offer(item);
                }
            }
            let (taken, next) = of_zone.split(zone_free);
            take(taken);
            if let Some(item) = next {
                of_all.offer(item);
            }
        }
        take(of_all.split(self.free[0].0).0);
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

    /// Changes prices until few copies are wrong, and keeps the best.
    fn tune(&mut self) {
        let picker = Picker::new(self.tree);
        let enough = self.tree.members.len() as u32 / 4;
        let mut best: Option<(u32, Vec<i64>)> = None;
        for _ in 0..ROUNDS_MAX {
            self.pick(&picker);
            let wrong = self.wrong();
            if best.as_ref().is_none_or(|best| wrong < best.0) {
                best = Some((wrong, self.prices.clone()));
            }
            if wrong <= enough {
                return;
            }
            self.reprice();
        }
        if let Some((_, prices)) = best {
            self.prices = prices;
            self.pick(&picker);
        }
    }

    /// Takes all partitions by the prices.
    fn pick(&mut self, picker: &Picker<'_>) {
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

    /// Half of the difference between a group's odds and those that it should have, as logarithms.
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
        let most = all_found.min(u64::from(ALL));
        let found = u64::from(self.counts[group] - this.lo * ALL);
        let wanted = (u64::from(this.quota - this.lo * ALL) * all_found / all_wanted).min(most);
        let odds = |n: u64| log2_score(2 * n + 1) - log2_score(2 * (most - n) + 1);
        (odds(found) - odds(wanted)) / 2
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
