//! The table of a layout: partition -> volumes.

use std::collections::BTreeMap;

use crate::assign::Assignment;
use crate::capacity::Tree;
use crate::ids::VolumeId;
use crate::layout::{Layout, VolumeRole};
use crate::partition::{PARTITIONS, Partition};
use crate::{deciders, draw};

/// The computed table of one layout: a pure function of its seed and roles, independent of their
/// order.
///
/// ```
/// use std::collections::BTreeSet;
///
/// use placement::{Layout, NodeId, NodeRole, Partition, Placement, Roles, VolumeId, VolumeRole};
///
/// let nodes = (0..3).map(|i| NodeRole {
///     id: NodeId::from(format!("n{i}")),
///     zone: format!("rack-{i}"),
///     address: format!("10.0.0.{i}:7000"),
/// });
/// let volumes = (0..3).map(|i| VolumeRole {
///     id: VolumeId::from(format!("n{i}/disk")),
///     node: NodeId::from(format!("n{i}")),
///     zone: format!("rack-{i}"),
///     weight: 1,
/// });
/// let roles = Roles {
///     replicas: 2,
///     nodes: nodes.collect(),
///     volumes: volumes.collect(),
///     retired: BTreeSet::new(),
/// };
/// let placement = Placement::compute(&Layout { number: 1, seed: 7, roles });
///
/// // Two volumes hold a partition. If one of them fails, a write uses the third.
/// let partition = Partition(42);
/// let (home, fallbacks) = (placement.replicas(partition), placement.fallbacks(partition));
/// assert_eq!((home.len(), fallbacks.len()), (2, 1));
/// assert!(!home.contains(&fallbacks[0]));
/// ```
pub struct Placement {
    seed: u64,
    /// R, or the number of volumes with a weight if there are fewer.
    copies: usize,
    /// `copies` volumes for every partition, its decider first.
    table: Vec<VolumeId>,
    /// All volumes with a weight, with their prices.
    members: Vec<(VolumeRole, i64)>,
}

impl Placement {
    /// Computes the table. It takes milliseconds for some dozen volumes; callers store it with the
    /// layout.
    pub fn compute(layout: &Layout) -> Self {
        let tree = Tree::new(&layout.roles);
        let members = tree.members.len();
        let mut draws = vec![draw::Draw { score: 0, turn: 0 }; members * usize::from(PARTITIONS)];
        for (i, member) in tree.members.iter().enumerate() {
            let column = draws.iter_mut().skip(i).step_by(members);
            column
                .zip(draw::all(layout.seed, &member.id))
                .for_each(|(cell, draw)| *cell = draw);
        }
        let (prices, mut picks) = if tree.copies == 0 {
            (vec![0; members], Vec::new())
        } else {
            Assignment::new(&tree, &draws).into_parts()
        };
        if tree.copies > 0 {
            deciders::order(&tree, &draws, &mut picks);
        }
        debug_assert!(
            tree.copies == usize::from(layout.roles.copies()) || layout.roles.check().is_err(),
            "layout {}: expected as many copies of every partition as the roles say",
            layout.number
        );
        debug_assert!(
            picks.len() == tree.copies * usize::from(PARTITIONS)
                && picks.chunks(tree.copies.max(1)).all(are_different),
            "layout {}: {} picks for {} copies of each partition, or a volume twice",
            layout.number,
            picks.len(),
            tree.copies
        );
        let id = |pick: &u32| tree.members[*pick as usize].id.clone();
        Self {
            seed: layout.seed,
            copies: tree.copies,
            table: picks.iter().map(id).collect(),
            members: tree.members.into_iter().zip(prices).collect(),
        }
    }

    /// Returns the R volumes of a partition (fewer if there are fewer volumes with a weight), the
    /// decider first.
    pub fn replicas(&self, partition: Partition) -> &[VolumeId] {
        let begin = usize::from(partition.0) * self.copies;
        self.table.get(begin..begin + self.copies).unwrap_or(&[])
    }

    /// Returns all other volumes with a weight, in the order in which a write uses them if one of
    /// the R fails: zones without a replica first, then nodes without one, each by score plus
    /// price.
    pub fn fallbacks(&self, partition: Partition) -> Vec<VolumeId> {
        let replicas = self.replicas(partition);
        let (homes, others): (Vec<_>, Vec<_>) = self
            .members
            .iter()
            .partition(|(member, _)| replicas.contains(&member.id));
        let rank = |(member, price): &&(VolumeRole, i64)| {
            let draw = draw::one(self.seed, &member.id, partition.0);
            (
                homes.iter().any(|home| home.0.zone == member.zone),
                homes.iter().any(|home| home.0.node == member.node),
                i64::from(draw.score) + price,
            )
        };
        let mut others = others;
        others.sort_by_cached_key(rank);
        others.into_iter().map(|(member, _)| member.id.clone()).collect()
    }

    /// Returns the number of copies by volume. Volumes without a weight are left out.
    pub fn copies(&self) -> BTreeMap<VolumeId, u32> {
        self.count(&self.table)
    }

    /// Returns the number of decided partitions by volume. Volumes without a weight are left out.
    pub fn decided(&self) -> BTreeMap<VolumeId, u32> {
        self.count(self.table.iter().step_by(self.copies.max(1)))
    }

    fn count<'a>(&self, ids: impl IntoIterator<Item = &'a VolumeId>) -> BTreeMap<VolumeId, u32> {
        let mut counts: BTreeMap<_, _> = self
            .members
            .iter()
            .map(|(member, _)| (member.id.clone(), 0))
            .collect();
        for id in ids {
            *counts.entry(id.clone()).or_insert(0) += 1;
        }
        counts
    }

    /// Returns BLAKE3 in hexadecimal of the whole table: for every partition its volumes in order,
    /// separated by spaces, and a line feed.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for partition in (0..PARTITIONS).map(Partition) {
            let ids: Vec<&str> = self.replicas(partition).iter().map(|id| id.0.as_ref()).collect();
            hasher.update(ids.join(" ").as_bytes());
            hasher.update(b"\n");
        }
        hasher.finalize().to_hex().to_string()
    }
}

fn are_different(picks: &[u32]) -> bool {
    picks
        .iter()
        .zip(1..)
        .all(|(pick, next)| !picks[next..].contains(pick))
}
