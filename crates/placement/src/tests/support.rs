//! Roles for tests, and the checks for every table.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use rand::rngs::StdRng;

use crate::capacity::{ALL, Tree};
use crate::*;

/// Zone, node and weight of a volume.
pub(super) type Disk = (String, String, u32);

/// Returns zones of equal volumes, each on a separate node.
pub(super) fn grid(zones: usize, volumes: usize) -> Vec<Disk> {
    let all = (0..zones).flat_map(|zone| (0..volumes).map(move |volume| (zone, volume)));
    all.map(|(zone, volume)| (format!("z{zone}"), format!("n{zone}-{volume}"), 100))
        .collect()
}

/// Returns roles of these volumes, named by node and by index among its volumes.
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

/// Returns random roles: 1 to 7 zones, nodes and volumes in them, weights even or far apart, some
/// drained.
pub(super) fn random(rng: &mut StdRng) -> Roles {
    let weight: fn(&mut StdRng) -> u32 = match rng.random_range(0..3) {
        0 => |_| 100,
        1 => |rng| rng.random_range(1..=8),
        _ => |rng| 1 << rng.random_range(0..16),
    };
    let mut disks = Vec::new();
    for zone in 0..rng.random_range(1..=7) {
        for node in 0..rng.random_range(1..=4) {
            for _ in 0..rng.random_range(1..=3) {
                let drained = rng.random_range(0..20) == 0;
                let weight = if drained { 0 } else { weight(rng) };
                disks.push((format!("z{zone}"), format!("n{zone}-{node}"), weight));
            }
        }
    }
    disks[0].2 = disks[0].2.max(1);
    roles(rng.random_range(1..=4), &disks)
}

/// Returns a change that an operator might make.
pub(super) fn changed(rng: &mut StdRng, before: &Roles) -> (&'static str, Roles) {
    let mut after = before.clone();
    let at = rng.random_range(0..after.volumes.len());
    let volume = after.volumes[at].clone();
    let what = match rng.random_range(0..4) {
        0 if after.volumes.iter().filter(|v| v.weight > 0).count() > 1 && after.volumes.len() > 1 => {
            after.volumes.remove(at);
            if after.volumes.iter().all(|v| v.weight == 0) {
                return ("nothing", before.clone());
            }
            "one volume less"
        }
        1 => {
            let id = format!("{}/new", volume.node).into();
            after.volumes.push(VolumeRole { id, ..volume });
            "one volume more"
        }
        2 => {
            let node = NodeId::from("new".to_owned());
            after.nodes.push(NodeRole {
                id: node.clone(),
                zone: "new".to_owned(),
                address: String::new(),
            });
            after.volumes.push(VolumeRole {
                id: "new/d1".to_owned().into(),
                node,
                zone: "new".to_owned(),
                weight: volume.weight,
            });
            "one zone more"
        }
        _ => {
            after.volumes[at].weight *= 2;
            "one weight doubled"
        }
    };
    (what, after)
}

pub(super) fn layout(seed: u64, roles: Roles) -> Layout {
    Layout::new(1, seed, roles).unwrap()
}

/// Checks the table of a layout.
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
    check_fallbacks(layout, &placement);
    let tree = Tree::new(&layout.roles);
    let (held, decided) = (placement.copies(), placement.decided());
    for (member, leaf) in tree.members.iter().zip(&tree.groups[tree.first_leaf..]) {
        assert_eq!(held[&member.id], leaf.quota, "copies of {}", member.id);
        let share = leaf.quota / copies as u32;
        assert!(
            (share..=share + 1).contains(&decided[&member.id]),
            "{} owns {}",
            member.id,
            decided[&member.id]
        );
    }
    assert_eq!(held.values().sum::<u32>(), copies as u32 * ALL);
    assert_eq!(decided.values().sum::<u32>(), ALL);
}

/// Checks that fallbacks are all other volumes with a weight, first in other zones, then on other
/// nodes.
fn check_fallbacks(layout: &Layout, placement: &Placement) {
    let weighted: Vec<&VolumeRole> = layout.roles.volumes.iter().filter(|v| v.weight > 0).collect();
    for partition in (0..PARTITIONS).step_by(997).map(Partition) {
        let row = placement.replicas(partition);
        let order = placement.fallbacks(partition);
        let all: BTreeSet<_> = row.iter().chain(&order).collect();
        assert_eq!(all, weighted.iter().map(|v| &v.id).collect());
        assert_eq!(row.len() + order.len(), weighted.len());
        let role = |id: &VolumeId| weighted.iter().find(|v| v.id == *id).unwrap();
        let near = |id: &VolumeId| {
            let homes = row.iter().map(role);
            let (zone, node) = (&role(id).zone, &role(id).node);
            (
                homes.clone().any(|home| home.zone == *zone),
                homes.clone().any(|home| home.node == *node),
            )
        };
        assert!(
            order.iter().map(near).is_sorted(),
            "{partition:?}: {row:?}, then {order:?}"
        );
    }
}

/// Checks a plan.
pub(super) fn check_plan(plan: &Plan) {
    assert!(plan.moved >= plan.moved_least);
    assert_eq!(plan.moves.iter().map(|m| m.share.copies).sum::<u32>(), plan.moved);
    assert_eq!(
        plan.moves.iter().map(|m| m.share.bytes).sum::<u64>(),
        plan.moved_bytes
    );
    for v in &plan.volumes {
        assert_eq!(
            v.before.copies + v.received.copies,
            v.after.copies + v.dropped.copies,
            "{}",
            v.volume
        );
        assert_eq!(
            v.before.bytes + v.received.bytes,
            v.after.bytes + v.dropped.bytes,
            "{}",
            v.volume
        );
    }
}

/// Returns how much more moves than necessary, in percentage points of all copies.
pub(super) fn points(plan: &Plan) -> f64 {
    100.0 * f64::from(plan.moved - plan.moved_least) / f64::from(plan.copies)
}
