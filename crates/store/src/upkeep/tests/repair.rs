//! Damage of every kind: after a repair the census is whole and every object reads correctly.

use store_testkit::FaultMode;

use super::world::{World, content, key};

#[tokio::test]
async fn nothing_to_do_does_nothing() {
    let world = World::with_objects(2, &[1, 1, 1], 12);
    world.check_whole().await;
    let report = world.repair().await;
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.keys, report.copies, report.dropped), (12, 0, 0));
}

#[tokio::test]
async fn a_bad_a_short_and_a_deleted_file_are_made_again() {
    let world = World::with_objects(2, &[1, 1, 1], 18);
    for i in 0..18 {
        let (key, version) = (key(i), world.version(&key(i)));
        let volume = world.volume(&world.home(&key)[(i % 2) as usize]);
        volume.damage(&key, version, |replica| match i % 3 {
            0 => replica.bad = Some("found by a reader".into()),
            1 => drop(replica.content.as_mut().map(Vec::pop)),
            _ => replica.content = None,
        });
    }
    let census = world.census().await;
    assert_eq!((census.files_missing, census.objects_lost), (6, 0), "{census:?}");
    let report = world.repair().await;
    assert!(report.is_clean(), "{report:?}");
    // An empty file cannot be truncated.
    assert!((17..=18).contains(&report.copies), "{report:?}");
    world.check_whole().await;
}

#[tokio::test]
async fn a_wiped_volume_comes_back_and_its_rebuilding_ends() {
    let world = World::with_objects(2, &[1, 1, 1], 18);
    let wiped = &world.volumes()[0];
    wiped.wipe();
    wiped.set(FaultMode::Rebuilding);
    let report = world.repair().await;
    assert_eq!(report.rebuilt, ["a/v"]);
    assert!(wiped.fault_mode() == FaultMode::Well);
    world.check_whole().await;
}

#[tokio::test]
async fn rebuilding_does_not_end_while_a_volume_is_away() {
    let world = World::with_objects(2, &[1, 1, 1], 6);
    let volumes = world.volumes();
    volumes[0].wipe();
    volumes[0].set(FaultMode::Rebuilding);
    volumes[1].set(FaultMode::Unreachable);
    assert!(world.repair().await.rebuilt.is_empty());
    volumes[1].set(FaultMode::Well);
    assert_eq!(world.repair().await.rebuilt, ["a/v"]);
    world.check_whole().await;
}

/// A bug once copied a corrupt file to a volume that lacked a good one. Here the first source has
/// an undiscovered flipped bit. The copy continues from another source, and both replicas end up
/// right.
#[tokio::test]
async fn hidden_damage_is_never_copied() {
    let mut world = World::new(3, &[1, 1, 1]);
    let key = key(1);
    let whole = content(1, 900_000);
    let version = world.write(&key, Some(&whole));
    let home = world.home(&key);
    world.volume(&home[0]).wipe();
    world.volume(&home[1]).damage(&key, version, |replica| {
        replica.content.as_mut().expect("a file")[600_000] ^= 1;
    });
    let report = world.repair().await;
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.copies, 2);
    let log = world.volume(&home[0]).log();
    assert!(
        log.iter()
            .any(|event| event.detail.contains("copied from") && event.detail.contains(&home[2].to_string()))
    );
    world.check_whole().await;
}

#[tokio::test]
async fn an_older_version_never_stands_in_for_a_lost_one() {
    let mut world = World::new(2, &[1, 1, 1]);
    let key = key(1);
    let home = world.home(&key);
    world.write_on(&key, Some(b"old"), &home[..1]);
    let newer = world.write_on(&key, Some(b"new"), &home[1..]);
    world
        .volume(&home[1])
        .damage(&key, newer, |replica| replica.content = None);
    let report = world.repair().await;
    assert_eq!(
        (report.objects_lost, report.copies, report.dropped),
        (1, 0, 0),
        "{report:?}"
    );
    assert_eq!(report.lost, [key.to_string()]);
    let census = world.census().await;
    assert_eq!(
        (census.objects, census.objects_lost, census.replicas_surplus),
        (1, 1, 1),
        "{census:?}"
    );
    let held = world.volume(&home[0]).replicas().len();
    assert_eq!(held, 1, "the older version must stay");
}

#[tokio::test]
async fn a_mark_that_was_a_passing_error_is_taken_back() {
    let world = World::with_objects(2, &[1, 1], 3);
    let (key, version) = (key(2), world.version(&key(2)));
    for volume in world.volumes() {
        volume.damage(&key, version, |replica| {
            replica.bad = Some("input/output error".into())
        });
    }
    let census = world.census().await;
    assert_eq!((census.objects_lost, census.replicas_bad), (0, 2), "{census:?}");
    let report = world.repair().await;
    assert!(report.is_clean(), "{report:?}");
    world.check_whole().await;
}

