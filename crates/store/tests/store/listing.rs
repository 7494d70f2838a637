//! Tests of listings against a plain model.

use std::collections::BTreeSet;

use store::{List, Listing, StoreError};
use store_protocol::Condition;
use store_testkit::{FaultMode, Rig};

use super::key;

/// Returns the expected listing, computed from all keys.
fn model(keys: &BTreeSet<String>, list: &List) -> (Vec<String>, Option<String>) {
    let mut entries = BTreeSet::new();
    for key in keys.iter().filter(|key| key.starts_with(&list.prefix)) {
        let rest = &key[list.prefix.len()..];
        let rolled = list.delimiter.as_ref().and_then(|delimiter| {
            rest.find(delimiter.as_str())
                .map(|at| key[..list.prefix.len() + at + delimiter.len()].to_owned())
        });
        entries.insert(rolled.unwrap_or_else(|| key.clone()));
    }
    let after = |entry: &String| list.after.as_ref().is_none_or(|after| entry > after);
    let found: Vec<_> = entries.into_iter().filter(after).collect();
    let page: Vec<_> = found.iter().take(list.limit).cloned().collect();
    let next = if found.len() > page.len() {
        page.last().cloned()
    } else {
        None
    };
    (page, next)
}

fn entries(listing: &Listing) -> Vec<String> {
    let objects = listing.objects.iter().map(|meta| meta.key.as_str().to_owned());
    let mut all: Vec<_> = objects.chain(listing.prefixes.iter().cloned()).collect();
    all.sort();
    all
}

async fn check(rig: &Rig, keys: &BTreeSet<String>, list: &List) {
    let mut list = list.clone();
    loop {
        let page = rig.store().list(&list).await.unwrap();
        let (expected, next) = model(keys, &list);
        assert_eq!(entries(&page), expected, "{list:?}");
        assert_eq!(page.next, next, "{list:?}");
        match page.next {
            Some(next) => list.after = Some(next),
            None => return,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_those_of_the_model() {
    let rig = Rig::new(5, 2);
    let mut keys = BTreeSet::new();
    let names = [
        "a",
        "b",
        "c/d",
        "c/e/f",
        "c/e/g",
        "c0",
        "c//",
        "x/\u{10ffff}",
        "x/\u{10ffff}/y",
        "x/z",
        "é/ü",
    ];
    let many = (0..150).map(|i| format!("many/{}/{i}", i % 7));
    for name in names.iter().map(ToString::to_string).chain(many) {
        rig.put(&key(&name), b"1").await.unwrap();
        keys.insert(format!("bucket/{name}"));
    }
    for name in ["b", "many/3/3", "many/3/10"] {
        rig.store().delete(&key(name), Condition::Always).await.unwrap();
        keys.remove(&format!("bucket/{name}"));
    }
    rig.volumes[2].set(FaultMode::Unreachable);
    let after = [
        None,
        Some("bucket/c"),
        Some("bucket/c/"),
        Some("bucket/c/e"),
        Some("bucket/many/3/"),
        Some("bucket/~"),
    ];
    for prefix in [
        "bucket/",
        "bucket/c",
        "bucket/c/",
        "bucket/many/",
        "bucket/x/",
        "other/",
    ] {
        for delimiter in [None, Some("/"), Some("e/"), Some("\u{10ffff}")] {
            for limit in [1, 3, 1000] {
                for after in after {
                    let list = List {
                        prefix: prefix.to_owned(),
                        delimiter: delimiter.map(str::to_owned),
                        after: after.map(str::to_owned),
                        limit,
                    };
                    if limit == 1 && prefix == "bucket/many/" && delimiter.is_none() {
                        continue;
                    }
                    check(&rig, &keys, &list).await;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_that_could_miss_something_is_refused() {
    let rig = Rig::new(5, 2);
    rig.put(&key("a"), b"1").await.unwrap();
    let list = List {
        prefix: "bucket/".to_owned(),
        limit: 10,
        ..List::default()
    };
    for moods in [
        [FaultMode::Unreachable, FaultMode::Rebuilding],
        [FaultMode::Frozen, FaultMode::Unreachable],
    ] {
        rig.volumes[0].set(moods[0].clone());
        assert_eq!(rig.store().list(&list).await.unwrap().objects.len(), 1);
        rig.volumes[1].set(moods[1].clone());
        let refused = rig.store().list(&list).await;
        assert!(
            matches!(refused, Err(StoreError::Unavailable { .. })),
            "{refused:?}"
        );
        rig.volumes.iter().for_each(|volume| volume.set(FaultMode::Well));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_version_is_listed() {
    let rig = Rig::new(4, 2);
    rig.put(&key("a"), b"old").await.unwrap();
    rig.home(&key("a"))[0].set(FaultMode::Unreachable);
    let meta = rig.put(&key("a"), b"new").await.unwrap();
    rig.home(&key("a"))[0].set(FaultMode::Well);
    let list = List {
        prefix: "bucket/".to_owned(),
        limit: 10,
        ..List::default()
    };
    assert_eq!(rig.store().list(&list).await.unwrap().objects, [meta]);
}
