//! Random histories with faults, compared with a map.
//!
//! A write or removal that returned `Ok` is never undone. The outcome of a failed one is open until
//! the volume is reopened, and does not change after that. After each open, files and index agree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use store_protocol::{Cause, Key, Meta, ReplicaState, SurveyEntry, UploadId, Verdict, Volume, VolumeError};

use super::faults::{Fault, FaultyDisk};
use super::support::*;
use crate::disk::{DiskVolume, OpenVolumeError};

const KEYS: u64 = 12;
const STEPS: u64 = 120;

/// A volume and its model.
struct History {
    root: PathBuf,
    disk: FaultyDisk,
    volume: Option<Arc<DiskVolume>>,
    random: StdRng,
    clock: u64,
    /// The possible values of every key; `None` means not held.
    model: BTreeMap<Key, Vec<Option<(Meta, Bytes)>>>,
}

impl History {
    fn begin(seed: u64, root: &Path) -> Self {
        let disk = FaultyDisk::new(seed, root);
        let mut history = Self {
            root: root.to_owned(),
            disk,
            volume: None,
            random: StdRng::seed_from_u64(seed),
            clock: 0,
            model: BTreeMap::new(),
        };
        history.open();
        history
    }

    fn open(&mut self) {
        let mut settings = settings(&self.root);
        settings.disk = Arc::new(self.disk.clone());
        let opened = loop {
            match DiskVolume::open(settings.clone()) {
                // A failed upload is still being removed on another thread.
                Err(OpenVolumeError::Locked { .. }) => std::thread::yield_now(),
                opened => break opened,
            }
        };
        self.volume = Some(opened.unwrap());
    }

    fn volume(&self) -> Arc<DiskVolume> {
        self.volume.clone().unwrap()
    }

    fn some_key(&mut self) -> Key {
        key(&format!("k{}", self.random.random_range(0..KEYS)))
    }

    /// Returns the value of a key, which must be certain.
    fn known(&self, key: &Key) -> Option<(Meta, Bytes)> {
        match self.model.get(key).map(Vec::as_slice) {
            None => None,
            Some([only]) => only.clone(),
            Some(several) => panic!("{key} is uncertain: {several:?}"),
        }
    }

    /// Records an operation that sets `key` to `after`, and its result.
    fn note(&mut self, key: Key, after: Option<(Meta, Bytes)>, answer: &Result<(), VolumeError>) {
        let before = self.known(&key);
        let can_be = match answer {
            Ok(()) => vec![after],
            Err(_) => vec![before, after],
        };
        self.model.insert(key, can_be);
    }

    async fn put(&mut self) {
        let key = self.some_key();
        self.clock += 1;
        let deleted = self.random.random_bool(0.15);
        let size = if deleted {
            0
        } else {
            self.random.random_range(0..2000)
        };
        let content = content(size, self.clock);
        let meta = if deleted {
            tombstone(&key, version(self.clock))
        } else {
            meta(&key, version(self.clock), &content)
        };
        let volume = self.volume();
        let answer = if deleted || self.random.random_bool(0.5) {
            put(volume.as_ref(), &meta, &content).await
        } else {
            let upload = UploadId::random();
            match volume.prepare_whole(upload, &meta, content.clone()).await {
                Ok(()) => volume.commit(upload, Cause::Write, "").await,
                Err(error) => Err(error),
            }
        };
        drop(volume);
        self.note(key, Some((meta, content)), &answer);
        self.after(answer).await;
    }

    async fn remove(&mut self) {
        let key = self.some_key();
        let Some((meta, _)) = self.known(&key) else {
            return;
        };
        let answer = self
            .volume()
            .remove(&key, meta.version, Cause::Rebalance, "test")
            .await;
        self.note(key, None, &answer);
        self.after(answer).await;
    }

    /// Handles a result: continues if the error is temporary, and reopens the volume otherwise.
    async fn after(&mut self, answer: Result<(), VolumeError>) {
        let Err(error) = answer else {
            return;
        };
        if self.disk.is_dead() || matches!(error, VolumeError::Out { .. }) {
            self.restart().await;
        } else {
            self.disk.inject(None);
            self.check().await;
        }
    }

    /// Kills the process without closing anything, cuts the power, and starts again.
    async fn restart(&mut self) {
        self.disk.die();
        let index = self.root.join("index.redb");
        let left = self.root.with_extension("index");
        // The state that a killed process leaves: closing the index would make everything in it
        // durable.
        std::fs::copy(&index, &left).unwrap();
        drop(self.volume.take());
        std::fs::rename(&left, &index).unwrap();
        if self.random.random_bool(0.2) {
            std::fs::remove_file(&index).unwrap();
        }
        self.disk.cut_power();
        self.open();
        self.check().await;
    }

