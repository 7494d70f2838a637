//! Failing disks and vanishing directories.

use std::sync::Arc;

use bytes::Bytes;
use store_protocol::{Cause, ReplicaState, UploadId, Verdict, Volume, VolumeError, VolumeId, VolumeState};

use super::faults::{Fault, FaultyDisk};
use super::support::*;
use crate::disk::{DiskSettings, DiskVolume};
use crate::fixity::FixityLog;

async fn state(volume: &DiskVolume) -> VolumeState {
    volume.status().await.unwrap().state
}

async fn put_some(volume: &DiskVolume, name: &str) -> Result<(), VolumeError> {
    let content = content(1000, 1);
    put(volume, &meta(&key(name), version(1), &content), &content).await
}

#[test]
fn a_volume_wiped_while_open_begins_anew() {
    let home = tempfile::tempdir().unwrap();
    let (dir, other_dir) = (home.path().join("v1"), home.path().join("v2"));
    run(async {
        let fixity = FixityLog::new();
        let volume = DiskVolume::open(DiskSettings::new(&dir, id(), fixity.clone())).unwrap();
        let other = DiskSettings::new(&other_dir, VolumeId("n1/v2".into()), fixity.clone());
        let _other = DiskVolume::open(other).unwrap();
        put_some(&volume, "before").await.unwrap();
        wipe(&dir);
        // The first write detects it.
        put_some(&volume, "after").await.unwrap();
        assert_eq!(state(&volume).await, VolumeState::Rebuilding);
        let head = volume.head(&key("before")).await.unwrap();
        assert_eq!((head.found, head.complete), (None, false));
        let names: Vec<_> = list(volume.as_ref())
            .await
            .into_iter()
            .map(|held| held.meta.key)
            .collect();
        assert_eq!(names, [key("after")]);
        let events = volume.fixity(None, 100).await.unwrap();
        assert!(
            events.iter().any(|event| event.event == "volume-wiped"),
            "{events:?}"
        );
        // The state survives a restart, until repair has processed the volume.
        drop(volume);
        let volume = DiskVolume::open(DiskSettings::new(&dir, id(), fixity.clone())).unwrap();
        assert_eq!(state(&volume).await, VolumeState::Rebuilding);
        assert!(volume.head(&key("after")).await.unwrap().found.is_some());
        volume.rebuilt().await.unwrap();
        assert!(volume.head(&key("before")).await.unwrap().complete);
        drop(volume);
        let volume = DiskVolume::open(DiskSettings::new(&dir, id(), fixity)).unwrap();
        assert_eq!(state(&volume).await, VolumeState::InService);
    });
}

#[test]
fn a_wipe_that_goes_on_after_the_volume_began_anew_does_no_lasting_harm() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("v1");
    run(async {
        let volume = DiskVolume::open(DiskSettings::new(&dir, id(), FixityLog::new())).unwrap();
        std::fs::remove_file(dir.join("volume.json")).unwrap();
        assert_eq!(state(&volume).await, VolumeState::Rebuilding);
        put_some(&volume, "before").await.unwrap();
        for name in ["staging", "objects", "lost+found"] {
            std::fs::remove_dir_all(dir.join(name)).unwrap();
        }
        put_some(&volume, "after").await.unwrap();
        assert!(volume.head(&key("after")).await.unwrap().found.is_some());
    });
}

/// Regression test: a directory that vanished before its sync put the volume out of service, like a
/// failed sync.
#[test]
fn a_volume_wiped_at_any_sync_begins_anew() {
    for nth in 1..=12 {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("v1");
        run(async {
            let disk = FaultyDisk::new(1, &dir);
            let mut settings = settings(&dir);
            settings.disk = Arc::new(disk.clone());
            let volume = DiskVolume::open(settings).unwrap();
            put_some(&volume, "before").await.unwrap();
            if nth > 6 {
                // The volume is wiped again while it is being initialized.
                wipe(&dir);
            }
            disk.inject(Some(Fault::Wipe(nth - nth / 7 * 6)));
            for name in ["k1", "k2", "k3"] {
                let put = put_some(&volume, name).await;
                assert!(
                    matches!(
                        put,
                        Ok(()) | Err(VolumeError::Failed { .. } | VolumeError::Missing { .. })
                    ),
                    "sync {nth}: {put:?}"
                );
            }
            assert_eq!(disk.fault(), None, "sync {nth} was reached");
            assert_eq!(state(&volume).await, VolumeState::Rebuilding, "sync {nth}");
            put_some(&volume, "after").await.unwrap();
            assert!(volume.head(&key("before")).await.unwrap().found.is_none());
            assert!(volume.head(&key("after")).await.unwrap().found.is_some());
            let events = volume.fixity(None, 100).await.unwrap();
            assert!(
                events.iter().any(|event| event.event == "volume-wiped"),
                "sync {nth}: {events:?}"
            );
        });
    }
}

