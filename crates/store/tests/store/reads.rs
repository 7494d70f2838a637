//! Reads never return an unverified byte, and use another replica if one exists.

use std::sync::Arc;
use std::time::Duration;

use store::{Damage, StoreError};
use store_protocol::{BLOCK_BYTES, ReplicaState, Volume};
use store_testkit::rig::read;
use store_testkit::{FaultMode, Rig, Step};

use super::{content, key};

#[tokio::test(flavor = "multi_thread")]
async fn ranges_are_cut_right() {
    let rig = Rig::new(3, 2);
    let size = 3 * BLOCK_BYTES + 17;
    let content = content(usize::try_from(size).unwrap(), 1);
    rig.put(&key("a"), &content).await.unwrap();
    let edges = [
        0,
        1,
        BLOCK_BYTES - 1,
        BLOCK_BYTES,
        BLOCK_BYTES + 1,
        3 * BLOCK_BYTES,
        size - 1,
        size,
        size + 9,
    ];
    for start in edges {
        for end in edges {
            let found = read(rig.store(), &key("a"), Some(start..end)).await;
            if start >= end || start >= size {
                assert!(matches!(found, Err(StoreError::Range { .. })), "{start}..{end}");
                continue;
            }
            let expected = &content[start as usize..end.min(size) as usize];
            assert!(found.unwrap() == expected, "{start}..{end}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_block_is_read_elsewhere_and_told() {
    let rig = Rig::new(5, 2);
    let content = content(2_000_000, 2);
    rig.put(&key("a"), &content).await.unwrap();
    let victim = rig.home(&key("a"))[0].clone();
    // The victim's node reads from its own volume first.
    let index = rig.volumes.iter().position(|volume| volume.id() == victim.id());
    let store = &rig.stores[index.unwrap()];
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel::<Damage>();
    store.on_damage(move |damage| sender.send(damage).unwrap());
    assert!(victim.corrupt(&key("a"), 3));
    assert!(read(store, &key("a"), None).await.unwrap() == content);
    assert_eq!(told.recv().await.unwrap().volume, *victim.id());
    assert!(matches!(
        victim.held(&key("a")).unwrap().state,
        ReplicaState::Bad(_)
    ));
    // Once it is marked bad, it is not even tried.
    let reads = victim.calls(Step::Read);
    assert!(read(store, &key("a"), None).await.unwrap() == content);
    assert_eq!(victim.calls(Step::Read), reads);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_bad_everywhere_is_lost_and_not_served() {
    let rig = Rig::new(5, 2);
    let content = content(1_000_000, 3);
    rig.put(&key("a"), &content).await.unwrap();
    rig.home(&key("a"))
        .iter()
        .for_each(|volume| assert!(volume.corrupt(&key("a"), 0)));
    let found = rig.get(&key("a")).await;
    assert!(matches!(found, Err(StoreError::Lost { .. })), "{found:?}");
    // The good blocks can still be read.
    let rest = Some(BLOCK_BYTES..1_000_000);
    match read(rig.store(), &key("a"), rest).await {
        Ok(found) => assert!(found == content[BLOCK_BYTES as usize..]),
        Err(error) => assert!(matches!(error, StoreError::Lost { .. }), "{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_ends_early_is_continued_elsewhere() {
    let rig = Rig::new(4, 2);
    let content = content(2_000_000, 4);
    rig.put(&key("a"), &content).await.unwrap();
    for victim in 0..2 {
        rig.home(&key("a"))[victim].cut_reads(Some(700_000));
        for _ in 0..4 {
            assert!(rig.get(&key("a")).await.unwrap() == content);
        }
        rig.home(&key("a"))[victim].cut_reads(None);
    }
}

/// A newer version is on one home volume and a hand-off. The home volume goes away, and the
/// hand-off is still found.
#[tokio::test(flavor = "multi_thread")]
async fn a_hand_off_is_not_missed() {
    let rig = Rig::new(6, 2);
    rig.put(&key("a"), b"old").await.unwrap();
    rig.home(&key("a"))[1].set(FaultMode::Unreachable);
    rig.put(&key("a"), b"new").await.unwrap();
    rig.home(&key("a"))[1].set(FaultMode::Well);
    assert_eq!(rig.get(&key("a")).await.unwrap(), b"new");
    for fault_mode in [
        FaultMode::Unreachable,
        FaultMode::Frozen,
        FaultMode::Slow(Duration::from_millis(300)),
    ] {
        rig.home(&key("a"))[0].set(fault_mode);
        assert_eq!(rig.get(&key("a")).await.unwrap(), b"new");
    }
    rig.home(&key("a"))[0].wipe();
    rig.home(&key("a"))[0].set(FaultMode::Rebuilding);
    assert_eq!(rig.get(&key("a")).await.unwrap(), b"new");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_such_object_is_said_only_for_certain() {
    let rig = Rig::new(5, 2);
    let home: Vec<_> = rig.home(&key("a")).into_iter().cloned().collect();
    let absent = rig.store().head(&key("a")).await;
    assert!(matches!(absent, Err(StoreError::NotFound(_))), "{absent:?}");
    for fault_mode in [
        FaultMode::Unreachable,
        FaultMode::Out,
        FaultMode::Frozen,
        FaultMode::Rebuilding,
    ] {
        home[0].set(fault_mode.clone());
        let one_unknown = rig.store().head(&key("a")).await;
        assert!(
            matches!(one_unknown, Err(StoreError::NotFound(_))),
            "{fault_mode:?}: {one_unknown:?}"
        );
        home[1].set(fault_mode.clone());
        let two_unknown = rig.store().head(&key("a")).await;
        assert!(
            matches!(two_unknown, Err(StoreError::Unavailable { .. })),
            "{fault_mode:?}: {two_unknown:?}"
        );
        home.iter().for_each(|volume| volume.set(FaultMode::Well));
    }
}

/// Readers of a key that is overwritten continuously see one version or another, whole.
#[tokio::test(flavor = "multi_thread")]
async fn readers_beside_a_writer_see_whole_versions() {
    let rig = Arc::new(Rig::new(3, 2));
    rig.put(&key("a"), &content(600_000, 0)).await.unwrap();
    let writer = {
        let rig = rig.clone();
        tokio::spawn(async move {
            for seed in 1..40 {
                rig.put(&key("a"), &content(600_000, seed)).await.unwrap();
            }
        })
    };
    while !writer.is_finished() {
        let found = rig.get(&key("a")).await.unwrap();
        assert!(found == content(600_000, found[0]));
    }
    writer.await.unwrap();
}