    /// Compares everything, and takes the found values as certain.
    async fn check(&mut self) {
        let volume = self.volume();
        let held: BTreeMap<Key, Meta> = list(volume.as_ref())
            .await
            .into_iter()
            .map(|held| {
                assert_eq!(held.state, ReplicaState::Good, "{}", held.meta.key);
                (held.meta.key.clone(), held.meta)
            })
            .collect();
        assert!(held.keys().all(|key| self.model.contains_key(key)));
        for (key, can_be) in &mut self.model {
            let found = held.get(key);
            let allowed: Vec<_> = can_be
                .iter()
                .map(|one| one.as_ref().map(|(meta, _)| meta.version))
                .collect();
            can_be.retain(|one| one.as_ref().map(|(meta, _)| meta) == found);
            can_be.truncate(1);
            let Some(is) = can_be.first() else {
                panic!(
                    "{key} is {:?}, expected one of {allowed:?}",
                    found.map(|meta| meta.version)
                );
            };
            if let Some((meta, content)) = is {
                assert_eq!(get(volume.as_ref(), meta, 0..1).await.unwrap(), *content);
            }
        }
        let partitions: BTreeSet<_> = self.model.keys().map(Key::partition).collect();
        let mut surveyed = Vec::new();
        for partition in partitions {
            surveyed.extend(volume.survey(&[partition]).await.unwrap().concat());
        }
        assert_eq!(super::support::survey(volume.as_ref()).await, surveyed);
        assert_eq!(surveyed.len(), held.len(), "{surveyed:#?}");
        let good = |found: &SurveyEntry| {
            matches!(
                found,
                SurveyEntry::Replica {
                    state: ReplicaState::Good,
                    ..
                }
            )
        };
        assert!(surveyed.iter().all(good), "{surveyed:#?}");
        let status = volume.status().await.unwrap();
        let tombstones = held.values().filter(|meta| meta.deleted).count() as u64;
        assert_eq!(
            (status.replicas, status.tombstones),
            (held.len() as u64 - tombstones, tombstones)
        );
        assert_eq!(status.bad, 0);
        // A remaining upload is prepared: an interrupted write, to be completed.
        let unsettled = volume.keys_in_doubt("").await.unwrap().keys;
        assert_eq!(status.uploads > 0, !unsettled.is_empty(), "{unsettled:?}");
        assert_eq!(
            status.replica_bytes,
            held.values().map(|meta| meta.size).sum::<u64>()
        );
    }

    async fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..60 => self.put().await,
            60..70 => self.remove().await,
            70..75 => self.disk.inject(Some(Fault::Sync(1))),
            75..80 => {
                let left = self.random.random_range(1..4);
                self.disk.inject(Some(Fault::TornWrite(left)));
            }
            80..83 => self.disk.inject(Some(Fault::Full)),
            83..94 => {
                let left = self.random.random_range(1..12);
                self.disk.inject(Some(Fault::Crash(left)));
            }
            94..97 => self.restart().await,
            _ => {
                self.check().await;
                let key = self.some_key();
                if let Some((meta, _)) = self.known(&key) {
                    let verdict = self.volume().verify(&key, meta.version, Cause::Scrub).await;
                    assert!(matches!(verdict, Ok(Verdict::Good { .. })), "{verdict:?}");
                }
            }
        }
    }
}

#[test]
fn what_was_answered_stands() {
    let seeds: Vec<u64> = match std::env::var("WEFT_TEST_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (1..=4).collect(),
    };
    for seed in seeds {
        println!("seed {seed}: WEFT_TEST_SEED={seed} runs only this seed");
        let home = tempfile::tempdir().unwrap();
        run(async {
            let mut history = History::begin(seed, &home.path().join("volume"));
            for _ in 0..STEPS {
                history.step().await;
            }
            history.restart().await;
        });
    }
}

/// A process may end between a removal and its sync. The next one sees that the file is gone, and
/// other nodes rely on it.
#[test]
fn what_an_opening_sees_is_not_undone_by_a_power_cut() {
    for seed in 1..=8 {
        let home = tempfile::tempdir().unwrap();
        run(async {
            let mut history = History::begin(seed, &home.path().join("volume"));
            let (key, content) = (key("k"), content(100, seed));
            let meta = meta(&key, version(1), &content);
            put(history.volume().as_ref(), &meta, &content).await.unwrap();
            // The directory is synced before and after the removal.
            history.disk.inject(Some(Fault::Sync(2)));
            let removed = history
                .volume()
                .remove(&key, version(1), Cause::Rebalance, "")
                .await;
            removed.unwrap_err();
            drop(history.volume.take());
            history.disk.go_on();
            history.open();
            assert_eq!(list(history.volume().as_ref()).await, []);
            drop(history.volume.take());
            history.disk.die();
            history.disk.cut_power();
            history.open();
            assert_eq!(list(history.volume().as_ref()).await, [], "seed {seed}");
        });
    }
}
