//! Layouts that change while objects are still where an older layout put them.

use store::{List, Put, StoreError};
use store_protocol::{Condition, Key, Volume};
use store_testkit::rig::body;
use store_testkit::{FaultMode, Rig};

use super::key;

fn keys() -> Vec<Key> {
    (0..40).map(|i| key(&format!("{i:02}"))).collect()
}

/// No object has moved yet: every object is found, and writes and deletions go to the new home.
#[tokio::test(flavor = "multi_thread")]
async fn objects_of_an_older_layout_are_found_and_replaced() {
    let rig = Rig::growing(3, 6, 2);
    for key in keys() {
        rig.put(&key, key.name().as_bytes()).await.unwrap();
    }
    rig.grow(6);
    let list = List {
        prefix: "bucket/".to_owned(),
        limit: 100,
        ..List::default()
    };
    assert_eq!(rig.store().list(&list).await.unwrap().objects.len(), 40);
    let mut moved = 0;
    for key in keys() {
        assert_eq!(rig.get(&key).await.unwrap(), key.name().as_bytes());
        let is_new = |volume: &&std::sync::Arc<store_testkit::MemoryVolume>| volume.content(&key).is_none();
        moved += rig.home(&key).iter().filter(|volume| is_new(volume)).count();
        let refused = rig
            .store()
            .put(
                &key,
                body(b"2"),
                Put {
                    condition: Condition::Absent,
                    ..Put::default()
                },
            )
            .await;
        assert!(
            matches!(refused, Err(StoreError::Condition { .. })),
            "{refused:?}"
        );
        rig.put(&key, b"new").await.unwrap();
        assert!(
            rig.home(&key)
                .iter()
                .all(|volume| volume.content(&key).as_deref() == Some(b"new"))
        );
        assert_eq!(rig.get(&key).await.unwrap(), b"new");
        rig.store()
            .delete(&key, Condition::Always)
            .await
            .unwrap()
            .unwrap();
        assert!(matches!(rig.get(&key).await, Err(StoreError::NotFound(_))));
    }
    assert!(moved > 20, "only {moved} replicas moved");
    assert_eq!(rig.store().list(&list).await.unwrap().objects, []);
}

/// An object on the volumes of an older layout, one of which cannot be reached: no read reports it
/// as missing.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_not_moved_is_not_denied() {
    let rig = Rig::growing(3, 6, 2);
    for key in keys() {
        rig.put(&key, b"old").await.unwrap();
    }
    rig.grow(6);
    for down in &rig.volumes {
        down.set(FaultMode::Unreachable);
        for key in keys() {
            assert_eq!(rig.get(&key).await.unwrap(), b"old", "{} is down", down.id());
        }
        down.set(FaultMode::Well);
    }
}

/// The store grows from one volume to two. An object that only the first holds is not reported as
/// missing while that volume cannot be reached.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_grows_from_one_volume_knows_that_it_had_one_copy() {
    let rig = Rig::growing(1, 3, 2);
    rig.put(&key("a"), b"1").await.unwrap();
    rig.grow(3);
    assert_eq!(rig.get(&key("a")).await.unwrap(), b"1");
    rig.volumes[0].set(FaultMode::Unreachable);
    let unknown = rig.get(&key("a")).await;
    assert!(
        matches!(unknown, Err(StoreError::Unavailable { .. })),
        "{unknown:?}"
    );
}
