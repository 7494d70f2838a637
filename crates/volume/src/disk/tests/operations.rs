//! Tests of every operation without faults.

use bytes::Bytes;
use futures_util::{TryStreamExt, stream};
use store_protocol::{
    AbortScope, BLOCK_BYTES, BlockSet, Cause, Key, ListQuery, PARTITIONS, Partition, Purpose, ReplicaState,
    SurveyEntry, UploadId, Verdict, Volume, VolumeError, VolumeState,
};

use super::support::*;
use crate::disk::{DiskVolume, OpenVolumeError};

#[test]
fn what_was_put_is_read() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        for (n, size) in [0, 1, 1000, BLOCK_BYTES, BLOCK_BYTES + 1, 5 * BLOCK_BYTES + 77]
            .into_iter()
            .enumerate()
        {
            let content = content(size, n as u64);
            let meta = meta(&key(&format!("o{n}")), version(1), &content);
            put(volume.as_ref(), &meta, &content).await.unwrap();
            let head = volume.head(&meta.key).await.unwrap();
            assert!(head.complete);
            assert_eq!(head.found.unwrap().meta, meta);
            assert_eq!(get(volume.as_ref(), &meta, 0..100).await.unwrap(), content);
            let last = size.div_ceil(BLOCK_BYTES).max(1) - 1;
            let tail = get(volume.as_ref(), &meta, last..last + 1).await.unwrap();
            assert_eq!(tail, content[(last * BLOCK_BYTES) as usize..]);
            let verdict = volume
                .verify(&meta.key, meta.version, Cause::Scrub)
                .await
                .unwrap();
            assert!(matches!(verdict, Verdict::Good { bytes } if bytes > size));
        }
        let status = volume.status().await.unwrap();
        assert_eq!((status.replicas, status.uploads, status.bad), (6, 0, 0));
        assert_eq!(status.state, VolumeState::InService);
    });
}

/// Two deciders of a key may hold the same upload, if a request reached both.
#[test]
fn what_another_has_prepared_of_an_upload_is_not_given_up() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        let content = content(1000, 1);
        let (one, other) = (
            meta(&key("a"), version(1), &content),
            meta(&key("a"), version(2), &content),
        );
        let upload = UploadId::random();
        volume.receive(upload, body(&content)).await.unwrap();
        volume.prepare(upload, &one, Purpose::Write).await.unwrap();
        let refused = volume.prepare(upload, &other, Purpose::Write).await;
        assert!(matches!(refused, Err(VolumeError::Failed { .. })), "{refused:?}");
        for what in [AbortScope::Received, AbortScope::Version(other.version)] {
            volume.abort(upload, what).await;
            let pending = volume.head(&one.key).await.unwrap().pending;
            assert_eq!(
                pending.map(|pending| pending.meta).as_ref(),
                Some(&one),
                "{what:?}"
            );
        }
        volume.commit(upload, Cause::Write, "").await.unwrap();
        assert_eq!(volume.head(&one.key).await.unwrap().found.unwrap().meta, one);
        let upload = UploadId::random();
        volume.receive(upload, body(&content)).await.unwrap();
        volume.prepare(upload, &other, Purpose::Write).await.unwrap();
        volume.abort(upload, AbortScope::Version(other.version)).await;
        assert_eq!(volume.status().await.unwrap().uploads, 0);
    });
}

#[test]
fn whole_content_in_one_step() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        let content = content(4096, 3);
        let meta = meta(&key("small"), version(1), &content);
        let upload = UploadId::random();
        let other = Bytes::from_static(b"other");
        let refused = volume.prepare_whole(upload, &meta, other).await;
        assert!(matches!(refused, Err(VolumeError::Corrupt { .. })), "{refused:?}");
        volume
            .prepare_whole(upload, &meta, content.clone())
            .await
            .unwrap();
        assert_eq!(volume.head(&meta.key).await.unwrap().found, None);
        volume.commit(upload, Cause::Write, "").await.unwrap();
        // The answer may be lost; a retry changes nothing.
        volume.commit(upload, Cause::Write, "").await.unwrap();
        assert_eq!(get(volume.as_ref(), &meta, 0..1).await.unwrap(), content);
    });
}