#[tokio::test]
async fn good_replicas_that_disagree_are_reported_and_kept() {
    let mut world = World::new(2, &[1, 1, 1]);
    let key = key(1);
    let home = world.home(&key);
    let version = world.write(&key, Some(b"one"));
    world
        .volume(&home[1])
        .put(&super::world::meta(&key, version, Some(b"two")), b"two");
    let report = world.repair().await;
    assert_eq!(
        (report.conflicts, report.copies, report.dropped),
        (1, 0, 0),
        "{report:?}"
    );
    assert_eq!(world.census().await.conflicts, 1);
}

#[tokio::test]
async fn a_hand_off_goes_home_and_is_dropped_only_then() {
    let mut world = World::new(2, &[1, 1, 1]);
    let key = key(1);
    let home = world.home(&key);
    let elsewhere = world.elsewhere(&key);
    world.write_on(&key, Some(b"handed off"), &[home[0].clone(), elsewhere.clone()]);
    world.volume(&home[1]).set(FaultMode::Unreachable);
    let report = world.repair().await;
    assert_eq!((report.copies, report.dropped), (0, 0), "{report:?}");
    world.volume(&home[1]).set(FaultMode::Well);
    let report = world.repair().await;
    assert_eq!((report.copies, report.dropped), (1, 1), "{report:?}");
    world.check_whole().await;
}

#[tokio::test]
async fn copies_stand_in_for_a_volume_that_is_away_and_for_one_that_is_full() {
    let world = World::with_objects(2, &[1, 1, 1, 1], 18);
    let away = &world.volumes()[0];
    away.set(FaultMode::Unreachable);
    let held = away.replicas().len() as u64;
    let report = world.repair().await;
    assert_eq!(report.copies, held, "{report:?}");
    let again = world.repair().await;
    assert_eq!(again.copies, 0, "replicas on other volumes count: {again:?}");
    away.set(FaultMode::Well);
    assert_eq!(world.repair().await.dropped, held);
    world.check_whole().await;

    let full = &world.volumes()[1];
    full.wipe();
    full.set(FaultMode::Full);
    let report = world.repair().await;
    let census = world.census().await;
    assert_eq!(census.replicas_surplus, census.replicas_missing, "{census:?}");
    assert!(census.replicas_missing > 0);
    assert_eq!(
        (report.wanting, report.failures),
        (census.replicas_missing, census.replicas_missing),
        "replicas on other volumes must not hide the failure: {report:?}"
    );
    full.set(FaultMode::Well);
    let report = world.repair().await;
    assert!(report.is_clean(), "{report:?}");
    world.check_whole().await;
}

/// Without a third volume the next round can do nothing about a copy that found no space. The
/// repair has still failed.
#[tokio::test]
async fn a_copy_that_finds_no_room_has_failed_whatever_the_next_round_plans() {
    let world = World::with_objects(2, &[1, 1], 3);
    let full = &world.volumes()[1];
    full.wipe();
    full.set(FaultMode::Full);
    let report = world.repair().await;
    assert!(!report.is_clean(), "{report:?}");
    assert_eq!((report.wanting, report.failures), (3, 3), "{report:?}");
    assert!(
        report.failed.iter().all(|why| why.contains("is full")),
        "{report:?}"
    );
}

#[tokio::test]
async fn older_versions_go_and_deletions_stay() {
    let mut world = World::with_objects(2, &[1, 1, 1], 6);
    let home = world.home(&key(1));
    world.write_on(&key(1), Some(b"newer"), &home[1..]);
    let home = world.home(&key(2));
    world.write_on(&key(2), None, &home[..1]);
    let report = world.repair().await;
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.tombstones_collected, 0, "the tombstone is an hour old");
    world.check_whole().await;
}

#[tokio::test]
async fn a_tombstone_whose_files_are_gone_is_written_again() {
    let mut world = World::new(2, &[1, 1]);
    let version = world.write(&key(1), None);
    for volume in world.volumes() {
        volume.damage(&key(1), version, |replica| replica.content = None);
    }
    assert_eq!(world.census().await.objects_lost, 0);
    world.repair().await;
    world.check_whole().await;
}

#[tokio::test]
async fn strays_are_settled() {
    let world = World::with_objects(2, &[1, 1], 3);
    let partition = key(0).partition();
    world.volumes()[0].stray(partition, "unknown");
    assert_eq!(world.census().await.strays, 1);
    assert_eq!(world.repair().await.strays_settled, 1);
    world.check_whole().await;
}
