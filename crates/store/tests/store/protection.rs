//! Write once, read many: a protected object stays, through any node and under any failure.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use store::{Complete, Put, Store, StoreError};
use store_protocol::{Condition, Key, Meta, Protect, Protection, Retention, RetentionChange, RetentionMode};
use store_testkit::rig::{body, read};
use store_testkit::{FaultMode, Rig};

use super::{content, key};

const HOUR_MS: u64 = 3_600_000;

fn until(mode: RetentionMode, from_now_ms: u64) -> Retention {
    Retention {
        mode,
        until_ms: system::wall_ms() + from_now_ms,
    }
}

fn compliance() -> Protect {
    Protect::extend(until(RetentionMode::Compliance, HOUR_MS))
}

fn hold(hold: bool) -> Protect {
    Protect {
        hold: Some(hold),
        ..Protect::default()
    }
}

fn lift() -> Protect {
    Protect {
        retention: RetentionChange::Set(None),
        hold: None,
        bypass_governance: true,
    }
}

async fn put(store: &Store, key: &Key, content: &[u8], protect: Protect) -> Result<Meta, StoreError> {
    let put = Put {
        protect,
        ..Put::default()
    };
    store.put(key, body(content), put).await
}

#[track_caller]
fn check_refused<T: std::fmt::Debug>(outcome: Result<T, StoreError>) {
    assert!(
        matches!(outcome, Err(StoreError::Protected { .. })),
        "{outcome:?}"
    );
}

