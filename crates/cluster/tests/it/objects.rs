//! Objects in a store of several processes: written through any of them, read while one is away.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use store::{Put, Store, StoreError};
use store_protocol::{Condition, Key, Protect, Retention, RetentionMode};

use crate::nodes::Files;
use crate::process::Process;
use crate::wire::{content, pieces};

async fn put(store: &Store, key: &str, content: &[u8], condition: Condition) -> Result<String, StoreError> {
    let put = Put {
        condition,
        ..Put::default()
    };
    let key = Key::parse(key).unwrap();
    let meta = store.put(&key, pieces(content), put).await?;
    Ok(meta.etag)
}

async fn get(store: &Store, key: &str) -> Vec<u8> {
    let object = store.get(&Key::parse(key).unwrap(), None).await.unwrap();
    let body: Vec<Bytes> = object.body.try_collect().await.unwrap();
    body.concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_is_read_while_one_of_three_is_killed_or_stopped() {
    let files = Files::new(3, 1, 2);
    let mut processes: Vec<_> = files
        .nodes
        .iter()
        .map(|node| Process::start_idle(&files.toml(node)))
        .collect();
    let client = files.client().await;
    let store = client.store();
    let objects: Vec<_> = (0..20)
        .map(|i| (format!("b/{i}"), content(i * 40_000, i as u8)))
        .collect();
    for (key, content) in &objects {
        put(&store, key, content, Condition::Absent).await.unwrap();
        let again = put(&store, key, b"other", Condition::Absent).await.unwrap_err();
        assert!(matches!(again, StoreError::Condition { .. }), "{again}");
    }
    for process in &mut processes {
        process.kill();
        for (key, content) in &objects {
            assert_eq!(get(&store, key).await, *content, "{key}");
        }
        process.restart();
    }
    processes[1].stop();
    for (key, content) in &objects {
        assert_eq!(get(&store, key).await, *content, "{key}");
    }
    processes[1].cont();
    client.close().await;
    processes.iter_mut().for_each(Process::shutdown);
}

/// The same over the wire as within a process: a client that is not a node protects an object, and
/// no request through the remaining nodes removes or replaces it while one node after the other is
/// killed.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_protected_stays_while_one_of_three_is_killed() {
    let files = Files::new(3, 1, 2);
    let mut processes: Vec<_> = files
        .nodes
        .iter()
        .map(|node| Process::start_idle(&files.toml(node)))
        .collect();
    let client = files.client().await;
    let store = client.store();
    let protect = Protect::extend(Retention {
        mode: RetentionMode::Compliance,
        until_ms: system::wall_ms() + 3_600_000,
    });
    let objects: Vec<_> = (0..6)
        .map(|i| (format!("b/{i}"), content(i * 300_000, i as u8)))
        .collect();
    for (key, content) in &objects {
        put(&store, key, content, Condition::Always).await.unwrap();
        store.protect(&Key::parse(key).unwrap(), protect).await.unwrap();
    }
    for process in &mut processes {
        process.kill();
        for (key, content) in &objects {
            let deleted = store.delete(&Key::parse(key).unwrap(), Condition::Always).await;
            let replaced = put(&store, key, b"other", Condition::Always).await;
            for refused in [deleted.map(drop), replaced.map(drop)] {
                assert!(
                    matches!(refused, Err(StoreError::Protected { .. })),
                    "{key} {refused:?}"
                );
            }
            assert_eq!(get(&store, key).await, *content, "{key}");
        }
        process.restart();
    }
    client.close().await;
    processes.iter_mut().for_each(Process::shutdown);
}
