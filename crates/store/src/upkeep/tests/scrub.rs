//! Undiscovered damage, and the position of a scrub.

use store_protocol::{Cause, Partition};
use store_testkit::FaultMode;

use super::world::{World, key};
use crate::upkeep::{ScrubFiles, ScrubState, fixity, scrub_all};

#[tokio::test]
async fn a_scrub_finds_every_flipped_bit_and_a_repair_puts_it_right() {
    let world = World::with_objects(2, &[1, 1, 1], 30);
    let mut flipped = 0;
    for i in 0..30 {
        let (key, version) = (key(i), world.version(&key(i)));
        let volume = world.volume(&world.home(&key)[(i % 2) as usize]);
        volume.damage(&key, version, |replica| {
            let content = replica.content.as_mut().expect("a file");
            let at = content.len() / 2;
            if let Some(byte) = content.get_mut(at) {
                *byte ^= 1 << (i % 8);
                flipped += 1;
            }
        });
    }
    assert!(world.census().await.is_whole(), "the damage is not known yet");
    let topology = world.cluster.topology();
    let report = scrub_all(&topology, &[], None, &|_| {}).await;
    assert_eq!(
        (report.replicas, report.bad, report.missing),
        (60, flipped, 0),
        "{report:?}"
    );
    assert_eq!(world.census().await.replicas_bad, flipped);
    world.repair().await;
    world.check_whole().await;
    assert!(scrub_all(&topology, &[], None, &|_| {}).await.is_clean());
}

#[tokio::test]
async fn one_volume_is_scrubbed_when_one_is_named() {
    let world = World::with_objects(2, &[1, 1, 1], 12);
    let volume = &world.volumes()[1];
    let held = volume.replicas().len() as u64;
    let named = ["b/v".to_owned().into()];
    let report = scrub_all(&world.cluster.topology(), &named, None, &|_| {}).await;
    assert_eq!(report.replicas, held);
    assert!(world.volumes()[0].log().is_empty());
}

#[tokio::test]
async fn the_fixity_log_tells_the_story_once_and_in_order() {
    let world = World::with_objects(2, &[1, 1], 3);
    let (key, version) = (key(2), world.version(&key(2)));
    world.volumes()[0].damage(&key, version, |replica| {
        replica.content.as_mut().expect("a file")[0] ^= 1;
    });
    let topology = world.cluster.topology();
    scrub_all(&topology, &[], None, &|_| {}).await;
    world.repair().await;
    let (events, failed) = fixity(&topology, &key, 100).await;
    assert!(failed.is_empty());
    assert!(events.is_sorted_by_key(|event| event.time_ms));
    let of = |volume: &str| {
        let lines = events.iter().filter(|event| &*event.volume.0 == volume);
        lines
            .map(|event| (event.event.as_str(), event.cause))
            .collect::<Vec<_>>()
    };
    assert_eq!(of("a/v"), [("bad", Cause::Scrub), ("repaired", Cause::Repair)]);
    assert_eq!(of("b/v"), [("verified", Cause::Scrub)]);
    assert!(events.iter().any(|event| {
        event
            .detail
            .starts_with("copied from b/v, every block compared with blake3")
    }));
    world.volumes()[1].set(FaultMode::Unreachable);
    assert_eq!(fixity(&topology, &key, 100).await.1.len(), 1);
}

#[test]
fn where_a_scrub_stands_is_kept_and_bad_files_mean_the_beginning() {
    let dir = tempfile::tempdir().expect("a directory");
    let files = ScrubFiles::new(vec![dir.path().join("absent"), dir.path().to_owned()]);
    let volume = "a/v".to_owned().into();
    assert_eq!(files.load(&volume), ScrubState::default());
    let state = ScrubState {
        started_ms: Some(7),
        partition: Some(Partition(9)),
        after: Some(key(1)),
        replicas: 3,
        ..ScrubState::default()
    };
    files.save(&volume, &state).expect("saved");
    assert_eq!(files.load(&volume), state);
    assert_eq!(files.load(&"b/v".to_owned().into()), ScrubState::default());
    std::fs::write(dir.path().join("scrub-a+v.json"), "{").expect("written");
    assert_eq!(files.load(&volume), ScrubState::default());
}
