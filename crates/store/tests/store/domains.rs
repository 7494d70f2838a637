//! Three nodes with two volumes each, two copies: an absent node is one failure, although it has
//! two volumes.

use std::sync::Arc;

use store::{List, StoreError};
use store_protocol::{Condition, Volume};
use store_testkit::rig::read;
use store_testkit::{FaultMode, MemoryVolume, Rig};

use super::{content, key};

fn list() -> List {
    List {
        prefix: "bucket/".to_owned(),
        limit: 1000,
        ..List::default()
    }
}

/// Returns the volumes of one node.
fn of_node(rig: &Rig, node: usize) -> Vec<Arc<MemoryVolume>> {
    let name = format!("n{node}/");
    let volumes = rig.volumes.iter();
    volumes
        .filter(|volume| volume.id().0.starts_with(&name))
        .cloned()
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_two_volumes_away_is_one_failure() {
    let rig = Rig::of_nodes(3, 2, 2);
    for i in 0..30 {
        rig.put(&key(&format!("{i:02}")), &content(1000, i))
            .await
            .unwrap();
    }
    for away in 0..3 {
        of_node(&rig, away)
            .iter()
            .for_each(|volume| volume.set(FaultMode::Unreachable));
        let store = &rig.stores[(away + 1) % 3];
        assert_eq!(store.list(&list()).await.unwrap().objects.len(), 30);
        for i in 0..30 {
            let name = format!("{i:02}");
            assert_eq!(read(store, &key(&name), None).await.unwrap(), content(1000, i));
            let absent = store.head(&key(&format!("no {name}"))).await;
            assert!(matches!(absent, Err(StoreError::NotFound(_))), "{absent:?}");
        }
        of_node(&rig, away)
            .iter()
            .for_each(|volume| volume.set(FaultMode::Well));
    }
}

/// A version written while a node is away is on both other nodes, so that another node may fail
/// once the first is back.
#[tokio::test(flavor = "multi_thread")]
async fn a_hand_off_lies_on_another_node() {
    let rig = Rig::of_nodes(3, 2, 2);
    for size in [1000, 2_500_000] {
        for away in 0..3 {
            of_node(&rig, away)
                .iter()
                .for_each(|volume| volume.set(FaultMode::Unreachable));
            for i in 0..12 {
                let key = key(&format!("{size} {away} {i}"));
                rig.put(&key, &content(size, i)).await.unwrap();
                let on = |node: usize| {
                    of_node(&rig, node)
                        .iter()
                        .any(|volume| volume.content(&key).is_some())
                };
                assert!(
                    on((away + 1) % 3) && on((away + 2) % 3),
                    "{key} without node {away}"
                );
            }
            of_node(&rig, away)
                .iter()
                .for_each(|volume| volume.set(FaultMode::Well));
        }
    }
}

/// One absent volume on each of two nodes: two failures, although a single node has as many
/// volumes.
#[tokio::test(flavor = "multi_thread")]
async fn volumes_of_two_nodes_away_are_two_failures() {
    let rig = Rig::of_nodes(3, 2, 2);
    for i in 0..30 {
        rig.put(&key(&format!("{i:02}")), b"1").await.unwrap();
    }
    of_node(&rig, 0)[0].set(FaultMode::Unreachable);
    of_node(&rig, 1)[1].set(FaultMode::Unreachable);
    let refused = rig.stores[2].list(&list()).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable { .. })),
        "{refused:?}"
    );
    let refused = rig.stores[2].delete(&key("no such"), Condition::Always).await;
    assert!(
        matches!(refused, Ok(None) | Err(StoreError::Unavailable { .. })),
        "{refused:?}"
    );
}
