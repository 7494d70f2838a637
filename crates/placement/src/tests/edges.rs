//! Unusual roles: few volumes, few zones, one zone with nearly everything, drained volumes.

use std::collections::BTreeMap;

use super::support::*;
use crate::*;

fn disks(disks: &[(&str, &str, u32)]) -> Vec<Disk> {
    disks
        .iter()
        .map(|(zone, node, weight)| ((*zone).to_owned(), (*node).to_owned(), *weight))
        .collect()
}

/// Checks a table and returns its copies by volume.
fn copies(replicas: u8, list: &[(&str, &str, u32)]) -> BTreeMap<String, u32> {
    let layout = layout(5, roles(replicas, &disks(list)));
    check(&layout);
    let copies = Placement::compute(&layout).copies();
    copies.into_iter().map(|(id, n)| (id.to_string(), n)).collect()
}

fn expect(found: &BTreeMap<String, u32>, expected: &[(&str, u32)]) {
    let expected: BTreeMap<String, u32> = expected.iter().map(|(id, n)| ((*id).to_owned(), *n)).collect();
    assert_eq!(*found, expected);
}

#[test]
fn one_volume_has_everything_however_many_copies_are_asked() {
    for replicas in 1..=8 {
        expect(&copies(replicas, &[("a", "n", 7)]), &[("n/d1", 4096)]);
    }
}

#[test]
fn a_drained_volume_has_no_place() {
    let list = [("a", "n", 1), ("b", "m", 1), ("c", "o", 0)];
    expect(&copies(2, &list), &[("n/d1", 4096), ("m/d1", 4096)]);
    let placement = Placement::compute(&layout(5, roles(1, &disks(&list))));
    assert_eq!(placement.fallbacks(Partition(9)).len(), 1);
}

#[test]
fn a_zone_with_nearly_all_weight_has_one_copy_of_everything() {
    let found = copies(
        2,
        &[("a", "n", 1000), ("a", "m", 1000), ("b", "o", 1), ("c", "p", 1)],
    );
    expect(
        &found,
        &[("n/d1", 2048), ("m/d1", 2048), ("o/d1", 2048), ("p/d1", 2048)],
    );
}

#[test]
fn a_weight_is_capped_and_the_others_share_the_rest() {
    let found = copies(2, &[("a", "n", 100), ("b", "m", 2), ("c", "o", 1), ("d", "p", 1)]);
    expect(
        &found,
        &[("n/d1", 4096), ("m/d1", 2048), ("o/d1", 1024), ("p/d1", 1024)],
    );
}

#[test]
fn without_zones_nodes_keep_copies_apart() {
    let found = copies(2, &[("a", "n", 3), ("a", "n", 1), ("a", "m", 2), ("a", "m", 2)]);
    expect(
        &found,
        &[("n/d1", 3072), ("n/d2", 1024), ("m/d1", 2048), ("m/d2", 2048)],
    );
}

#[test]
fn more_copies_than_zones_use_every_zone_and_node() {
    // Four nodes in two zones: each of the four copies is on a different node.
    let found = copies(
        4,
        &[
            ("a", "n", 1),
            ("b", "m", 1),
            ("b", "o", 1),
            ("b", "p", 9),
            ("b", "p", 9),
        ],
    );
    expect(
        &found,
        &[
            ("n/d1", 4096),
            ("m/d1", 4096),
            ("o/d1", 4096),
            ("p/d1", 2048),
            ("p/d2", 2048),
        ],
    );
    // Three copies in two zones: one or two in each, by weight as far as possible.
    let found = copies(3, &[("a", "n", 1), ("a", "m", 1), ("b", "o", 5), ("b", "p", 5)]);
    expect(
        &found,
        &[("n/d1", 2048), ("m/d1", 2048), ("o/d1", 4096), ("p/d1", 4096)],
    );
}

#[test]
fn disks_of_one_machine_may_be_zones() {
    let found = copies(2, &[("a", "n", 1), ("b", "n", 1), ("c", "n", 2)]);
    expect(&found, &[("n/d1", 2048), ("n/d2", 2048), ("n/d3", 4096)]);
}

#[test]
fn the_greatest_weights_do_not_overflow() {
    let found = copies(
        3,
        &[
            ("a", "n", u32::MAX),
            ("b", "m", u32::MAX),
            ("c", "o", u32::MAX),
            ("d", "p", 1),
        ],
    );
    expect(
        &found,
        &[("n/d1", 4096), ("m/d1", 4096), ("o/d1", 4096), ("p/d1", 0)],
    );
}

/// Layouts arrive over the network. `check` refuses one that breaks the rules, but computing its
/// table must not crash a node either.
#[test]
fn broken_roles_do_not_panic() {
    let good = layout(5, roles(2, &grid(3, 2)));
    let mut layouts = vec![good.clone(); 5];
    layouts[0].roles.replicas = 0;
    layouts[1].roles.replicas = 255;
    layouts[2].roles.volumes.clear();
    layouts[3]
        .roles
        .volumes
        .iter_mut()
        .for_each(|volume| volume.weight = 0);
    let again = layouts[4].roles.volumes.clone();
    layouts[4].roles.volumes.extend(again);
    for layout in layouts {
        let placement = Placement::compute(&layout);
        let ids: Vec<&VolumeId> = placement.replicas(Partition(1)).iter().collect();
        println!("{ids:?}");
        assert!(placement.replicas(Partition(u16::MAX)).is_empty());
        assert!(placement.fallbacks(Partition(u16::MAX)).len() <= 12);
        let _ = placement.digest();
        let _ = plan(&good, &layout, Sizes::Unknown);
    }
}
