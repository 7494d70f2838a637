//! Tables of known and random roles against the invariants.

mod edges;
mod model;
mod rules;
mod support;
mod vectors;

use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::*;
use support::*;

/// Seeds of the property test.
const SEEDS: u64 = 20;

#[test]
fn five_zones_of_three_equal_volumes_are_even() {
    for seed in 0..10 {
        let layout = layout(seed, roles(2, &grid(5, 3)));
        check(&layout);
        let copies = Placement::compute(&layout).copies();
        assert!(
            copies.values().all(|n| [546, 547].contains(n)),
            "seed {seed}: {copies:?}"
        );
    }
}

#[test]
fn the_figures_hold() {
    for figure in figures() {
        println!("{figure}");
        assert!(figure.holds(), "{figure}");
    }
}

#[test]
fn little_moves_whatever_the_seed() {
    let mut doubled = grid(5, 3);
    doubled[4].2 = 200;
    let mut fewer = grid(5, 3);
    fewer.remove(4);
    for seed in 0..5 {
        let before = layout(seed, roles(2, &grid(5, 3)));
        for after in [&grid(6, 3), &fewer, &grid(4, 3), &doubled] {
            let plan = plan(&before, &layout(seed, roles(2, after)), Sizes::Unknown);
            check_plan(&plan);
            assert!(
                points(&plan) < 2.0,
                "seed {seed}: {} moved, {} must",
                plan.moved,
                plan.moved_least
            );
        }
    }
}

/// If zones are nearly full, a copy that enters a zone displaces another, so more copies move than
/// the capacities alone would force. On average the difference stays small.
#[test]
fn random_roles_keep_every_invariant() {
    let mut sum = 0.0;
    for seed in 0..SEEDS {
        let mut rng = StdRng::seed_from_u64(seed);
        let before = random(&mut rng);
        let (what, after) = changed(&mut rng, &before);
        println!("seed {seed}: {what}");
        let (before, after) = (layout(seed, before), layout(seed, after));
        check(&before);
        check(&after);
        let plan = plan(&before, &after, Sizes::Unknown);
        check_plan(&plan);
        println!(
            "moved {} of {}, {} must: {:.2} points",
            plan.moved,
            plan.copies,
            plan.moved_least,
            points(&plan)
        );
        assert!(points(&plan) < 7.0);
        sum += points(&plan);
    }
    println!("mean {:.2} points", sum / SEEDS as f64);
    assert!(sum / (SEEDS as f64) < 1.0);
}

#[test]
fn the_order_of_roles_changes_nothing() {
    let layout = layout(3, roles(3, &grid(4, 2)));
    let mut turned = layout.clone();
    turned.roles.volumes.reverse();
    turned.roles.nodes.rotate_left(3);
    assert_eq!(
        Placement::compute(&layout).digest(),
        Placement::compute(&turned).digest()
    );
    let mut other = layout.clone();
    other.seed += 1;
    assert_ne!(
        Placement::compute(&layout).digest(),
        Placement::compute(&other).digest()
    );
}

#[test]
fn a_plan_counts_bytes() {
    let before = layout(1, roles(2, &grid(5, 3)));
    let after = before_and_one_zone(&before);
    let bytes: Vec<u64> = (0..4096).collect();
    let by_partition = plan(&before, &after, Sizes::Partitions(&bytes));
    let held: u64 = by_partition.volumes.iter().map(|v| v.before.bytes).sum();
    assert_eq!(held, 2 * 4095 * 4096 / 2);
    check_plan(&by_partition);
    let copies = Placement::compute(&before).copies();
    let volumes = copies
        .into_iter()
        .map(|(id, n)| (id, u64::from(n) * 1000))
        .collect();
    let by_volume = plan(&before, &after, Sizes::Volumes(&volumes));
    check_plan(&by_volume);
    assert_eq!(by_volume.moved_bytes, u64::from(by_volume.moved) * 1000);
    let text = serde_json::to_string(&by_volume).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), by_volume);
}

fn before_and_one_zone(before: &Layout) -> Layout {
    let mut after = layout(before.seed, roles(2, &grid(6, 3)));
    after.number = before.number + 1;
    after
}
