//! Capacities: how many copies every zone, node and volume takes, in total and of one partition.
//!
//! Volumes form a tree: all, zones, nodes within zones, volumes within nodes. For every group of
//! the tree this module computes:
//!  - `lo` and `hi`, the bounds of copies of any one partition in it: equal, or one apart;
//!  - `quota`, the number of copies of all partitions in it.
//!
//! Invariants: `lo * 4096 <= quota <= hi * 4096`; the quotas of children add up to their parent's;
//! their `lo` add up to at most the parent's, their `hi` to at least the parent's. So R copies of
//! every partition can always be placed, and exact quotas can always be met. A node whose volumes
//! are in several zones counts as one node in each of them.

use std::ops::Range;

use crate::layout::{Roles, VolumeRole};
use crate::partition::PARTITIONS;

/// The number of partitions, as the number of copies when each has one.
pub(super) const ALL: u32 = PARTITIONS as u32;

/// Most copies of an object.
pub(super) const REPLICAS_MAX: usize = 8;

/// A group: all volumes, a zone, a node within a zone, or one volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// Index of the parent group; the root is its own parent.
    pub parent: usize,
    /// Indices of the child groups; empty for a volume.
    pub children: Range<usize>,
    /// Sum of the weights of its volumes.
    weight: u64,
    /// Fewest copies of any one partition.
    pub lo: u32,
    /// Most copies of any one partition: `lo` or `lo + 1`.
    pub hi: u32,
    /// Number of copies of all partitions.
    pub quota: u32,
}

/// The groups: root, zones, nodes, volumes, each in order of names.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub groups: Vec<Group>,
    /// Index of the first volume in `groups`.
    pub first_leaf: usize,
    /// The volumes with a weight, in order of zone, node and name.
    pub members: Vec<VolumeRole>,
    /// Number of copies of every partition: R, or the number of volumes if there are fewer.
    pub copies: usize,
}

/// Bounds of a child group.
#[derive(Clone, Copy)]
struct Bounds {
    lo: u32,
    hi: u32,
    /// Bounds of the quota.
    quota: (u64, u64),
}

impl Tree {
    /// Builds the tree of the volumes with a weight and computes all capacities.
    pub(super) fn new(roles: &Roles) -> Self {
        let weighted = roles.volumes.iter().filter(|volume| volume.weight > 0);
        let mut members: Vec<VolumeRole> = weighted.cloned().collect();
        members.sort_by(|a, b| (&a.zone, &a.node, &a.id).cmp(&(&b.zone, &b.node, &b.id)));
        let copies = usize::from(roles.replicas).min(REPLICAS_MAX).min(members.len());
        let (groups, first_leaf) = groups(&members);
        let mut tree = Self {
            groups,
            first_leaf,
            members,
            copies,
        };
        tree.settle();
        tree
    }

    /// Computes the capacities from the root down.
    fn settle(&mut self) {
        let copies = self.copies as u32; // at most REPLICAS_MAX
        let root = &mut self.groups[0];
        (root.lo, root.hi, root.quota) = (copies, copies, copies * ALL);
        for parent in 0..self.first_leaf {
            let children = self.groups[parent].children.clone();
            let bounds = self.bounds(parent);
            let weights: Vec<u64> = self.groups[children.clone()].iter().map(|g| g.weight).collect();
            let quotas = divide(u64::from(self.groups[parent].quota), &weights, &bounds);
            for ((child, bounds), quota) in self.groups[children].iter_mut().zip(bounds).zip(quotas) {
                (child.lo, child.hi, child.quota) = (bounds.lo, bounds.hi, quota as u32);
                // A quota at a bound leaves no choice, so the bounds become equal.
                if child.quota == child.lo * ALL {
                    child.hi = child.lo;
                } else if child.quota == child.hi * ALL {
                    child.lo = child.hi;
                }
            }
        }
    }

    /// Returns the bounds of the children of a group whose own capacities are known.
    fn bounds(&self, parent: usize) -> Vec<Bounds> {
        let Group { lo, hi, quota, .. } = self.groups[parent];
        let with_more = u64::from(quota - lo * ALL);
        let with_less = u64::from(ALL) - with_more;
        let (less, more) = (self.spread(parent, lo), self.spread(parent, hi));
        let both = less.into_iter().zip(more);
        both.map(|(less, more)| Bounds {
            lo: less.0.min(more.0),
            hi: less.1.max(more.1),
            quota: (
                with_less * u64::from(less.0) + with_more * u64::from(more.0),
                with_less * u64::from(less.1) + with_more * u64::from(more.1),
            ),
        })
        .collect()
    }

    /// Spreads `copies` of one partition over the children of a group, as evenly as possible. Zones
    /// come before nodes, but no node gets a second copy while a node in any zone has no copy.
    fn spread(&self, parent: usize, copies: u32) -> Vec<(u32, u32)> {
        let children = self.groups[parent].children.clone();
        let volumes: Vec<u32> = children.clone().map(|child| self.volumes(child)).collect();
        let none = vec![0; volumes.len()];
        if parent > 0 {
            return level(copies, &none, &volumes);
        }
        let nodes: Vec<u32> = children
            .map(|child| self.groups[child].children.len() as u32)
            .collect();
        if copies <= nodes.iter().sum() {
            level(copies, &none, &nodes)
        } else {
            level(copies, &nodes, &volumes)
        }
    }

