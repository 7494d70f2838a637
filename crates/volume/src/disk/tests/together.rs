//! Concurrent callers: writers of the same keys, readers, verifications and surveys.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use store_protocol::{BLOCK_BYTES, Cause, ReplicaState, SurveyEntry, UploadId, Verdict, Volume, VolumeError};

use super::support::*;
use crate::disk::DiskVolume;

const KEYS: u64 = 3;
const WRITERS: u64 = 6;
const VERSIONS: u64 = 40;

/// Returns the content of a version: several blocks for some versions.
fn of(n: u64) -> bytes::Bytes {
    content(
        if n.is_multiple_of(5) {
            2 * BLOCK_BYTES + n
        } else {
            n * 10
        },
        n,
    )
}

async fn write(volume: Arc<DiskVolume>, writer: u64) {
    for round in 0..VERSIONS {
        let n = 1 + round * WRITERS + writer;
        let content = of(n);
        let meta = meta(&key(&format!("k{}", n % KEYS)), version(n), &content);
        if round.is_multiple_of(2) {
            put(volume.as_ref(), &meta, &content).await.unwrap();
        } else {
            let upload = UploadId::random();
            volume.prepare_whole(upload, &meta, content).await.unwrap();
            volume.commit(upload, Cause::Write, "").await.unwrap();
        }
    }
}

/// Reads and verifies everything until writing ends: each replica is intact or removed.
async fn read(volume: Arc<DiskVolume>, done: Arc<AtomicBool>) {
    while !done.load(Ordering::Relaxed) {
        for n in 0..KEYS {
            let key = key(&format!("k{n}"));
            let Some(held) = volume.head(&key).await.unwrap().found else {
                continue;
            };
            let meta = held.meta;
            match get(volume.as_ref(), &meta, 0..10).await {
                Ok(bytes) => assert_eq!(bytes, of(meta.version.millis)),
                Err(error) => assert!(matches!(error, VolumeError::Missing { .. }), "{error}"),
            }
            let verdict = volume.verify(&key, meta.version, Cause::Scrub).await.unwrap();
            assert!(!matches!(verdict, Verdict::Bad { .. }), "{verdict:?}");
            for found in volume.survey(&[key.partition()]).await.unwrap().concat() {
                assert!(
                    matches!(
                        &found,
                        SurveyEntry::Replica {
                            state: ReplicaState::Good,
                            ..
                        }
                    ),
                    "{found:?}"
                );
            }
        }
    }
}

#[test]
fn readers_see_one_version_or_another_and_never_damage() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let volume = open(dir.path());
        let done = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..2)
            .map(|_| tokio::spawn(read(volume.clone(), done.clone())))
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| tokio::spawn(write(volume.clone(), writer)))
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.await.unwrap();
        }
        let last = WRITERS * VERSIONS;
        let mut newest: Vec<_> = list(volume.as_ref())
            .await
            .iter()
            .map(|held| held.meta.version.millis)
            .collect();
        newest.sort_unstable();
        assert_eq!(newest, [last - 2, last - 1, last]);
        assert_eq!(survey(volume.as_ref()).await.len() as u64, KEYS);
        assert_eq!(volume.status().await.unwrap().bad, 0);
        assert!(
            volume
                .fixity(None, 10_000)
                .await
                .unwrap()
                .iter()
                .all(|event| event.event == "verified")
        );
    });
}
