//! Tests of uploads in parts.

use std::collections::BTreeMap;
use std::time::Duration;

use digests::Md5;
use store::{Complete, List, Put, StoreError};
use store_protocol::Condition;
use store_testkit::rig::{body, read};
use store_testkit::{FaultMode, Rig};

use super::{content, key};

fn with(parts: &[(u32, &str)]) -> Complete {
    Complete {
        parts: parts
            .iter()
            .map(|(number, etag)| (*number, (*etag).to_owned()))
            .collect(),
        ..Complete::default()
    }
}

/// Returns the number of objects in the hidden bucket.
async fn hidden(rig: &Rig) -> usize {
    let prefix = ".uploads/".to_owned();
    let list = List {
        prefix,
        limit: 100,
        ..List::default()
    };
    rig.store().list(&list).await.unwrap().objects.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_become_one_object() {
    let rig = Rig::new(4, 2);
    let (store, key) = (rig.store(), key("a/b"));
    let attributes = BTreeMap::from([("content-type".to_owned(), "a/b".to_owned())]);
    let upload = store.create_multipart(&key, attributes).await.unwrap();
    assert_eq!(store.multipart(&key, &upload.id).await.unwrap(), upload);
    let (first, second) = (content(1_500_000, 1), content(70_000, 2));
    let two = store
        .put_part(&key, &upload.id, 20, body(&second), Put::default())
        .await
        .unwrap();
    store
        .put_part(&key, &upload.id, 3, body(b"replaced"), Put::default())
        .await
        .unwrap();
    let one = store
        .put_part(&key, &upload.id, 3, body(&first), Put::default())
        .await
        .unwrap();
    store
        .put_part(&key, &upload.id, 30, body(b"not named"), Put::default())
        .await
        .unwrap();
    assert!(matches!(store.head(&key).await, Err(StoreError::NotFound(_))));

    let page = store.list_parts(&key, &upload.id, 0, 2).await.unwrap();
    assert_eq!(
        page.parts.iter().map(|part| part.number).collect::<Vec<_>>(),
        [3, 20]
    );
    assert_eq!((page.parts[0].meta.clone(), page.more), (one.clone(), true));
    let page = store.list_parts(&key, &upload.id, 20, 2).await.unwrap();
    assert_eq!((page.parts[0].number, page.more), (30, false));

    let wrong = [
        with(&[]),
        with(&[(20, &two.etag), (3, &one.etag)]),
        with(&[(3, "other")]),
        with(&[(4, &one.etag)]),
    ];
    for complete in wrong {
        let refused = store.complete_multipart(&key, &upload.id, complete).await;
        assert!(matches!(refused, Err(StoreError::Part { .. })), "{refused:?}");
    }
    let complete = with(&[(3, &one.etag), (20, &two.etag)]);
    let meta = store
        .complete_multipart(&key, &upload.id, complete)
        .await
        .unwrap();
    let md5s = [Md5::of(&first), Md5::of(&second)].concat();
    assert_eq!(
        meta.etag,
        format!("{}-2", data_encoding::HEXLOWER.encode(&Md5::of(&md5s)))
    );
    assert_eq!(meta.attributes["content-type"], "a/b");
    assert!(read(store, &key, None).await.unwrap() == [first, second].concat());
    assert_eq!(hidden(&rig).await, 0);
    let again = store
        .complete_multipart(&key, &upload.id, with(&[(3, &one.etag)]))
        .await;
    assert!(matches!(again, Err(StoreError::NoMultipart { .. })), "{again:?}");
}

/// There is no space for the second copy of the joined object: no part of it becomes visible, and
/// the upload stays open.
#[tokio::test(flavor = "multi_thread")]
async fn a_completion_that_cannot_be_made_safe_leaves_the_upload_open() {
    let rig = Rig::new(2, 2);
    let (store, key) = (rig.store(), key("a"));
    for condition in [Condition::Always, Condition::Absent] {
        let upload = store.create_multipart(&key, BTreeMap::new()).await.unwrap();
        let content = content(2_500_000, 1);
        let part = store
            .put_part(&key, &upload.id, 1, body(&content), Put::default())
            .await
            .unwrap();
        let complete = || Complete {
            condition: condition.clone(),
            ..with(&[(1, &part.etag)])
        };
        rig.home(&key)[1].set(FaultMode::Full);
        let refused = store.complete_multipart(&key, &upload.id, complete()).await;
        assert!(matches!(refused, Err(StoreError::Full { .. })), "{refused:?}");
        assert!(rig.holders(&key).is_empty());
        assert_eq!(rig.uploads(), 0);
        rig.home(&key)[1].set(FaultMode::Well);
        store
            .complete_multipart(&key, &upload.id, complete())
            .await
            .unwrap();
        assert!(read(store, &key, None).await.unwrap() == content);
        store.delete(&key, Condition::Always).await.unwrap();
        rig.volumes.iter().for_each(|volume| volume.wipe());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_does_not_hold_leaves_the_upload_open() {
    let rig = Rig::new(3, 2);
    let (store, key) = (rig.store(), key("a"));
    let upload = store.create_multipart(&key, BTreeMap::new()).await.unwrap();
    let part = store
        .put_part(&key, &upload.id, 1, body(b"part"), Put::default())
        .await
        .unwrap();
    rig.put(&key, b"there").await.unwrap();
    let complete = Complete {
        condition: Condition::Absent,
        ..with(&[(1, &part.etag)])
    };
    let refused = store.complete_multipart(&key, &upload.id, complete).await;
    assert!(
        matches!(refused, Err(StoreError::Condition { .. })),
        "{refused:?}"
    );
    assert_eq!(rig.get(&key).await.unwrap(), b"there");
    store
        .complete_multipart(&key, &upload.id, with(&[(1, &part.etag)]))
        .await
        .unwrap();
    assert_eq!(rig.get(&key).await.unwrap(), b"part");
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_are_listed_given_up_and_expire() {
    let rig = Rig::new(3, 2);
    let store = rig.store();
    let mut ids = Vec::new();
    for name in ["a", "a/b", "b"] {
        let upload = store.create_multipart(&key(name), BTreeMap::new()).await.unwrap();
        store
            .put_part(&key(name), &upload.id, 1, body(b"part"), Put::default())
            .await
            .unwrap();
        ids.push(upload.id);
    }
    let keys = async |prefix: &str| {
        let (mut keys, mut after) = (Vec::new(), None);
        loop {
            let page = store.list_multiparts(prefix, after.as_deref(), 1).await.unwrap();
            keys.extend(page.open.into_iter().map(|upload| upload.key.name().to_owned()));
            after = page.next;
            if after.is_none() {
                keys.sort();
                return keys;
            }
        }
    };
    assert_eq!(keys("bucket/").await, ["a", "a/b", "b"]);
    assert_eq!(keys("bucket/a").await, ["a", "a/b"]);
    assert_eq!(keys("bucket/a/").await, ["a/b"]);
    store.abort_multipart(&key("a"), &ids[0]).await.unwrap();
    assert!(matches!(
        store.abort_multipart(&key("a"), &ids[0]).await,
        Err(StoreError::NoMultipart { .. })
    ));
    let late = store
        .put_part(&key("a"), &ids[0], 2, body(b"late"), Put::default())
        .await;
    assert!(matches!(late, Err(StoreError::NoMultipart { .. })), "{late:?}");
    assert!(matches!(
        store.multipart(&key("a"), "../../x").await,
        Err(StoreError::NoMultipart { .. })
    ));
    assert_eq!(keys("bucket/").await, ["a/b", "b"]);
    assert_eq!(
        store.expire_multiparts(Duration::from_secs(3600)).await.unwrap(),
        0
    );
    assert_eq!(hidden(&rig).await, 4);
    // A part is removed if its upload no longer exists.
    store
        .delete(
            &store_protocol::Key::new(".uploads", &format!("u/bucket/b/{}", ids[2])).unwrap(),
            Condition::Always,
        )
        .await
        .unwrap();
    assert_eq!(store.expire_multiparts(Duration::ZERO).await.unwrap(), 1);
    assert_eq!(hidden(&rig).await, 0);
}