/// A slow wipe removes directories that the volume has just created, for example `objects` before
/// it has a partition.
#[test]
fn directories_that_a_slow_wipe_removes_are_made_again() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        for name in ["objects", "staging", "lost+found"] {
            wipe(dir.path());
            assert_eq!(state(&volume).await, VolumeState::Rebuilding);
            std::fs::remove_dir_all(dir.path().join(name)).unwrap();
            put_some(&volume, "k").await.unwrap();
            assert!(volume.head(&key("k")).await.unwrap().found.is_some(), "{name}");
        }
    });
}

#[test]
fn a_reader_notices_that_the_directory_is_wiped() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        put_some(&volume, "k").await.unwrap();
        wipe(dir.path());
        let read = volume.read(&key("k"), version(1), 0..1).await.err();
        assert!(matches!(read, Some(VolumeError::Missing { .. })), "{read:?}");
        let head = volume.head(&key("k")).await.unwrap();
        assert_eq!((head.found, head.complete), (None, false));
        // Repeatedly: the volume is initialized each time.
        for _ in 0..3 {
            put_some(&volume, "k").await.unwrap();
            wipe(dir.path());
            assert_eq!(state(&volume).await, VolumeState::Rebuilding);
            assert!(list(volume.as_ref()).await.is_empty());
        }
    });
}

#[test]
fn a_volume_that_lost_its_name_only_keeps_its_replicas() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        put_some(&volume, "k").await.unwrap();
        std::fs::remove_file(dir.path().join("volume.json")).unwrap();
        assert_eq!(state(&volume).await, VolumeState::Rebuilding);
        let head = volume.head(&key("k")).await.unwrap();
        assert!(head.found.is_some() && !head.complete);
        std::fs::remove_file(dir.path().join("volume.json")).unwrap();
        drop(volume);
        let volume = open(dir.path());
        assert_eq!(state(&volume).await, VolumeState::Rebuilding);
        assert!(volume.head(&key("k")).await.unwrap().found.is_some());
    });
}

#[test]
fn a_directory_that_is_gone_is_not_made_again() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("disk");
    run(async {
        let volume = open(&dir);
        put_some(&volume, "k").await.unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        let refused = put_some(&volume, "l").await;
        assert!(matches!(refused, Err(VolumeError::Out { .. })), "{refused:?}");
        assert!(matches!(state(&volume).await, VolumeState::Out(_)));
        assert!(!dir.exists());
    });
}

#[test]
fn an_empty_directory_of_a_volume_that_took_part_before_is_rebuilding() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let mut settings = settings(dir.path());
        settings.held_before = true;
        let volume = DiskVolume::open(settings).unwrap();
        assert_eq!(state(&volume).await, VolumeState::Rebuilding);
        let events = volume.fixity(None, 100).await.unwrap();
        assert!(events.iter().any(|event| event.event == "volume-wiped"));
    });
}

#[test]
fn after_a_failed_sync_nothing_is_trusted_until_the_volume_is_opened_again() {
    let home = tempfile::tempdir().unwrap();
    let (dir, other_dir) = (home.path().join("v1"), home.path().join("v2"));
    run(async {
        let fixity = FixityLog::new();
        let disk = FaultyDisk::new(1, &dir);
        let mut settings = DiskSettings::new(&dir, id(), fixity.clone());
        settings.disk = Arc::new(disk.clone());
        let other = DiskSettings::new(&other_dir, VolumeId("n1/v2".into()), fixity);
        let other = DiskVolume::open(other).unwrap();
        for nth in 1..=3 {
            let volume = DiskVolume::open(settings.clone()).unwrap();
            disk.inject(Some(Fault::Sync(nth)));
            let refused = put_some(&volume, &format!("k{nth}")).await;
            assert!(
                matches!(&refused, Err(VolumeError::Out { detail, .. }) if detail.contains("injected")),
                "{refused:?}"
            );
            disk.inject(None);
            assert!(matches!(state(&volume).await, VolumeState::Out(_)));
            let refused = volume.head(&key("k")).await;
            assert!(matches!(refused, Err(VolumeError::Out { .. })));
            let refused = put_some(&volume, "l").await;
            assert!(matches!(refused, Err(VolumeError::Out { .. })));
            let events = other.fixity(None, 100).await.unwrap();
            let outs = events.iter().filter(|event| event.event == "volume-out");
            assert_eq!(outs.count(), nth as usize);
        }
    });
}

