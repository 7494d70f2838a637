//! Failure domains: how many different volumes, nodes and zones copies are on.
//!
//! Every acknowledged version is on at least as many different volumes, nodes and zones as the home
//! volumes of its partition (`store::Topology::wanted`), including hand-offs. So a reader that
//! lacks the answers of some volumes still sees every version if those volumes are fewer, or on
//! fewer nodes, or in fewer zones: a node with two disks is one failure, not two. On a single
//! machine, where all volumes are on one node, the volumes themselves are counted.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{NodeId, VolumeId};
use crate::layout::Layout;

/// Numbers of different volumes, nodes and zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Width {
    /// Volumes.
    pub volumes: usize,
    /// Their nodes.
    pub nodes: usize,
    /// Their zones.
    pub zones: usize,
}

/// Node and zone of every volume of some layouts.
#[derive(Debug, Default)]
pub struct Domains(BTreeMap<VolumeId, (NodeId, String)>);

impl Width {
    /// Returns whether no number is less than in `wanted`.
    pub fn reaches(&self, wanted: &Self) -> bool {
        self.volumes >= wanted.volumes && self.nodes >= wanted.nodes && self.zones >= wanted.zones
    }

    /// Returns whether copies of this width cannot all be on volumes of width `unknown`, so that at
    /// least one of them was seen. The most favourable of the three numbers decides.
    pub fn is_visible_without(&self, unknown: &Self) -> bool {
        unknown.volumes < self.volumes || unknown.nodes < self.nodes || unknown.zones < self.zones
    }

    /// Returns the smaller of each number.
    #[must_use]
    pub fn min(&self, other: &Self) -> Self {
        Self {
            volumes: self.volumes.min(other.volumes),
            nodes: self.nodes.min(other.nodes),
            zones: self.zones.min(other.zones),
        }
    }

    /// Returns whether the missing volumes could reach `wanted` if each were in a new domain.
    fn may_reach(&self, wanted: &Self) -> bool {
        let left = wanted.volumes.saturating_sub(self.volumes);
        self.nodes + left >= wanted.nodes && self.zones + left >= wanted.zones
    }
}

impl Domains {
    /// Returns the domains of these layouts' volumes. If layouts differ about a volume, the first
    /// one counts.
    pub fn new<'a>(layouts: impl Iterator<Item = &'a Layout>) -> Self {
        let mut domains = BTreeMap::new();
        for volume in layouts.flat_map(|layout| &layout.roles.volumes) {
            domains
                .entry(volume.id.clone())
                .or_insert_with(|| (volume.node.clone(), volume.zone.clone()));
        }
        Self(domains)
    }

    /// Returns the node of a volume, or `None` if no layout in force has the volume.
    pub fn node(&self, volume: &VolumeId) -> Option<&NodeId> {
        self.0.get(volume).map(|(node, _)| node)
    }

    /// Returns the width of some volumes.
    pub fn width<'a>(&self, volumes: impl IntoIterator<Item = &'a VolumeId>) -> Width {
        let (mut all, mut nodes, mut zones) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for volume in volumes {
            all.insert(volume);
            if let Some((node, zone)) = self.0.get(volume) {
                nodes.insert(node);
                zones.insert(zone);
            }
        }
        Width {
            volumes: all.len(),
            nodes: nodes.len(),
            zones: zones.len(),
        }
    }

    /// Returns whether a copy on `next` helps copies on `held` to reach `wanted`: either `wanted`
    /// can still be reached with it, or it could not be reached before and `next` is in a new
    /// domain.
    pub fn helps(&self, held: &[VolumeId], next: &VolumeId, wanted: &Width) -> bool {
        let before = self.width(held);
        let after = self.width(held.iter().chain([next]));
        let is_wider = after.nodes > before.nodes || after.zones > before.zones;
        after.may_reach(wanted) || (!before.may_reach(wanted) && is_wider)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn width(volumes: usize, nodes: usize, zones: usize) -> Width {
        Width {
            volumes,
            nodes,
            zones,
        }
    }

    fn volume(name: &str) -> VolumeId {
        VolumeId::from(name.to_owned())
    }

    /// Returns volumes `a/1`, `a/2`, ... of node `a` and so on. Nodes a and b are in one zone.
    fn domains() -> Domains {
        let of = |name: &str| {
            let (node, _) = name.split_once('/').unwrap();
            let zone = if node == "b" { "a" } else { node };
            (volume(name), (NodeId::from(node.to_owned()), zone.to_owned()))
        };
        Domains(
            ["a/1", "a/2", "b/1", "b/2", "c/1", "c/2"]
                .into_iter()
                .map(of)
                .collect(),
        )
    }

    #[test]
    fn a_node_with_two_disks_is_one_failure() {
        let domains = domains();
        let acknowledged = width(2, 2, 2);
        assert!(acknowledged.is_visible_without(&domains.width(&["c/1", "c/2"].map(volume))));
        assert!(!acknowledged.is_visible_without(&domains.width(&["b/1", "c/2"].map(volume))));
        // A zone is one failure if the copies are in two zones.
        assert!(acknowledged.is_visible_without(&domains.width(&["a/1", "a/2", "b/1"].map(volume))));
        assert!(!width(2, 2, 1).is_visible_without(&domains.width(&["a/1", "b/1"].map(volume))));
        assert!(!width(0, 0, 0).is_visible_without(&width(0, 0, 0)));
    }

    #[test]
    fn a_second_copy_goes_to_another_node_and_zone() {
        let domains = domains();
        let held = [volume("a/1")];
        let helps = |next: &str, wanted| domains.helps(&held, &volume(next), &wanted);
        assert!(
            !helps("a/2", width(2, 2, 2)) && !helps("b/1", width(2, 2, 2)) && helps("c/1", width(2, 2, 2))
        );
        assert!(!helps("a/2", width(2, 2, 1)) && helps("b/1", width(2, 2, 1)));
        assert!(helps("a/2", width(2, 1, 1)));
        assert!(
            helps("a/2", width(3, 2, 2)),
            "the third copy may still be elsewhere"
        );
    }

    #[test]
    fn copies_that_lie_badly_are_made_good_one_by_one() {
        let domains = domains();
        let held = ["a/1", "a/2", "b/1"].map(volume);
        assert!(domains.helps(&held, &volume("c/1"), &width(3, 3, 3)));
        assert!(!domains.helps(&held, &volume("b/2"), &width(3, 3, 3)));
    }
}
