//! Tests of writes: an acknowledged write is safe, a refused one leaves nothing.

use std::sync::Arc;

use futures_util::stream;
use parking_lot::Mutex;
use store::{Damage, Put, StoreError};
use store_protocol::{Condition, Key, Meta, Volume, VolumeError};
use store_testkit::rig::{body, read};
use store_testkit::{FaultMode, MemoryVolume, Rig, Step};

use super::{content, key};

const SIZES: [usize; 6] = [0, 1, 70_000, 1_048_576, 1_048_577, 3_000_000];

/// Checks that the object reads back from every holder, on R volumes, one of them at home, and that
/// no upload is left.
async fn check_safe(rig: &Rig, meta: &Meta, expected: &[u8], replicas: usize) {
    let holders = rig.holders(&meta.key);
    assert!(holders.len() >= replicas, "{} holders", holders.len());
    assert!(
        rig.home(&meta.key)
            .iter()
            .any(|home| holders.iter().any(|holder| holder.id() == home.id()))
    );
    for holder in holders {
        assert_eq!(holder.content(&meta.key).as_deref(), Some(expected));
        assert_eq!(holder.held(&meta.key).unwrap().meta, *meta);
    }
    assert_eq!(rig.uploads(), 0);
    assert_eq!(rig.get(&meta.key).await.unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_of_all_sizes_come_back() {
    let rig = Rig::new(5, 2);
    for size in SIZES {
        let key = key(&format!("of {size}"));
        let content = content(size, 1);
        let meta = rig.put(&key, &content).await.unwrap();
        assert_eq!(meta.size, size as u64);
        assert_eq!(meta.digests.blake3, *blake3::hash(&content).as_bytes());
        assert_eq!(meta.digests.md5, digests::Md5::of(&content));
        assert_eq!(meta.digests.sha256, digests::Sha256::of(&content));
        assert_eq!(meta.etag, data_encoding::HEXLOWER.encode(&meta.digests.md5));
        check_safe(&rig, &meta, &content, 2).await;
        assert_eq!(rig.store().head(&key).await.unwrap(), meta);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_volume_is_enough_for_a_store_of_one() {
    let rig = Rig::new(1, 2);
    let meta = rig.put(&key("a"), b"content").await.unwrap();
    check_safe(&rig, &meta, b"content", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_differs_from_its_declaration_leaves_nothing() {
    let rig = Rig::new(4, 2);
    for size in [10, 2_000_000] {
        let content = content(size, 2);
        let wrong: [fn(&mut Put); 5] = [
            |put| put.size = Some(9),
            |put| put.size = Some(3_000_000),
            |put| put.md5 = Some([0; 16]),
            |put| put.sha256 = Some([0; 32]),
            |put| put.finisher = Some(Box::new(|_, _, _| Err("crc32 differs".into()))),
        ];
        for (case, spoil) in wrong.into_iter().enumerate() {
            for condition in [Condition::Always, Condition::Absent] {
                let mut put = Put {
                    condition,
                    ..Put::default()
                };
                spoil(&mut put);
                let error = rig.store().put(&key("a"), body(&content), put).await.unwrap_err();
                assert!(
                    matches!(error, StoreError::Declared { .. } | StoreError::Refused { .. }),
                    "case {case}: {error}"
                );
                assert_eq!(rig.uploads(), 0);
                assert!(rig.holders(&key("a")).is_empty());
            }
        }
        let broken = stream::iter([
            Ok(bytes::Bytes::from(content)),
            Err(std::io::Error::other("the line is dead")),
        ]);
        let error = rig
            .store()
            .put(&key("a"), Box::pin(broken), Put::default())
            .await
            .unwrap_err();
        assert!(matches!(error, StoreError::Body { .. }), "{error}");
        assert_eq!(rig.uploads(), 0);
        assert!(matches!(
            rig.store().head(&key("a")).await,
            Err(StoreError::NotFound(_))
        ));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finisher_sees_the_digests_and_adds_attributes() {
    let rig = Rig::new(2, 2);
    let put = Put {
        attributes: [("content-type".to_owned(), "text/plain".to_owned())].into(),
        finisher: Some(Box::new(|digests, size, attributes| {
            attributes.insert("x".to_owned(), format!("{size} {:x?}", digests.md5[0]));
            Ok(())
        })),
        ..Put::default()
    };
    let meta = rig.store().put(&key("a"), body(b"abc"), put).await.unwrap();
    assert_eq!(meta.attributes["x"], "3 90");
    assert_eq!(meta.attributes["content-type"], "text/plain");
}

/// Every step of a write fails once on each home volume: the write continues on another volume.
#[tokio::test(flavor = "multi_thread")]
async fn a_volume_that_fails_at_any_step_is_replaced() {
    for size in [1000, 2_500_000] {
        for condition in [Condition::Always, Condition::Absent] {
            for step in [Step::Receive, Step::Prepare, Step::Commit] {
                for victim in 0..2 {
                    let rig = Rig::new(5, 2);
                    let content = content(size, victim as u8);
                    rig.home(&key("a"))[victim].fail_at(step, 1);
                    let put = Put {
                        condition: condition.clone(),
                        ..Put::default()
                    };
                    let meta = rig.store().put(&key("a"), body(&content), put).await.unwrap();
                    check_safe(&rig, &meta, &content, 2).await;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_volume_that_is_out_is_noted_as_damage() {
    for fault_mode in [FaultMode::Unreachable, FaultMode::Out, FaultMode::Full] {
        for size in [1000, 2_500_000] {
            let rig = Rig::new(5, 2);
            let told = Arc::new(Mutex::new(Vec::<Damage>::new()));
            // The node that decides reports it.
            for store in &rig.stores {
                let list = told.clone();
                store.on_damage(move |damage| list.lock().push(damage));
            }
            let victim = rig.home(&key("a"))[1].clone();
            victim.set(fault_mode.clone());
            let content = content(size, 3);
            let meta = rig.put(&key("a"), &content).await.unwrap();
            check_safe(&rig, &meta, &content, 2).await;
            let told = told.lock();
            assert!(
                told.iter()
                    .any(|damage| damage.volume == *victim.id() && damage.key == key("a"))
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_home_nothing_is_written() {
    for size in [1000, 2_500_000] {
        for condition in [Condition::Always, Condition::Absent] {
            let rig = Rig::new(5, 2);
            rig.home(&key("a"))
                .iter()
                .for_each(|volume| volume.set(FaultMode::Unreachable));
            let put = Put {
                condition,
                ..Put::default()
            };
            let error = rig
                .store()
                .put(&key("a"), body(&content(size, 4)), put)
                .await
                .unwrap_err();
            assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
            rig.volumes.iter().for_each(|volume| volume.set(FaultMode::Well));
            assert_eq!(rig.uploads(), 0);
            assert!(rig.holders(&key("a")).is_empty());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn full_volumes_say_so() {
    let rig = Rig::new(3, 2);
    rig.volumes.iter().for_each(|volume| volume.set(FaultMode::Full));
    for size in [1000, 2_500_000] {
        let error = rig.put(&key("a"), &content(size, 5)).await.unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        assert_eq!(rig.uploads(), 0);
    }
}

/// Ways in which a write of two copies finds only one volume that takes its content, at different
/// steps.
const SHORTAGES: [(FaultMode, Option<Step>); 5] = [
    (FaultMode::Full, None),
    (FaultMode::Unreachable, None),
    (FaultMode::Out, None),
    (FaultMode::Well, Some(Step::Receive)),
    (FaultMode::Well, Some(Step::Prepare)),
];

/// Makes the volume take no content, for lack of space unless it does not answer.
fn shorten(volume: &Arc<MemoryVolume>, (fault_mode, step): &(FaultMode, Option<Step>)) {
    volume.set(fault_mode.clone());
    if let Some(step) = step {
        let id = volume.id().clone();
        let detail = "the last block went to somebody else".to_owned();
        volume.fail_at_with(*step, 1, VolumeError::Full { volume: id, detail });
    }
}

/// Checks that a write was refused for `shortage`, and left everything unchanged.
async fn check_refused<T: std::fmt::Debug>(
    rig: &Rig,
    key: &Key,
    shortage: &(FaultMode, Option<Step>),
    outcome: Result<T, StoreError>,
    before: Option<&[u8]>,
) {
    let text = format!("{key} with {shortage:?}: {outcome:?}");
    match shortage.0 {
        FaultMode::Full | FaultMode::Well => {
            assert!(matches!(outcome, Err(StoreError::Full { .. })), "{text}")
        }
        _ => assert!(matches!(outcome, Err(StoreError::Unavailable { .. })), "{text}"),
    }
    for volume in &rig.volumes {
        volume.set(FaultMode::Well);
        volume.clear_failures();
        assert_eq!(volume.content(key).as_deref(), before, "{text}");
    }
    assert_eq!(rig.uploads(), 0, "{text}");
}

/// Regression test: a put too long for one request was committed where possible, and only then
/// lacked its second copy. It was refused, but visible.
#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_cannot_be_made_safe_leaves_nothing() {
    for shortage in SHORTAGES {
        for size in [1000, 2_500_000] {
            for victim in 0..2 {
                for condition in [Condition::Always, Condition::Absent] {
                    let rig = Rig::new(2, 2);
                    shorten(rig.home(&key("a"))[victim], &shortage);
                    let put = Put {
                        condition,
                        ..Put::default()
                    };
                    let outcome = rig.store().put(&key("a"), body(&content(size, 6)), put).await;
                    check_refused(&rig, &key("a"), &shortage, outcome, None).await;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overwrite_that_cannot_be_made_safe_leaves_what_was_there() {
    let rig = Rig::new(2, 2);
    rig.put(&key("a"), b"before").await.unwrap();
    for shortage in SHORTAGES {
        for size in [1000, 2_500_000] {
            shorten(rig.home(&key("a"))[1], &shortage);
            let outcome = rig.put(&key("a"), &content(size, 7)).await;
            check_refused(&rig, &key("a"), &shortage, outcome, Some(b"before")).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_cannot_be_made_safe_leaves_nothing() {
    let rig = Rig::new(2, 2);
    rig.put(&key("a"), &content(2_500_000, 8)).await.unwrap();
    for shortage in SHORTAGES {
        shorten(rig.home(&key("b"))[1], &shortage);
        let outcome = rig
            .store()
            .copy(&key("a"), &key("b"), None, Condition::Always)
            .await;
        check_refused(&rig, &key("b"), &shortage, outcome, None).await;
    }
}

/// The copy comes from another upload: nothing is committed before that, and no committed version
/// is read.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_upload_is_made_up_for_from_another_upload() {
    for step in [Step::Receive, Step::Prepare] {
        for condition in [Condition::Always, Condition::Absent] {
            let rig = Rig::new(5, 2);
            let content = content(2_500_000, 9);
            let home: Vec<_> = rig.home(&key("a")).into_iter().cloned().collect();
            home[1].fail_at(step, 1);
            let put = Put {
                condition,
                ..Put::default()
            };
            let meta = rig.store().put(&key("a"), body(&content), put).await.unwrap();
            assert_eq!(home[0].calls(Step::ReadUpload), 1);
            assert!(rig.volumes.iter().all(|volume| volume.calls(Step::Read) == 0));
            check_safe(&rig, &meta, &content, 2).await;
        }
    }
}

/// A disk that hangs takes no content and gives no answer: the put does not wait for it forever.
#[tokio::test(flavor = "multi_thread")]
async fn a_volume_that_stands_still_during_an_upload_is_replaced() {
    let rig = Rig::new(4, 2);
    let key = key("long");
    let content = content(4_000_000, 1);
    let frozen = rig.home(&key)[0].clone();
    let pieces: Vec<_> = content
        .chunks(100_000)
        .map(bytes::Bytes::copy_from_slice)
        .collect();
    let body = stream::iter(pieces.into_iter().enumerate().map({
        let frozen = frozen.clone();
        move |(i, piece)| {
            if i == 20 {
                frozen.set(FaultMode::Frozen);
            }
            Ok(piece)
        }
    }));
    let meta = rig
        .store()
        .put(&key, Box::pin(body), Put::default())
        .await
        .unwrap();
    assert!(rig.holders(&key).iter().all(|holder| holder.id() != frozen.id()));
    assert_eq!(rig.holders(&key).len(), 2);
    assert_eq!(rig.get(&meta.key).await.unwrap(), content);
}

/// An upload whose bytes do not read back as they were sent is not a copy: it is aborted, and
/// another volume replaces it if possible.
#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_reads_back_wrong_is_given_up() {
    for replicas in [2, 3] {
        let rig = Rig::new(6, replicas);
        let content = content(2_500_000, 10);
        let home: Vec<_> = rig.home(&key("a")).into_iter().cloned().collect();
        home[usize::from(replicas) - 1].fail_at(Step::Receive, 1);
        home[0].cut_reads(Some(1_000_000));
        let outcome = rig.put(&key("a"), &content).await;
        home[0].cut_reads(None);
        if replicas == 2 {
            assert!(
                matches!(outcome, Err(StoreError::Unavailable { .. })),
                "{outcome:?}"
            );
            assert!(rig.holders(&key("a")).is_empty());
            assert_eq!(rig.uploads(), 0);
        } else {
            check_safe(&rig, &outcome.unwrap(), &content, 3).await;
            assert_eq!(home[0].content(&key("a")), None);
        }
    }
}

/// The reason is `Full` if too few volumes would be left even if all others worked. Otherwise it
/// names the volumes that do not answer.
#[tokio::test(flavor = "multi_thread")]
async fn the_reason_given_is_what_would_have_to_change() {
    for size in [1000, 2_500_000] {
        let rig = Rig::new(3, 2);
        let content = content(size, 11);
        rig.home(&key("a"))[0].set(FaultMode::Unreachable);
        rig.home(&key("a"))[1].set(FaultMode::Full);
        let error = rig.put(&key("a"), &content).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
        rig.volumes.iter().for_each(|volume| volume.set(FaultMode::Full));
        rig.home(&key("a"))[1].set(FaultMode::Unreachable);
        let error = rig.put(&key("a"), &content).await.unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_volume_of_two_is_not_enough() {
    let rig = Rig::new(2, 2);
    rig.volumes[0].set(FaultMode::Unreachable);
    for size in [1000, 2_500_000] {
        let error = rig.put(&key("a"), &content(size, 6)).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
        assert_eq!(rig.uploads(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_refused_for_its_layout_is_asked_again() {
    for size in [1000, 2_500_000] {
        for step in [Step::Receive, Step::Prepare, Step::Commit, Step::Head] {
            let rig = Rig::new(4, 2);
            let home = rig.home(&key("a"))[0].clone();
            let (ours, theirs) = (1, 2);
            home.fail_at_with(
                step,
                1,
                VolumeError::OtherLayout {
                    volume: home.id().clone(),
                    ours,
                    theirs,
                },
            );
            let content = content(size, 7);
            let meta = rig.put(&key("a"), &content).await.unwrap();
            check_safe(&rig, &meta, &content, 2).await;
            assert!(home.content(&key("a")).is_some(), "{step:?} of {size}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deletes_are_versions() {
    let rig = Rig::new(5, 2);
    let store = rig.store();
    assert_eq!(store.delete(&key("a"), Condition::Always).await.unwrap(), None);
    rig.put(&key("a"), b"1").await.unwrap();
    // One copy misses the deletion; it must not reappear.
    rig.home(&key("a"))[1].set(FaultMode::Unreachable);
    let tombstone = store.delete(&key("a"), Condition::Always).await.unwrap().unwrap();
    assert!(tombstone.deleted);
    rig.home(&key("a"))[1].set(FaultMode::Well);
    assert!(matches!(rig.get(&key("a")).await, Err(StoreError::NotFound(_))));
    rig.home(&key("a"))[0].set(FaultMode::Unreachable);
    assert!(matches!(rig.get(&key("a")).await, Err(StoreError::NotFound(_))));
    rig.home(&key("a"))[0].set(FaultMode::Well);
    assert_eq!(store.delete(&key("a"), Condition::Always).await.unwrap(), None);
    let meta = rig.put(&key("a"), b"2").await.unwrap();
    assert!(meta.version > tombstone.version);
    let error = store
        .delete(&key("a"), Condition::Etag("other".to_owned()))
        .await
        .unwrap_err();
    assert!(
        matches!(error, StoreError::Condition { current: Some(_), .. }),
        "{error}"
    );
    store.delete(&key("a"), Condition::Etag(meta.etag)).await.unwrap();
    let error = store
        .delete(&key("a"), Condition::Etag("other".to_owned()))
        .await
        .unwrap_err();
    assert!(
        matches!(error, StoreError::Condition { current: None, .. }),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_carry_content_and_attributes() {
    let rig = Rig::new(4, 2);
    let content = content(2_000_000, 8);
    let put = Put {
        attributes: [("content-type".to_owned(), "a/b".to_owned())].into(),
        ..Put::default()
    };
    rig.store().put(&key("a"), body(&content), put).await.unwrap();
    let copied = rig
        .store()
        .copy(&key("a"), &key("b"), None, Condition::Always)
        .await
        .unwrap();
    assert_eq!(copied.attributes["content-type"], "a/b");
    assert_eq!(read(rig.store(), &key("b"), None).await.unwrap(), content);
    let error = rig
        .store()
        .copy(&key("a"), &key("b"), None, Condition::Absent)
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Condition { .. }), "{error}");
    let none = Some(std::collections::BTreeMap::new());
    let copied = rig
        .store()
        .copy(&key("a"), &key("a"), none, Condition::Always)
        .await
        .unwrap();
    assert!(copied.attributes.is_empty());
}

/// A client that goes away in the middle leaves no upload behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_given_up_is_cleared_away() {
    let rig = Rig::new(4, 2);
    let beginning = stream::iter([Ok(bytes::Bytes::from(content(2_000_000, 9)))]);
    let endless = futures_util::StreamExt::chain(beginning, stream::pending());
    let key = key("a");
    let putting = rig.store().put(&key, Box::pin(endless), Put::default());
    assert!(
        tokio::time::timeout(std::time::Duration::from_millis(100), putting)
            .await
            .is_err()
    );
    while rig.uploads() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(rig.holders(&key).is_empty());
}