#[test]
fn a_full_disk_refuses_content_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("v1");
    run(async {
        let disk = FaultyDisk::new(1, &dir);
        let mut settings = settings(&dir);
        settings.disk = Arc::new(disk.clone());
        let volume = DiskVolume::open(settings).unwrap();
        disk.inject(Some(Fault::Full));
        let refused = put_some(&volume, "k").await;
        assert!(matches!(refused, Err(VolumeError::Full { .. })), "{refused:?}");
        let content = content(100, 1);
        let meta = meta(&key("k"), version(1), &content);
        let refused = volume.prepare_whole(UploadId::random(), &meta, content).await;
        assert!(matches!(refused, Err(VolumeError::Full { .. })), "{refused:?}");
        disk.inject(None);
        assert_eq!(std::fs::read_dir(dir.join("staging")).unwrap().count(), 0);
        assert_eq!(state(&volume).await, VolumeState::InService);
        put_some(&volume, "k").await.unwrap();
    });
}

#[test]
fn a_file_that_vanished_while_closed_is_missed() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        put_some(&volume, "k").await.unwrap();
        drop(volume);
        let hash = super::super::names::hash_of(&key("k"));
        let path = super::super::names::replica_path(dir.path(), &hash, version(1));
        let aside = dir.path().join("lost+found/aside");
        std::fs::rename(&path, &aside).unwrap();
        let volume = open(dir.path());
        let held = volume.head(&key("k")).await.unwrap().found.unwrap();
        assert_eq!(held.state, ReplicaState::Bad("file missing".to_owned()));
        let events = volume.fixity(Some(&key("k")), 100).await.unwrap();
        assert_eq!(events.len(), 1);
        drop(volume);
        // It is reported only once.
        let volume = open(dir.path());
        assert_eq!(volume.fixity(Some(&key("k")), 100).await.unwrap().len(), 1);
        drop(volume);
        std::fs::rename(&aside, &path).unwrap();
        let volume = open(dir.path());
        let held = volume.head(&key("k")).await.unwrap().found.unwrap();
        assert_eq!(held.state, ReplicaState::Good);
    });
}

#[test]
fn a_stray_that_is_a_whole_replica_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        put_some(&volume, "k").await.unwrap();
        let hash = super::super::names::hash_of(&key("k"));
        let path = super::super::names::replica_path(dir.path(), &hash, version(1));
        let kept = dir.path().join("objects/kept-by-hand");
        std::fs::copy(&path, &kept).unwrap();
        volume
            .remove(&key("k"), version(1), Cause::Rebalance, "")
            .await
            .unwrap();
        assert_eq!(survey(volume.as_ref()).await.len(), 1);
        for refused in [
            "",
            "volume.json",
            "objects",
            "objects/../volume.json",
            "staging/x",
            "/objects/000/x",
        ] {
            let answer = volume.settle_stray(refused).await;
            assert!(
                matches!(answer, Err(VolumeError::Missing { .. })),
                "{refused}: {answer:?}"
            );
        }
        volume.settle_stray("objects/kept-by-hand").await.unwrap();
        let content = content(1000, 1);
        let meta = meta(&key("k"), version(1), &content);
        assert_eq!(get(volume.as_ref(), &meta, 0..1).await.unwrap(), content);
        assert_eq!(survey(volume.as_ref()).await.len(), 1);
        // The second time the volume already holds it, so the copy is moved away.
        std::fs::copy(&path, &kept).unwrap();
        volume.settle_stray("objects/kept-by-hand").await.unwrap();
        assert_eq!(survey(volume.as_ref()).await.len(), 1);
    });
}

