//! Tests of buckets over volumes in memory.

use std::collections::BTreeMap;

use store_protocol::Key;
use store_testkit::Rig;

use store::bucket::{Bucket, BucketError, check_name};

fn attributes(value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("weft-owner".to_owned(), value.to_owned())])
}

#[test]
fn names_are_those_of_s3() {
    for name in ["abc", "a.b", "0-9", "a--b", "crawls-2014", &"a".repeat(63)] {
        assert!(check_name(name).is_ok(), "{name:?}");
    }
    for name in [
        "",
        "a",
        "ab",
        ".s3",
        ".uploads",
        "a..b",
        "-ab",
        "ab-",
        "ab.",
        "aBc",
        "a_b",
        "a/b",
        "äbc",
        "10.0.0.1",
        "xn--abc",
        &"a".repeat(64),
    ] {
        assert!(matches!(check_name(name), Err(BucketError::Name(_))), "{name:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn made_once_seen_by_all_and_removed_when_empty() {
    let rig = Rig::new(3, 2);
    let store = rig.store();
    let made = store.make_bucket("one", attributes("a")).await.unwrap().unwrap();
    assert_eq!(store.make_bucket("one", attributes("b")).await.unwrap(), None);
    assert!(!store.ensure_bucket("one").await.unwrap());
    assert!(store.ensure_bucket("two").await.unwrap());
    assert!(matches!(
        store.ensure_bucket("to").await,
        Err(BucketError::Name(_))
    ));
    assert_eq!(store.bucket("one").await.unwrap(), Some(made));
    assert_eq!(store.bucket("three").await.unwrap(), None);

    let page = store.buckets("", None, 1).await.unwrap();
    assert_eq!(page.buckets[0].attributes, attributes("a"));
    let rest = store.buckets("", page.next.as_deref(), 1).await.unwrap();
    assert_eq!((rest.buckets[0].name.as_str(), rest.next), ("two", None));
    assert_eq!(store.buckets("o", None, 9).await.unwrap().buckets.len(), 1);

    let key = Key::new("one", "k").unwrap();
    rig.put(&key, b"1").await.unwrap();
    let upload = store
        .create_multipart(&Key::new("two", "u").unwrap(), BTreeMap::new())
        .await;
    assert!(matches!(
        store.remove_bucket("one").await,
        Err(BucketError::NotEmpty(_))
    ));
    store.remove_bucket("two").await.unwrap();
    assert!(
        upload.is_ok() && rig.uploads() == 0,
        "the upload must be aborted with its bucket"
    );
    assert!(matches!(
        store.remove_bucket("two").await,
        Err(BucketError::Missing(_))
    ));
}

/// Older releases made buckets only through S3, so objects may have no bucket.
#[tokio::test(flavor = "multi_thread")]
async fn objects_without_a_bucket_are_told() {
    let rig = Rig::new(2, 2);
    for key in ["old/k", "o/k", "new/k", ".uploads/x", "a-b/k"] {
        rig.put(&Key::parse(key).unwrap(), b"1").await.unwrap();
    }
    for bucket in ["new", "empty", "a-b"] {
        rig.store().ensure_bucket(bucket).await.unwrap();
    }
    let all = rig.store().all_buckets().await.unwrap();
    let told: Vec<_> = all
        .iter()
        .map(|(name, bucket)| (name.as_str(), bucket.is_some()))
        .collect();
    assert_eq!(
        told,
        [
            ("a-b", true),
            ("empty", true),
            ("new", true),
            ("o", false),
            ("old", false)
        ]
    );
}

/// Twenty tasks change one bucket at the same time: no change is lost, and its creation time stays.
#[tokio::test(flavor = "multi_thread")]
async fn changes_follow_each_other() {
    let rig = Rig::new(3, 2);
    let store = rig.store();
    let made = store.make_bucket("one", attributes("a")).await.unwrap().unwrap();
    let changes = (0..20).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            let insert = |bucket: &Bucket| {
                let mut attributes = bucket.attributes.clone();
                attributes.insert(format!("n{number}"), "1".to_owned());
                Ok::<_, ()>(attributes)
            };
            store.change_bucket("one", insert).await
        })
    });
    for change in changes.collect::<Vec<_>>() {
        change.await.unwrap().unwrap().unwrap();
    }
    let changed = store.bucket("one").await.unwrap().unwrap();
    assert_eq!(
        (changed.created_ms, changed.attributes.len()),
        (made.created_ms, 21)
    );
    assert!(matches!(
        store.change_bucket("two", |_| Err(())).await,
        Err(BucketError::Missing(_))
    ));
    assert_eq!(store.change_bucket("one", |_| Err(1)).await.unwrap(), Err(1));
}