#[test]
fn the_newest_version_wins_in_any_order() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        let (old, new) = (content(10, 1), content(20, 2));
        let key = key("k");
        let (first, second) = (meta(&key, version(1), &old), meta(&key, version(2), &new));
        put(volume.as_ref(), &second, &new).await.unwrap();
        put(volume.as_ref(), &first, &old).await.unwrap();
        assert_eq!(volume.head(&key).await.unwrap().found.unwrap().meta, second);
        let gone = volume.read(&key, first.version, 0..1).await.err();
        assert!(matches!(gone, Some(VolumeError::Missing { .. })));
        let deleted = tombstone(&key, version(3));
        put(volume.as_ref(), &deleted, &Bytes::new()).await.unwrap();
        assert_eq!(volume.head(&key).await.unwrap().found.unwrap().meta, deleted);
        assert_eq!(survey(volume.as_ref()).await.len(), 1);
        let status = volume.status().await.unwrap();
        assert_eq!(
            (status.replicas, status.replica_bytes, status.tombstones),
            (0, 0, 1)
        );
        volume
            .remove(&key, deleted.version, Cause::Repair, "all have it")
            .await
            .unwrap();
        assert_eq!(survey(volume.as_ref()).await, []);
        assert_eq!(volume.head(&key).await.unwrap().found, None);
    });
}

#[test]
fn listing_is_in_order_and_goes_on_after_a_key() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        for name in ["b", "a/2", "a/1", "a", "c", "é"] {
            let content = content(3, 0);
            put(volume.as_ref(), &meta(&key(name), version(1), &content), &content)
                .await
                .unwrap();
        }
        let names = async |prefix: &str, after: Option<&str>, limit| {
            let query = ListQuery {
                prefix: prefix.to_owned(),
                after: after.map(str::to_owned),
                limit,
            };
            let held = volume.list(&query).await.unwrap();
            held.iter()
                .map(|held| held.meta.key.name().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names("bucket/", None, 100).await,
            ["a", "a/1", "a/2", "b", "c", "é"]
        );
        assert_eq!(names("bucket/a/", None, 100).await, ["a/1", "a/2"]);
        assert_eq!(names("bucket/a", Some("bucket/a/1"), 100).await, ["a/2"]);
        assert_eq!(names("bucket/", Some("bucket/a/1"), 2).await, ["a/2", "b"]);
        assert_eq!(names("bucket/b", Some("bucket/a"), 2).await, ["b"]);
        assert!(names("other/", None, 2).await.is_empty());
    });
}

#[test]
fn a_body_that_breaks_off_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        let upload = UploadId::random();
        let pieces = vec![
            Ok(content(300_000, 1)),
            Err(std::io::Error::other("client went away")),
        ];
        let failed = volume.receive(upload, Box::pin(stream::iter(pieces))).await;
        assert_eq!(failed, Err(VolumeError::Body("client went away".to_owned())));
        let staging = dir.path().join("staging");
        while std::fs::read_dir(&staging).unwrap().count() > 0 {
            tokio::task::yield_now().await;
        }
        // The file is removed before the id: in between, the upload is busy.
        let committed = loop {
            match volume.commit(upload, Cause::Write, "").await {
                Err(VolumeError::Failed { detail, .. }) if detail.ends_with("is busy") => {
                    tokio::task::yield_now().await;
                }
                committed => break committed,
            }
        };
        assert!(matches!(committed, Err(VolumeError::Missing { .. })));
    });
}

#[test]
fn everything_is_there_after_opening_again_with_and_without_the_index() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let mut expected = Vec::new();
        {
            let volume = open(dir.path());
            for n in 0..50 {
                let content = content(n * 10, n);
                let meta = meta(&key(&format!("{n:03}")), version(1 + n), &content);
                put(volume.as_ref(), &meta, &content).await.unwrap();
                expected.push(meta);
            }
        }
        for index in ["kept", "removed", "damaged", "reindexed"] {
            let path = dir.path().join("index.redb");
            match index {
                "removed" => std::fs::remove_file(&path).unwrap(),
                "damaged" => std::fs::write(&path, vec![7; 100_000]).unwrap(),
                _ => {}
            }
            let volume = match index {
                "reindexed" => {
                    let (volume, found) = DiskVolume::reindex(settings(dir.path())).unwrap();
                    assert_eq!(found.indexed, 50);
                    volume
                }
                _ => open(dir.path()),
            };
            let held = list(volume.as_ref()).await;
            let metas: Vec<_> = held.into_iter().map(|held| held.meta).collect();
            assert_eq!(metas, expected, "{index}");
            assert_eq!(volume.status().await.unwrap().replicas, 50, "{index}");
        }
    });
}

