//! Surveys of many partitions in one answer.

use store_protocol::{PARTITIONS, Partition, Volume};
use store_testkit::{FaultMode, Step};

use super::world::{World, key};
use crate::upkeep::reconcile::{Outages, Walk, gather};

/// Returns the number of survey requests to all volumes.
fn asked(world: &World) -> u64 {
    let volumes = world.volumes();
    volumes.iter().map(|volume| volume.calls(Step::Survey)).sum()
}

/// Asking fifteen volumes for each of 4,096 partitions would take 61,440 requests, even in an empty
/// store.
#[tokio::test]
async fn a_store_of_fifteen_volumes_with_little_in_it_takes_a_question_each() {
    let world = World::with_objects(2, &[1; 15], 30);
    assert!(world.census().await.is_whole());
    assert_eq!(asked(&world), 15);
    let report = world.repair().await;
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.keys, asked(&world)), (30, 30));
}

/// Only the damaged partition is asked for separately.
#[tokio::test]
async fn damage_takes_questions_about_its_own_partition() {
    let world = World::with_objects(2, &[1, 1, 1], 30);
    let home = world.home(&key(2));
    let version = world.version(&key(2));
    world
        .volume(&home[0])
        .damage(&key(2), version, |replica| replica.content = None);
    assert_eq!(world.census().await.files_missing, 1);
    assert_eq!(asked(&world), 3 + 3);
    assert_eq!(world.repair().await.copies, 1);
    world.check_whole().await;
}

/// However the volumes split their answers, a walk returns the same as asking for each partition.
#[tokio::test]
async fn a_walk_is_the_partitions_one_by_one() {
    let world = World::with_objects(2, &[1, 1, 1], 30);
    for (volume, most) in world.volumes().iter().zip([1, 7, 5000]) {
        volume.survey_at_most(most);
    }
    world.volumes()[1].stray(Partition(77), "unknown");
    let topology = world.cluster.topology();
    let outages = Outages::new(std::time::Duration::MAX);
    // As on a node that looks after some partitions, of which another node takes some over
    // meanwhile.
    let partitions = || (0..PARTITIONS).step_by(3).map(Partition);
    let mut walk = Walk::new(&topology, &outages, partitions());
    for partition in partitions().filter(|partition| partition.0 % 5 != 0) {
        assert!(walk.holds(partition) && walk.skip_to(partition));
        let (met, found) = walk.next().await.expect("another partition is expected");
        assert_eq!(met, partition);
        assert_eq!(found, gather::partition(&topology, partition, &outages).await);
        assert!(!walk.holds(partition) && !walk.skip_to(partition));
    }
}

/// A volume that goes away during the walk is away from then on, and one that comes back is seen
/// again.
#[tokio::test]
async fn a_walk_notices_who_goes_and_comes_back() {
    let world = World::with_objects(2, &[1, 1, 1], 30);
    let volume = world.volumes()[0].clone();
    volume.survey_at_most(2);
    let topology = world.cluster.topology();
    let outages = Outages::new(std::time::Duration::MAX);
    let mut walk = Walk::new(&topology, &outages, (0..8).map(Partition));
    let mut seen = Vec::new();
    for number in 0..8 {
        match number {
            1 => volume.set(FaultMode::Unreachable),
            5 => volume.set(FaultMode::Well),
            _ => {}
        }
        let (_, found) = walk.next().await.expect("another partition is expected");
        assert_eq!(found.away.contains_key(volume.id()), outages.is_away(volume.id()));
        seen.push(outages.is_away(volume.id()));
    }
    assert_eq!(seen, [false, false, true, true, true, false, false, false]);
    assert!(walk.next().await.is_none());
}
