//! Layout changes: everything moves, old copies are dropped, and the older layouts are taken out of
//! force.

use super::world::{World, roles};

#[tokio::test]
async fn everything_moves_when_volumes_join_are_drained_and_leave() {
    let world = World::with_objects(2, &[1, 1, 1], 18);
    for (weights, number) in [
        ([1, 1, 1, 1].as_slice(), 2),
        (&[0, 1, 1, 1], 3),
        (&[2, 1, 1, 1], 4),
    ] {
        world.change_layout(roles(2, weights));
        let report = world.repair().await;
        assert!(report.is_clean(), "{report:?}");
        assert_eq!(
            report.copies, report.dropped,
            "moved replicas must be dropped from the old volumes"
        );
        assert!(report.copies > 0, "layout {number} must move replicas");
        world.check_whole().await;
    }
}

#[tokio::test]
async fn a_repair_broken_off_anywhere_can_be_repeated() {
    for crash_after in 0..12 {
        let world = World::with_objects(2, &[1, 1, 1], 6);
        world.change_layout(roles(2, &[1, 1, 1, 1]));
        let victim = &world.volumes()[(crash_after % 4) as usize];
        victim.stop_after(Some(crash_after / 4));
        world.repair().await;
        victim.stop_after(None);
        let report = world.repair().await;
        assert!(report.is_clean(), "after {crash_after} changes: {report:?}");
        world.check_whole().await;
    }
}

/// Older releases accepted layouts that asked for more copies than there are volumes with a weight.
#[tokio::test]
async fn nothing_is_dropped_while_copies_have_no_home() {
    let world = World::with_objects(2, &[1, 1], 8);
    world.change_layout(roles(2, &[1, 0]));
    let report = world.repair().await;
    assert_eq!(report.dropped, 0, "{report:?}");
    let held = |volume: usize| world.volumes()[volume].replicas().len();
    assert_eq!((held(0), held(1)), (8, 8));
    let census = world.census().await;
    assert_eq!(
        (
            census.replicas_expected,
            census.replicas_good,
            census.replicas_missing
        ),
        (16, 8, 8)
    );
    assert!(!census.is_whole());
}
