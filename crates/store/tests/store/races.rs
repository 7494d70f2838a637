//! Tests of conditions, which are decided in one place, one after the other.

use std::sync::atomic::Ordering;

use store::{Put, StoreError};
use store_protocol::{Clock, Condition, Node, NodeId, VolumeError, VolumeId};
use store_testkit::rig::{body, read};
use store_testkit::{FaultMode, Rig, Step};

use super::key;

fn when(condition: Condition) -> Put {
    Put {
        condition,
        ..Put::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_twenty_that_create_a_key_one_wins() {
    let rig = Rig::new(5, 2);
    for round in 0..50 {
        let key = key(&format!("round {round}"));
        let clients = (0..20).map(|client| {
            let (store, key) = (rig.stores[client % 5].clone(), key.clone());
            tokio::spawn(async move {
                let content = format!("client {client}");
                let put = store
                    .put(&key, body(content.as_bytes()), when(Condition::Absent))
                    .await;
                (content, put)
            })
        });
        let ended = futures_util::future::join_all(clients.collect::<Vec<_>>()).await;
        let mut winners = Vec::new();
        for (content, put) in ended.into_iter().map(Result::unwrap) {
            match put {
                Ok(_) => winners.push(content),
                Err(StoreError::Condition { current, .. }) => assert!(current.is_some()),
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(winners.len(), 1, "round {round}: {winners:?}");
        assert_eq!(rig.get(&key).await.unwrap(), winners[0].as_bytes());
    }
    assert_eq!(rig.uploads(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_increment_of_a_counter_is_lost() {
    let rig = Rig::new(4, 2);
    let key = key("counter");
    rig.put(&key, b"0").await.unwrap();
    let clients = (0..8).map(|client| {
        let (store, key) = (rig.stores[client % 4].clone(), key.clone());
        tokio::spawn(async move {
            let mut done = 0;
            while done < 10 {
                let object = store.get(&key, None).await.unwrap();
                let etag = object.meta.etag.clone();
                let now = read(&store, &key, None).await.unwrap();
                let next = std::str::from_utf8(&now).unwrap().parse::<u64>().unwrap() + 1;
                let text = next.to_string();
                match store
                    .put(&key, body(text.as_bytes()), when(Condition::Etag(etag)))
                    .await
                {
                    Ok(_) => done += 1,
                    Err(StoreError::Condition { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    for ended in futures_util::future::join_all(clients.collect::<Vec<_>>()).await {
        ended.unwrap();
    }
    assert_eq!(rig.get(&key).await.unwrap(), b"80");
}

/// The first decider cannot be reached: the next one decides, and later the first one takes over
/// again.
#[tokio::test(flavor = "multi_thread")]
async fn another_decides_when_the_first_cannot_be_reached() {
    let rig = Rig::new(5, 2);
    let key = key("a");
    let deciders = rig.store().cluster().topology().deciders(key.partition());
    let index = |id: &NodeId| {
        rig.nodes
            .iter()
            .position(|node| Node::id(node.as_ref()) == id)
            .unwrap()
    };
    let (first, last) = (index(&deciders[0]), index(&deciders[4]));
    let put =
        async |content: &[u8], condition| rig.stores[last].put(&key, body(content), when(condition)).await;
    let before = put(b"1", Condition::Absent).await.unwrap();
    rig.nodes[first].is_reachable.store(false, Ordering::SeqCst);
    let error = put(b"2", Condition::Absent).await.unwrap_err();
    assert!(matches!(error, StoreError::Condition { .. }), "{error}");
    let taken_over = put(b"2", Condition::Etag(before.etag)).await.unwrap();
    assert!(taken_over.version.term > before.version.term);
    rig.nodes[first].is_reachable.store(true, Ordering::SeqCst);
    let back = put(b"3", Condition::Etag(taken_over.etag)).await.unwrap();
    assert!(back.version.term > taken_over.version.term);
    assert_eq!(rig.uploads(), 0);
    assert_eq!(rig.get(&key).await.unwrap(), b"3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_is_not_decided_among_strangers() {
    let rig = Rig::new(5, 2);
    let key = key("a");
    let home = rig.home(&key);
    home[1].set(FaultMode::Unreachable);
    let elsewhere = rig
        .volumes
        .iter()
        .find(|volume| !home.iter().any(|other| std::ptr::eq(&***other, &***volume)));
    elsewhere.unwrap().set(FaultMode::Rebuilding);
    let error = rig
        .store()
        .put(&key, body(b"1"), when(Condition::Absent))
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    elsewhere.unwrap().set(FaultMode::Well);
    rig.store()
        .put(&key, body(b"1"), when(Condition::Absent))
        .await
        .unwrap();
}

/// A deletion is prepared, its seat is taken away, and then too few nodes answer. Once they answer
/// again, the deletion is found to have happened. It is not repeated, which would report that there
/// was no object to delete.
#[tokio::test(start_paused = true)]
async fn what_was_begun_before_too_few_answered_is_not_done_again() {
    let rig = Rig::new(5, 3);
    let key = key("a");
    rig.put(&key, b"1").await.unwrap();
    let decider = rig.store().cluster().topology().deciders(key.partition())[0].clone();
    let first = rig
        .nodes
        .iter()
        .position(|node| *Node::id(node.as_ref()) == decider);
    let store = rig.stores[first.unwrap()].clone();
    let home = rig.home(&key);
    let superseded = VolumeError::Superseded {
        volume: VolumeId::from("elsewhere".to_owned()),
        promised: Clock::new("elsewhere").term(9),
    };
    home[2].fail_at_with(Step::Prepare, 1, superseded);
    let before = home[2].calls(Step::Prepare);
    let deleting = tokio::spawn({
        let key = key.clone();
        async move { store.delete(&key, Condition::Always).await }
    });
    while home[2].calls(Step::Prepare) == before {
        tokio::task::yield_now().await;
    }
    home.iter().for_each(|volume| volume.set(FaultMode::Unreachable));
    // Longer than the pause before the next try, shorter than any caller waits. The clock is
    // paused, so that a busy machine does not make it longer.
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    home.iter().for_each(|volume| volume.set(FaultMode::Well));
    let deleted = deleting.await.unwrap().unwrap();
    assert!(deleted.is_some_and(|meta| meta.deleted));
}
