//! Conditions: decided in one place, one after the other.

use std::sync::atomic::Ordering;

use super::key;
use crate::store::{Condition, Put, StoreError};
use crate::testing::rig::{body, read};
use crate::testing::{Mood, Rig};

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

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_cannot_be_reached_is_no_yes() {
    let rig = Rig::new(5, 2);
    let key = key("a");
    let owner = rig.stores[0]
        .cluster()
        .view()
        .owner(key.partition())
        .unwrap()
        .clone();
    let other = rig
        .stores
        .iter()
        .find(|store| store.cluster().me() != Some(&owner))
        .unwrap();
    let node = rig
        .nodes
        .iter()
        .find(|node| *crate::node::Node::id(node.as_ref()) == owner)
        .unwrap();
    node.is_reachable.store(false, Ordering::SeqCst);
    let error = other
        .put(&key, body(b"1"), when(Condition::Absent))
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    assert_eq!(rig.uploads(), 0);
    // Without a condition the owner is not needed.
    other.put(&key, body(b"1"), Put::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_is_not_decided_among_strangers() {
    let rig = Rig::new(5, 2);
    let key = key("a");
    let home = rig.home(&key);
    home[1].set(Mood::Unreachable);
    let elsewhere = rig
        .volumes
        .iter()
        .find(|volume| !home.iter().any(|other| std::ptr::eq(&***other, &***volume)));
    elsewhere.unwrap().set(Mood::Rebuilding);
    let error = rig
        .store()
        .put(&key, body(b"1"), when(Condition::Absent))
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    elsewhere.unwrap().set(Mood::Well);
    rig.store()
        .put(&key, body(b"1"), when(Condition::Absent))
        .await
        .unwrap();
}