#[test]
fn a_settled_path_that_holds_a_replica_again_stays() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        put_some(&volume, "k").await.unwrap();
        let hash = super::super::names::hash_of(&key("k"));
        let path = super::super::names::replica_path(dir.path(), &hash, version(1));
        let path = super::super::names::relative(dir.path(), &path);
        // A survey saw junk there; the replica was written before the junk was settled.
        volume.settle_stray(&path).await.unwrap();
        let verdict = volume.verify(&key("k"), version(1), Cause::Scrub).await.unwrap();
        assert!(matches!(verdict, Verdict::Good { .. }), "{verdict:?}");
    });
}

#[test]
fn an_upload_that_nobody_finishes_is_given_up_after_an_hour() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        let (upload, content) = (UploadId::random(), content(1000, 1));
        volume.receive(upload, body(&content)).await.unwrap();
        let begun = std::time::Instant::now();
        volume
            .inner
            .expire_uploads(begun + std::time::Duration::from_secs(3500));
        assert_eq!(volume.status().await.unwrap().uploads, 1);
        volume
            .inner
            .expire_uploads(begun + std::time::Duration::from_secs(3700));
        assert_eq!(volume.status().await.unwrap().uploads, 0);
        assert_eq!(std::fs::read_dir(dir.path().join("staging")).unwrap().count(), 0);
        let prepared = volume
            .prepare(
                upload,
                &meta(&key("k"), version(1), &content),
                store_protocol::Purpose::Write,
            )
            .await;
        assert!(matches!(prepared, Err(VolumeError::Missing { .. })));
    });
}

#[test]
fn a_volume_without_room_for_its_index_comes_back_when_there_is_some() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        put_some(&volume, "k").await.unwrap();
        volume.inner.life.write().index_full = true;
        volume
            .inner
            .take_out_of_service("no room for the index".to_owned());
        assert!(matches!(
            volume.head(&key("k")).await,
            Err(VolumeError::Out { .. })
        ));
        volume.inner.return_to_service();
        assert_eq!(state(&volume).await, VolumeState::InService);
        assert!(volume.head(&key("k")).await.unwrap().found.is_some());
        put_some(&volume, "l").await.unwrap();
        // After any other reason an operator must act.
        volume.inner.take_out_of_service("a failed sync".to_owned());
        volume.inner.return_to_service();
        assert!(matches!(state(&volume).await, VolumeState::Out(_)));
    });
}

#[test]
fn a_volume_that_is_nearly_full_still_takes_deletions() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("v1");
    run(async {
        let disk = FaultyDisk::new(1, &dir);
        let mut settings = settings(&dir);
        settings.disk = Arc::new(disk.clone());
        let volume = DiskVolume::open(settings).unwrap();
        put_some(&volume, "k").await.unwrap();
        disk.inject(Some(Fault::NearlyFull));
        let refused = put_some(&volume, "l").await;
        assert!(matches!(refused, Err(VolumeError::Full { .. })), "{refused:?}");
        let meta = tombstone(&key("k"), version(2));
        put(volume.as_ref(), &meta, &Bytes::new()).await.unwrap();
        assert!(volume.head(&key("k")).await.unwrap().found.unwrap().meta.deleted);
    });
}

/// The counts would fall below zero: a bug, after which no write of the volume can be trusted.
#[test]
fn a_broken_invariant_takes_the_volume_out_of_service_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        put_some(&volume, "k").await.unwrap();
        volume.inner.index().unwrap().lose_counts();
        let removed = volume.remove(&key("k"), version(1), Cause::Request, "").await;
        let Err(VolumeError::Out { detail, .. }) = removed else {
            panic!("{removed:?}");
        };
        assert!(detail.contains("broken invariant volume.counts: "), "{detail}");
        assert!(matches!(
            put_some(&volume, "l").await,
            Err(VolumeError::Out { .. })
        ));
        assert!(matches!(state(&volume).await, VolumeState::Out(reason) if reason == detail));
        drop(volume);
        // Its files are unchanged, and the index is rebuilt from them.
        std::fs::remove_file(dir.path().join(crate::disk::names::INDEX)).unwrap();
        let volume = open(dir.path());
        assert!(volume.head(&key("k")).await.unwrap().found.is_some());
        volume
            .remove(&key("k"), version(1), Cause::Request, "")
            .await
            .unwrap();
    });
}