    /// Returns the number of volumes in a group.
    fn volumes(&self, group: usize) -> u32 {
        if group >= self.first_leaf {
            return 1;
        }
        self.groups[group]
            .children
            .clone()
            .map(|child| self.volumes(child))
            .sum()
    }

    /// Returns the node and the zone of a volume, as indices of groups.
    pub(super) fn above(&self, leaf: usize) -> (usize, usize) {
        let node = self.groups[leaf].parent;
        (node, self.groups[node].parent)
    }

    /// Returns the number of copies in a group beyond the `lo` of its children, for which the
    /// children compete.
    pub(super) fn free(&self, group: usize) -> usize {
        let Group { lo, ref children, .. } = self.groups[group];
        let fixed: u32 = self.groups[children.clone()].iter().map(|child| child.lo).sum();
        (lo - fixed) as usize
    }
}

/// Returns the tree of sorted members, with weights only, and the index of its first leaf.
fn groups(members: &[VolumeRole]) -> (Vec<Group>, usize) {
    let zone_of = |i: usize| &members[i].zone;
    let node_of = |i: usize| (&members[i].zone, &members[i].node);
    let zones = runs(members.len(), |a, b| zone_of(a) == zone_of(b));
    let nodes = runs(members.len(), |a, b| node_of(a) == node_of(b));
    let volumes = runs(members.len(), |_, _| false);
    let levels = [std::iter::once(0..members.len()).collect(), zones, nodes, volumes];
    let mut groups: Vec<Group> = Vec::new();
    let mut first = 0;
    for (depth, level) in levels.iter().enumerate() {
        let below = levels.get(depth + 1).map_or(&[][..], Vec::as_slice);
        let mut next = first + level.len();
        first = next;
        for run in level {
            let parts = below
                .iter()
                .filter(|part| run.start <= part.start && part.end <= run.end)
                .count();
            groups.push(Group {
                parent: 0,
                children: next..next + parts,
                weight: members[run.clone()]
                    .iter()
                    .map(|member| u64::from(member.weight))
                    .sum(),
                lo: 0,
                hi: 0,
                quota: 0,
            });
            next += parts;
        }
    }
    for group in 0..groups.len() {
        for child in groups[group].children.clone() {
            groups[child].parent = group;
        }
    }
    let first_leaf = groups.len() - members.len();
    (groups, first_leaf)
}

/// Returns the ranges of equal neighbours.
fn runs(len: usize, same: impl Fn(usize, usize) -> bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for i in 0..len {
        match runs.last_mut() {
            Some(run) if same(i - 1, i) => run.end = i + 1,
            _ => runs.push(i..i + 1),
        }
    }
    runs
}

/// Returns the fewest and most of `total` that each part gets: at least its floor, at most its cap,
/// and otherwise equal or one apart. The floors must add up to at most `total`, the caps to at
/// least `total`.
fn level(total: u32, floors: &[u32], caps: &[u32]) -> Vec<(u32, u32)> {
    let at = |level: u32| {
        floors
            .iter()
            .zip(caps)
            .map(move |(floor, cap)| level.max(*floor).min(*cap))
    };
    let height = (0..=total)
        .rev()
        .find(|height| at(*height).sum::<u32>() <= total)
        .unwrap_or(0);
    let more = if at(height).sum::<u32>() == total {
        height
    } else {
        height + 1
    };
    at(height).zip(at(more)).collect()
}

/// Divides `total` by weights within bounds. The amount that a bound cuts off or adds is shared
/// among the others by weight. Fractions go to the largest remainders, the first of equal ones.
fn divide(total: u64, weights: &[u64], bounds: &[Bounds]) -> Vec<u64> {
    let mut shares: Vec<Option<u64>> = vec![None; weights.len()];
    loop {
        let free: Vec<usize> = (0..shares.len()).filter(|i| shares[*i].is_none()).collect();
        let left = u128::from(total.saturating_sub(shares.iter().flatten().sum()));
        let weight: u128 = free.iter().map(|i| u128::from(weights[*i])).sum();
        // Shares of the undecided parts, multiplied by their total weight.
        let scaled = |i: usize| left * u128::from(weights[i]);
        let over = |i: usize| scaled(i).saturating_sub(u128::from(bounds[i].quota.1) * weight);
        let under = |i: usize| (u128::from(bounds[i].quota.0) * weight).saturating_sub(scaled(i));
        let (cut, added) = (
            free.iter().map(|i| over(*i)).sum::<u128>(),
            free.iter().map(|i| under(*i)).sum::<u128>(),
        );
        if cut == 0 && added == 0 {
            return round(left, weight, weights, shares);
        }
        for i in free {
            if cut >= added && over(i) > 0 {
                shares[i] = Some(bounds[i].quota.1);
            } else if cut < added && under(i) > 0 {
                shares[i] = Some(bounds[i].quota.0);
            }
        }
    }
}

/// Divides `left` among the parts without a share yet.
fn round(left: u128, weight: u128, weights: &[u64], shares: Vec<Option<u64>>) -> Vec<u64> {
    let mut remainders = Vec::new();
    let mut given = 0;
    let mut whole = Vec::with_capacity(shares.len());
    for (i, share) in shares.into_iter().enumerate() {
        whole.push(share.unwrap_or_else(|| {
            let scaled = left * u128::from(weights[i]);
            remainders.push((scaled % weight, i));
            given += scaled / weight;
            (scaled / weight) as u64
        }));
    }
    remainders.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    for (_, i) in remainders.into_iter().take((left - given) as usize) {
        whole[i] += 1;
    }
    whole
}