/// Checks that no request through any node removes or replaces the object, and that refused writes
/// leave no upload.
async fn check_kept(rig: &Rig, key: &Key, expected: &[u8]) {
    for store in &rig.stores {
        check_refused(store.delete(key, Condition::Always).await);
        for size in [3, 1_500_000] {
            check_refused(put(store, key, &content(size, 77), Protect::default()).await);
        }
        assert_eq!(read(store, key, None).await.unwrap(), expected);
    }
    assert_eq!(rig.uploads(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_protected_is_kept_by_every_node() {
    let rig = Rig::new(4, 2);
    for (name, size) in [("small", 5), ("long", 1_500_000)] {
        for protect in [compliance(), hold(true)] {
            let (key, content) = (
                key(&format!("{name} {}", protect.hold.is_some())),
                content(size, 1),
            );
            let meta = put(rig.store(), &key, &content, protect).await.unwrap();
            assert!(
                Protection::of(&meta.attributes)
                    .in_force(system::wall_ms())
                    .is_some()
            );
            check_kept(&rig, &key, &content).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_there_is_protected_afterwards_and_stays_the_same_to_clients() {
    let rig = Rig::new(4, 2);
    let attributes = [("content-type".to_owned(), "a/b".to_owned())];
    let with_type = Put {
        attributes: attributes.into(),
        etag: Some("of parts-2".to_owned()),
        ..Put::default()
    };
    let before = rig
        .store()
        .put(&key("a"), body(b"content"), with_type)
        .await
        .unwrap();
    let after = rig.stores[1].protect(&key("a"), compliance()).await.unwrap();
    assert_eq!(after.etag, before.etag);
    assert_eq!(after.attributes["content-type"], "a/b");
    assert_eq!(after.attributes["weft-made"], before.version.millis.to_string());
    check_kept(&rig, &key("a"), b"content").await;
    let again = Protect::extend(until(RetentionMode::Governance, 1));
    let again = rig.store().protect(&key("a"), again).await.unwrap();
    assert_eq!(
        again, after,
        "nothing had to be extended, so nothing must be written"
    );
    let missing = rig.store().protect(&key("b"), compliance()).await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound(_)), "{missing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn governance_is_lifted_by_those_who_may_and_compliance_by_nobody() {
    let rig = Rig::new(4, 2);
    let governance = Protect::extend(until(RetentionMode::Governance, HOUR_MS));
    put(rig.store(), &key("a"), b"1", governance).await.unwrap();
    let not_allowed = Protect {
        bypass_governance: false,
        ..lift()
    };
    check_refused(rig.store().protect(&key("a"), not_allowed).await);
    check_kept(&rig, &key("a"), b"1").await;
    rig.store().protect(&key("a"), lift()).await.unwrap();
    rig.put(&key("a"), b"2").await.unwrap();
    rig.store().protect(&key("a"), compliance()).await.unwrap();
    check_refused(rig.store().protect(&key("a"), lift()).await);
    // The decider itself refuses, not only the process that sends the request.
    check_refused(put(&rig.stores[2], &key("a"), b"2", lift()).await);
    rig.store().protect(&key("a"), hold(true)).await.unwrap();
    rig.store().protect(&key("a"), hold(false)).await.unwrap();
    check_kept(&rig, &key("a"), b"2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_content_with_other_attributes_keeps_its_protection() {
    let rig = Rig::new(4, 2);
    let store = rig.store();
    let meta = put(store, &key("a"), b"content", compliance()).await.unwrap();
    let kept = Protection::of(&meta.attributes);
    let claimed = [(
        "weft-retain-until".to_owned(),
        "1970-01-01T00:00:00.000Z".to_owned(),
    )];
    for attributes in [None, Some([].into()), Some(claimed.into())] {
        let copied = store
            .copy(&key("a"), &key("a"), attributes, Condition::Always)
            .await
            .unwrap();
        assert_eq!(Protection::of(&copied.attributes), kept);
    }
    let same = rig.put(&key("a"), b"content").await.unwrap();
    assert_eq!(Protection::of(&same.attributes), kept);
    // A copy under another key is a separate object and is not protected, even if the client's
    // attributes claim protection.
    let copy = store
        .copy(&key("a"), &key("b"), None, Condition::Always)
        .await
        .unwrap();
    assert_eq!(Protection::of(&copy.attributes), Protection::default());
    store.delete(&key("b"), Condition::Always).await.unwrap();
    check_kept(&rig, &key("a"), b"content").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_in_parts_does_not_replace_what_is_protected() {
    let rig = Rig::new(4, 2);
    let store = rig.store();
    put(store, &key("a"), b"content", compliance()).await.unwrap();
    let upload = store.create_multipart(&key("a"), [].into()).await.unwrap();
    let part = store
        .put_part(&key("a"), &upload.id, 1, body(b"other"), Put::default())
        .await
        .unwrap();
    let complete = Complete {
        parts: vec![(1, part.etag)],
        ..Complete::default()
    };
    check_refused(store.complete_multipart(&key("a"), &upload.id, complete).await);
    store.abort_multipart(&key("a"), &upload.id).await.unwrap();
    check_kept(&rig, &key("a"), b"content").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_ended_no_longer_protects() {
    let rig = Rig::new(4, 2);
    let short = Protect::extend(until(RetentionMode::Compliance, 700));
    put(rig.store(), &key("a"), b"1", short).await.unwrap();
    check_refused(rig.store().delete(&key("a"), Condition::Always).await);
    tokio::time::sleep(Duration::from_millis(800)).await;
    let replaced = rig.put(&key("a"), b"2").await.unwrap();
    assert_eq!(Protection::of(&replaced.attributes), Protection::default());
    rig.store()
        .delete(&key("a"), Condition::Always)
        .await
        .unwrap()
        .unwrap();
}

/// A failed condition is reported before a protection: a client with a wrong condition learns only
/// that.
#[tokio::test(flavor = "multi_thread")]
async fn conditions_come_first() {
    let rig = Rig::new(4, 2);
    put(rig.store(), &key("a"), b"1", hold(true)).await.unwrap();
    let other = Condition::Etag("other".to_owned());
    let error = rig.store().delete(&key("a"), other).await.unwrap_err();
    assert!(matches!(error, StoreError::Condition { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_with_something_protected_is_not_removed() {
    let rig = Rig::new(4, 2);
    let store = rig.store();
    store.make_bucket("bucket", [].into()).await.unwrap();
    put(store, &key("a"), b"1", compliance()).await.unwrap();
    let error = store.remove_bucket("bucket").await.unwrap_err();
    assert!(
        matches!(error, store::bucket::BucketError::NotEmpty(_)),
        "{error}"
    );
}

/// The node that decided is killed: the next decider finds the protection when it looks at the key.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_decider_keeps_it_too() {
    let rig = Rig::of_nodes(4, 1, 2);
    put(&rig.store_of(0), &key("a"), b"1", compliance())
        .await
        .unwrap();
    for killed in 0..4 {
        rig.net.kill(killed);
        let store = rig.store_of((killed + 1) % 4);
        check_refused(store.delete(&key("a"), Condition::Always).await);
        check_refused(put(&store, &key("a"), b"2", Protect::default()).await);
        assert_eq!(read(&store, &key("a"), None).await.unwrap(), b"1");
        rig.restart(killed);
    }
}

/// Random writes, deletions and changes of protection while volumes fail, compared with a model of
/// one value.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_with_failing_volumes_keeps_what_is_protected() {
    for seed in 0..20 {
        println!("seed {seed}");
        let mut random = StdRng::seed_from_u64(seed);
        let rig = Rig::new(random.random_range(4..=6), 2);
        let mut model: Option<(u8, Protection)> = None;
        for _ in 0..40 {
            for volume in &rig.volumes {
                volume.set(FaultMode::Well);
            }
            if random.random() {
                let fault_mode = [FaultMode::Unreachable, FaultMode::Out, FaultMode::Full]
                    .choose(&mut random)
                    .unwrap()
                    .clone();
                rig.volumes.choose(&mut random).unwrap().set(fault_mode);
            }
            let store = rig.stores.choose(&mut random).unwrap();
            let (now_ms, before) = (system::wall_ms(), model);
            let protect = protect(&mut random, now_ms);
            let in_force = model.and_then(|(_, protection)| protection.in_force(now_ms));
            let (expected, outcome) = match random.random_range(0..3) {
                0 => {
                    let expected = in_force.map_or(Ok(None), Err);
                    let deleted = store.delete(&key("a"), Condition::Always).await;
                    (expected, deleted.map(|_| None))
                }
                1 => {
                    let byte = random.random_range(0..2);
                    let of_same = model.filter(|(content, _)| *content == byte);
                    let before = of_same.map(|(_, protection)| protection);
                    let expected = match (before, in_force) {
                        (None, Some(in_force)) => Err(in_force),
                        (before, _) => before.unwrap_or_default().changed(&protect, now_ms),
                    };
                    let put = put(store, &key("a"), &[byte], protect).await;
                    let after = |protection| Some((byte, protection));
                    (
                        expected.map(after),
                        put.map(|meta| after(Protection::of(&meta.attributes))),
                    )
                }
                _ => {
                    let Some((byte, protection)) = model else { continue };
                    let after = |protection| Some((byte, protection));
                    let protected = store.protect(&key("a"), protect).await;
                    (
                        protection.changed(&protect, now_ms).map(after),
                        protected.map(|meta| after(Protection::of(&meta.attributes))),
                    )
                }
            };
            match (expected, outcome) {
                (Ok(after), Ok(found)) if after == found => model = after,
                (Err(expected), Err(StoreError::Protected { protection, .. })) if expected == protection => {}
                (expected, outcome) => {
                    panic!("seed {seed}: {before:?} {protect:?}: {outcome:?}, expected {expected:?}")
                }
            }
            let found = match read(store, &key("a"), None).await {
                Ok(found) => Some(found[0]),
                Err(StoreError::NotFound(_)) => None,
                Err(error) => panic!("seed {seed}: {error}"),
            };
            assert_eq!(found, model.map(|(byte, _)| byte), "seed {seed}");
        }
    }
}

/// Returns a random change. The ends are hours in the past or the future, so that the test's clock
/// and the decider's agree about them.
fn protect(random: &mut StdRng, now_ms: u64) -> Protect {
    let hours = random.random_range(0..4);
    let retention = Retention {
        // Rarely, because nothing more can happen once it is in force.
        mode: if random.random_ratio(1, 8) {
            RetentionMode::Compliance
        } else {
            RetentionMode::Governance
        },
        until_ms: now_ms - 2 * HOUR_MS + hours * HOUR_MS + HOUR_MS / 2,
    };
    Protect {
        retention: match random.random_range(0..4) {
            0 => RetentionChange::Keep,
            1 => RetentionChange::Extend(retention),
            2 => RetentionChange::Set(Some(retention)),
            _ => RetentionChange::Set(None),
        },
        hold: [None, Some(true), Some(false), Some(false)]
            .choose(random)
            .copied()
            .flatten(),
        bypass_governance: random.random(),
    }
}