/// A response ends with the partition in which it reached its maximum length, and has a list for
/// each partition before.
#[test]
fn a_survey_of_many_partitions_is_cut_between_two() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        let mut keys: Vec<_> = (0..12).map(|n| key(&format!("o{n}"))).collect();
        for key in &keys {
            let content = content(10, 1);
            put(volume.as_ref(), &meta(key, version(1), &content), &content)
                .await
                .unwrap();
        }
        keys.sort_by_key(Key::partition);
        let all: Vec<_> = (0..PARTITIONS).map(Partition).collect();
        assert_eq!(volume.survey(&all).await.unwrap().len(), all.len());
        let cut = volume.inner.survey_until(&all, 5).unwrap();
        assert_eq!(cut.len(), usize::from(keys[4].partition().0) + 1);
        for (number, found) in (0u16..).zip(&cut) {
            let expected = keys.iter().filter(|key| key.partition().0 == number).count();
            assert_eq!(found.len(), expected, "partition {number}");
            assert_eq!(
                volume.survey(&[Partition(number)]).await.unwrap(),
                std::slice::from_ref(found)
            );
        }
    });
}

#[test]
fn survey_tells_every_kind_of_damage() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        let mut paths = Vec::new();
        for name in ["cut", "good", "lost"] {
            let content = content(1000, 1);
            let meta = meta(&key(name), version(1), &content);
            put(volume.as_ref(), &meta, &content).await.unwrap();
            let hash = super::super::names::hash_of(&meta.key);
            paths.push(super::super::names::replica_path(dir.path(), &hash, meta.version));
        }
        std::fs::File::options()
            .write(true)
            .open(&paths[0])
            .unwrap()
            .set_len(2500)
            .unwrap();
        std::fs::remove_file(&paths[2]).unwrap();
        std::fs::write(paths[1].with_extension("junk"), b"junk").unwrap();
        let found = survey(volume.as_ref()).await;
        let of = |name: &str| {
            let name = key(name);
            found.iter().find(|found| match found {
                SurveyEntry::Replica { key, .. } | SurveyEntry::FileMissing { key, .. } => *key == name,
                SurveyEntry::Stray { .. } => false,
            })
        };
        assert!(matches!(
            of("cut"),
            Some(SurveyEntry::Replica {
                state: ReplicaState::Bad(_),
                ..
            })
        ));
        assert!(matches!(
            of("good"),
            Some(SurveyEntry::Replica {
                state: ReplicaState::Good,
                ..
            })
        ));
        assert!(matches!(of("lost"), Some(SurveyEntry::FileMissing { .. })));
        let strays: Vec<_> = found
            .iter()
            .filter(|found| matches!(found, SurveyEntry::Stray { .. }))
            .collect();
        let [SurveyEntry::Stray { path, bytes: 4, .. }] = strays.as_slice() else {
            panic!("{strays:?}");
        };
        volume.settle_stray(path).await.unwrap();
        assert_eq!(
            std::fs::read_dir(dir.path().join("lost+found")).unwrap().count(),
            1
        );
        assert_eq!(survey(volume.as_ref()).await.len(), 3);
        let head = volume.head(&key("lost")).await.unwrap().found.unwrap();
        assert_eq!(head.state, ReplicaState::Bad("file missing".to_owned()));
        let log = volume.fixity(Some(&key("lost")), 10).await.unwrap();
        assert_eq!(
            log.iter().map(|line| line.event.as_str()).collect::<Vec<_>>(),
            ["missing"]
        );
        // Writing the same version again repairs both.
        for name in ["cut", "lost"] {
            let content = content(1000, 1);
            put(volume.as_ref(), &meta(&key(name), version(1), &content), &content)
                .await
                .unwrap();
        }
        assert_eq!(volume.status().await.unwrap().bad, 0);
    });
}

