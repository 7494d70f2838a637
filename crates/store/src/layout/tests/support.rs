//! Roles for tests, and what must hold of every table.

use std::collections::{BTreeMap, BTreeSet};

use super::super::capacity::{ALL, Tree};
use super::super::*;
use crate::key::{PARTITIONS, Partition};

/// Zone, node and weight of a volume.
pub(super) type Disk = (String, String, u32);

/// Zones of equal volumes, each on its own node.
pub(super) fn grid(zones: usize, volumes: usize) -> Vec<Disk> {
    let all = (0..zones).flat_map(|zone| (0..volumes).map(move |volume| (zone, volume)));
    all.map(|(zone, volume)| (format!("z{zone}"), format!("n{zone}-{volume}"), 100))
        .collect()
}

/// Roles of these volumes, named by node and place among its volumes.
pub(super) fn roles(replicas: u8, disks: &[Disk]) -> Roles {
    let mut nodes: BTreeMap<&str, NodeRole> = BTreeMap::new();
    let mut volumes = Vec::new();
    let mut next: BTreeMap<&str, u32> = BTreeMap::new();
    for (zone, node, weight) in disks {
        let id = NodeId::from(node.clone());
        nodes.entry(node).or_insert_with(|| NodeRole {
            id: id.clone(),
            zone: zone.clone(),
            address: String::new(),
        });
        let number = next.entry(node).or_insert(0);
        *number += 1;
        volumes.push(VolumeRole {
            id: format!("{node}/d{number}").into(),
            node: id,
            zone: zone.clone(),
            weight: *weight,
        });
    }
    Roles {
        replicas,
        nodes: nodes.into_values().collect(),
        volumes,
        retired: BTreeSet::new(),
    }
}

pub(super) fn layout(seed: u64, roles: Roles) -> Layout {
    Layout::new(1, seed, roles).unwrap()
}

/// Everything that must hold of the table of a layout.
pub(super) fn check(layout: &Layout) {
    let placement = Placement::compute(layout);
    let weighted: Vec<&VolumeRole> = layout.roles.volumes.iter().filter(|v| v.weight > 0).collect();
    let copies = usize::from(layout.roles.replicas).min(weighted.len());
    let zone: BTreeMap<_, _> = weighted.iter().map(|v| (&v.id, v.zone.as_str())).collect();
    let node: BTreeMap<_, _> = weighted
        .iter()
        .map(|v| (&v.id, (v.zone.as_str(), &v.node)))
        .collect();
    let zones = zone.values().collect::<BTreeSet<_>>().len();
    let nodes = node.values().collect::<BTreeSet<_>>().len();
    for partition in (0..PARTITIONS).map(Partition) {
        let row = placement.replicas(partition);
        let ids: BTreeSet<_> = row.iter().collect();
        assert_eq!((row.len(), ids.len()), (copies, copies), "{partition:?}: {row:?}");
        let in_zones = ids.iter().map(|id| zone[id]).collect::<BTreeSet<_>>().len();
        let on_nodes = ids.iter().map(|id| node[id]).collect::<BTreeSet<_>>().len();
        assert_eq!(in_zones, zones.min(copies), "zones of {partition:?}: {row:?}");
        assert_eq!(on_nodes, nodes.min(copies), "nodes of {partition:?}: {row:?}");
    }
    let tree = Tree::new(&layout.roles);
    let (held, owned) = (placement.copies(), placement.owned());
    for (member, leaf) in tree.members.iter().zip(&tree.groups[tree.first_leaf..]) {
        assert_eq!(held[&member.id], leaf.quota, "copies of {}", member.id);
        let share = leaf.quota / copies as u32;
        assert!(
            (share..=share + 1).contains(&owned[&member.id]),
            "{} owns {}",
            member.id,
            owned[&member.id]
        );
    }
    assert_eq!(held.values().sum::<u32>(), copies as u32 * ALL);
    assert_eq!(owned.values().sum::<u32>(), ALL);
}

/// Most and fewest copies on a volume.
pub(super) fn extremes(placement: &Placement) -> (u32, u32) {
    let copies = placement.copies();
    (*copies.values().max().unwrap(), *copies.values().min().unwrap())
}

/// Copies that move, and that must move, as parts of all.
pub(super) fn moved(before: &Layout, after: &Layout) -> (f64, f64) {
    let (before, after) = (Placement::compute(before), Placement::compute(after));
    let mut moved = 0;
    for partition in (0..PARTITIONS).map(Partition) {
        let old = before.replicas(partition);
        moved += after
            .replicas(partition)
            .iter()
            .filter(|id| !old.contains(id))
            .count();
    }
    let (old, new) = (before.copies(), after.copies());
    let least: u32 = new
        .iter()
        .map(|(id, n)| n.saturating_sub(*old.get(id).unwrap_or(&0)))
        .sum();
    let all: u32 = new.values().sum();
    (moved as f64 / f64::from(all), f64::from(least) / f64::from(all))
}
