//! Tables of known and random roles against the invariants.

mod support;

use super::*;
use support::*;

#[test]
fn five_zones_of_three_equal_volumes_are_even() {
    for seed in 0..20 {
        let layout = layout(seed, roles(2, &grid(5, 3)));
        check(&layout);
        let placement = Placement::compute(&layout);
        let (most, least) = extremes(&placement);
        assert!(most - least <= 1, "seed {seed}: {least} to {most} copies");
    }
}

#[test]
fn little_moves() {
    for seed in 0..5 {
        let before = layout(seed, roles(2, &grid(5, 3)));
        let mut doubled = grid(5, 3);
        doubled[4].2 = 200;
        let mut dropped = grid(5, 3);
        dropped.remove(4);
        for (what, after) in [
            ("add zone", grid(6, 3)),
            ("drop volume", dropped),
            ("drop zone", grid(4, 3)),
            ("double", doubled),
        ] {
            let after = layout(seed, roles(2, &after));
            check(&after);
            let (moved, least) = moved(&before, &after);
            assert!(
                moved - least < 0.02,
                "seed {seed}, {what}: {moved:.4} moved, {least:.4} must"
            );
        }
    }
}