#[test]
fn a_flipped_bit_is_found_and_told() {
    use std::os::unix::fs::FileExt;
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        let content = content(3 * BLOCK_BYTES, 1);
        let meta = meta(&key("k"), version(1), &content);
        put(volume.as_ref(), &meta, &content).await.unwrap();
        let hash = super::super::names::hash_of(&meta.key);
        let path = super::super::names::replica_path(dir.path(), &hash, meta.version);
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.write_at(&[!content[BLOCK_BYTES as usize]], 2048 + BLOCK_BYTES)
            .unwrap();
        let verdict = volume.verify(&meta.key, meta.version, Cause::Read).await.unwrap();
        assert!(
            matches!(&verdict, Verdict::Bad { detail, .. } if detail.starts_with("block 1: found ")),
            "{verdict:?}"
        );
        let bad_blocks = volume.head(&meta.key).await.unwrap().found.unwrap().bad_blocks;
        assert_eq!(bad_blocks, Some(BlockSet::from_range(1..2)));
        // The intact blocks of a bad replica may be needed.
        let read = volume.read(&meta.key, meta.version, 2..3).await.unwrap();
        let bytes: Vec<Bytes> = read.bytes.try_collect().await.unwrap();
        assert!(read.table.holds(2, &bytes.concat()));
        file.write_at(&content[BLOCK_BYTES as usize..][..1], 2048 + BLOCK_BYTES)
            .unwrap();
        let verdict = volume.verify(&meta.key, meta.version, Cause::Read).await.unwrap();
        assert!(matches!(verdict, Verdict::Good { .. }));
        assert_eq!(volume.status().await.unwrap().bad, 0);
    });
}

#[test]
fn a_directory_is_opened_once_and_by_its_own_name() {
    let dir = tempfile::tempdir().unwrap();
    let volume = open(dir.path());
    let locked = DiskVolume::open(settings(dir.path())).err().unwrap();
    assert!(matches!(locked, OpenVolumeError::Locked { .. }), "{locked}");
    drop(volume);
    let mut other = settings(dir.path());
    other.id = store_protocol::VolumeId("n1/v2".into());
    let refused = DiskVolume::open(other).err().unwrap();
    assert!(
        matches!(refused, OpenVolumeError::OtherVolume { .. }),
        "{refused}"
    );
    std::fs::write(dir.path().join("letter.txt"), b"mine").unwrap();
    std::fs::remove_file(dir.path().join("volume.json")).unwrap();
    let refused = DiskVolume::open(settings(dir.path())).err().unwrap();
    assert!(matches!(refused, OpenVolumeError::NotEmpty { .. }), "{refused}");
}

/// Returns the modes of everything below a directory that is accessible to other users.
fn open_to_others(dir: &std::path::Path) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt;
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.metadata().unwrap();
        let mode = meta.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            found.push(format!("{} {mode:o}", path.display()));
        } else if meta.is_dir() {
            found.extend(open_to_others(&path));
        }
    }
    found
}

/// On a machine with other users, anyone who could read the files could read every object.
#[test]
fn only_its_owner_may_read_a_volume() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("volume");
    run(async {
        let volume = open(&dir);
        let content = content(1000, 1);
        let meta = meta(&key("k"), version(1), &content);
        put(volume.as_ref(), &meta, &content).await.unwrap();
        let pieces = stream::iter([Ok(content.clone())]);
        volume
            .receive(UploadId::random(), Box::pin(pieces))
            .await
            .unwrap();
        assert_eq!(open_to_others(home.path()), [""; 0]);
    });
    // As an earlier version created it.
    let names = [
        "objects",
        "staging",
        "lost+found",
        "index.redb",
        "fixity.jsonl",
        "volume.json",
    ];
    for name in names {
        let path = dir.join(name);
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    assert_eq!(open_to_others(&dir).len(), names.len());
    drop(open(&dir));
    assert_eq!(open_to_others(&dir), [""; 0]);
}
