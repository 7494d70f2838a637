//! Random operations on a store whose volumes fail now and then, compared with a plain map.
//!
//! At most one volume is down at a time, which two copies tolerate: every write must succeed, and
//! every read must return what the map has. In addition a step of another volume may fail: a write
//! may then be `Unavailable`, and the object is afterwards either the old or the new one, whole.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use store::{Complete, List, Put, Store, StoreError};
use store_protocol::{Cause, Condition, Key, ReplicaState, UploadId, Volume};
use store_testkit::rig::{body, read};
use store_testkit::{FaultMode, Rig, Step};

use super::{content, key};

const SIZES: [usize; 7] = [0, 1, 5_000, 262_144, 600_000, 1_048_577, 1_500_000];

#[derive(Clone, PartialEq)]
struct Live {
    etag: String,
    content: Vec<u8>,
}

struct World {
    rig: Rig,
    random: StdRng,
    live: BTreeMap<Key, Live>,
    keys: Vec<Key>,
    /// Whether in addition a step of some volume may fail.
    tripped: bool,
    trace: Vec<String>,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_with_failing_volumes_is_a_map() {
    for seed in 0..6 {
        println!("seed {seed}");
        let mut world = World::new(seed);
        for _ in 0..60 {
            world.change_faults().await;
            world.step().await;
        }
        world.heal().await;
        world.check_all().await;
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let volumes = random.random_range(4..=6);
        let names = ["a", "a/b", "a/c", "a/c/d", "b", "b/e/f", "b/e/g", "c"];
        Self {
            rig: Rig::new(volumes, 2),
            random,
            live: BTreeMap::new(),
            keys: names.into_iter().map(key).collect(),
            tripped: false,
            trace: vec![format!("seed {seed}, {volumes} volumes")],
        }
    }

    fn store(&mut self) -> Store {
        self.rig.stores.choose(&mut self.random).unwrap().clone()
    }

    fn key(&mut self) -> Key {
        self.keys.choose(&mut self.random).unwrap().clone()
    }

    fn content(&mut self) -> Vec<u8> {
        content(*SIZES.choose(&mut self.random).unwrap(), self.random.random())
    }

    fn note(&mut self, text: String) {
        self.trace.push(text);
    }

    #[track_caller]
    fn fail(&self, text: impl std::fmt::Display) -> ! {
        panic!("{text}\n{}", self.trace.join("\n"));
    }

    async fn change_faults(&mut self) {
        match self.random.random_range(0..10) {
            0 | 1 => {
                self.heal().await;
                let moods = [
                    FaultMode::Unreachable,
                    FaultMode::Out,
                    FaultMode::Full,
                    FaultMode::Slow(Duration::from_millis(2)),
                    FaultMode::Rebuilding,
                ];
                let (index, fault_mode) = (
                    self.random.random_range(0..self.rig.volumes.len()),
                    moods.choose(&mut self.random),
                );
                let fault_mode = fault_mode.unwrap().clone();
                self.note(format!("volume {index} is {fault_mode:?}"));
                if fault_mode == FaultMode::Rebuilding {
                    self.rig.volumes[index].wipe();
                }
                self.rig.volumes[index].set(fault_mode);
            }
            2 => self.heal().await,
            3 => self.corrupt().await,
            4 => {
                let steps = [
                    Step::Receive,
                    Step::Prepare,
                    Step::ReadUpload,
                    Step::Commit,
                    Step::Head,
                    Step::Read,
                    Step::List,
                ];
                let step = *steps.choose(&mut self.random).unwrap();
                let volume = self.rig.volumes.choose(&mut self.random).unwrap();
                volume.fail_at(step, self.random.random_range(1..3));
                self.tripped = true;
                self.note(format!("a {step:?} will fail"));
            }
            _ => {}
        }
    }

    /// Brings every volume back and does the work of repair: puts the newest version on its home.
    async fn heal(&mut self) {
        self.note("heal".to_owned());
        for volume in &self.rig.volumes {
            volume.set(FaultMode::Well);
            volume.clear_failures();
        }
        // Including hidden objects.
        for key in self.rig.keys() {
            let holders = self.rig.holders(&key);
            let Some(first) = holders.first() else { continue };
            let (meta, held) = (
                first.held(&key).unwrap().meta,
                first.content(&key).unwrap_or_default(),
            );
            for home in self.rig.home(&key) {
                if home
                    .held(&key)
                    .is_some_and(|held| held.meta == meta && held.state == ReplicaState::Good)
                {
                    continue;
                }
                let upload = UploadId::random();
                if meta.deleted {
                    home.prepare(upload, &meta, store_protocol::Purpose::Write)
                        .await
                        .unwrap();
                } else {
                    home.prepare_whole(upload, &meta, held.clone().into())
                        .await
                        .unwrap();
                }
                home.commit(upload, Cause::Repair, "").await.unwrap();
            }
        }
        self.tripped = false;
    }

    /// Damages a replica and checks that the object is still read correctly and the replica
    /// restored.
    async fn corrupt(&mut self) {
        self.heal().await;
        let key = self.key();
        let holders: Vec<_> = self.rig.holders(&key).into_iter().cloned().collect();
        let Some(victim) = holders.choose(&mut self.random) else {
            return;
        };
        if !victim.corrupt(&key, 0) {
            return;
        }
        self.note(format!("{key} is damaged on {}", victim.id()));
        for store in self.rig.stores.clone() {
            self.check(&store, &key).await;
        }
        victim.corrupt(&key, 0);
        let version = victim.held(&key).unwrap().meta.version;
        victim.restore(&key, version);
    }

    async fn step(&mut self) {
        let (store, key) = (self.store(), self.key());
        match self.random.random_range(0..12) {
            0..=2 => {
                let content = self.content();
                self.put(&store, &key, content, Condition::Always).await;
            }
            3 => {
                let content = self.content();
                self.put(&store, &key, content, Condition::Absent).await;
            }
            4 => {
                let (content, condition) = (self.content(), self.etag(&key));
                self.put(&store, &key, content, condition).await;
            }
            5 => {
                let condition = if self.random.random() {
                    Condition::Always
                } else {
                    self.etag(&key)
                };
                self.delete(&store, &key, condition).await;
            }
            6 => self.parts(&store, &key).await,
            7 => {
                let from = self.key();
                self.copy(&store, &from, &key).await;
            }
            8 => self.list(&store).await,
            9 => self.range(&store, &key).await,
            _ => self.check(&store, &key).await,
        }
    }

    /// Returns a condition on an entity tag that is often the current one.
    fn etag(&mut self, key: &Key) -> Condition {
        let current = self.live.get(key).map(|live| live.etag.clone());
        let wrong = self.random.random_ratio(1, 4);
        Condition::Etag(current.filter(|_| !wrong).unwrap_or_else(|| "none".to_owned()))
    }

    fn holds(&self, key: &Key, condition: &Condition) -> bool {
        let current = self.live.get(key).map(|live| &live.etag);
        match condition {
            Condition::Always => true,
            Condition::Absent => current.is_none(),
            Condition::Etag(etag) => current == Some(etag),
            Condition::Version { .. } => unreachable!("only for versioned buckets: see versions.rs"),
        }
    }

    /// Compares the outcome of a write with the expected one and updates the map. `None` means a
    /// deletion.
    async fn wrote(
        &mut self,
        key: &Key,
        condition: &Condition,
        content: Option<Vec<u8>>,
        outcome: Result<String, StoreError>,
    ) {
        self.note(format!(
            "write of {key} with {condition:?}, {:?} bytes: {outcome:?}",
            content.as_ref().map(Vec::len)
        ));
        match outcome {
            Ok(etag) if self.holds(key, condition) => {
                match content {
                    Some(content) => self.live.insert(key.clone(), Live { etag, content }),
                    None => self.live.remove(key),
                };
            }
            Err(StoreError::Condition { .. }) if !self.holds(key, condition) => {}
            // There were enough volumes, but a step of one failed: the write may have taken effect.
            Err(StoreError::Unavailable { .. } | StoreError::Full { .. } | StoreError::Lost { .. })
                if self.tripped =>
            {
                let is_full = matches!(outcome, Err(StoreError::Full { .. }));
                self.heal().await;
                let store = self.store();
                let found = read(&store, key, None).await.ok();
                let old = self.live.get(key).map(|live| live.content.clone());
                if is_full && found != old {
                    self.fail("refused as full, but present");
                }
                if found != old && (found != content || !self.holds(key, condition)) {
                    self.fail("neither the old state nor the new one");
                }
                match found {
                    Some(content) => {
                        let etag = store.head(key).await.unwrap().etag;
                        self.live.insert(key.clone(), Live { etag, content });
                    }
                    None => {
                        self.live.remove(key);
                    }
                }
            }
            outcome => self.fail(format_args!("unexpected {outcome:?}")),
        }
    }

    async fn put(&mut self, store: &Store, key: &Key, content: Vec<u8>, condition: Condition) {
        let put = Put {
            condition: condition.clone(),
            ..Put::default()
        };
        let outcome = store.put(key, body(&content), put).await.map(|meta| meta.etag);
        self.wrote(key, &condition, Some(content), outcome).await;
    }

    async fn delete(&mut self, store: &Store, key: &Key, condition: Condition) {
        let outcome = store.delete(key, condition.clone()).await;
        if let Ok(deleted) = &outcome
            && deleted.is_some() != self.live.contains_key(key)
        {
            self.fail(format_args!("deletion of {key}: {outcome:?}"));
        }
        self.wrote(key, &condition, None, outcome.map(|_| String::new()))
            .await;
    }

    async fn copy(&mut self, store: &Store, from: &Key, to: &Key) {
        let outcome = store
            .copy(from, to, None, Condition::Always)
            .await
            .map(|meta| meta.etag);
        match (self.live.get(from).cloned(), outcome) {
            (None, Err(StoreError::NotFound(_))) => {}
            (None, Err(StoreError::Unavailable { .. })) if self.tripped => {}
            (Some(live), outcome) => {
                self.wrote(to, &Condition::Always, Some(live.content), outcome)
                    .await
            }
            (None, outcome) => self.fail(format_args!("copy of nothing: {outcome:?}")),
        }
    }

    /// Uploads parts out of order, one of them replaced.
    async fn parts(&mut self, store: &Store, key: &Key) {
        let contents: Vec<_> = (0..self.random.random_range(1..5))
            .map(|_| self.content())
            .collect();
        let outcome = self.upload(store, key, &contents).await.map(|meta| meta.etag);
        self.wrote(key, &Condition::Always, Some(contents.concat()), outcome)
            .await;
    }

    async fn upload(
        &mut self,
        store: &Store,
        key: &Key,
        contents: &[Vec<u8>],
    ) -> Result<store_protocol::Meta, StoreError> {
        let upload = store.create_multipart(key, BTreeMap::new()).await?;
        let mut order: Vec<_> = (0..contents.len()).collect();
        order.shuffle(&mut self.random);
        store
            .put_part(key, &upload.id, 1, body(b"replaced"), Put::default())
            .await?;
        let mut parts = BTreeMap::new();
        for index in order {
            let number = u32::try_from(index).unwrap() + 1;
            let body = body(&contents[index]);
            let meta = store
                .put_part(key, &upload.id, number, body, Put::default())
                .await?;
            parts.insert(number, meta.etag);
        }
        let complete = Complete {
            parts: parts.into_iter().collect(),
            ..Complete::default()
        };
        store.complete_multipart(key, &upload.id, complete).await
    }

    async fn check(&mut self, store: &Store, key: &Key) {
        let found = read(store, key, None).await;
        match (self.live.get(key), found) {
            (Some(live), Ok(found)) if live.content == found => {}
            (None, Err(StoreError::NotFound(_))) => {}
            (_, Err(StoreError::Unavailable { .. } | StoreError::Lost { .. })) if self.tripped => {}
            (_, found) => self.fail(format_args!("{key} reads {:?}", found.map(|found| found.len()))),
        }
    }

    async fn range(&mut self, store: &Store, key: &Key) {
        let Some(live) = self.live.get(key).cloned() else {
            return;
        };
        let size = live.content.len();
        if size == 0 {
            return;
        }
        let start = self.random.random_range(0..size);
        let end = self.random.random_range(start + 1..=size);
        match read(store, key, Some(start as u64..end as u64)).await {
            Ok(found) if found == live.content[start..end] => {}
            Err(StoreError::Unavailable { .. } | StoreError::Lost { .. }) if self.tripped => {}
            found => self.fail(format_args!(
                "{key} {start}..{end} reads {:?}",
                found.map(|found| found.len())
            )),
        }
    }

    async fn list(&mut self, store: &Store) {
        let prefix = *["bucket/", "bucket/a", "bucket/a/", "bucket/b/e/"]
            .choose(&mut self.random)
            .unwrap();
        let mut list = List {
            prefix: prefix.to_owned(),
            limit: self.random.random_range(1..5),
            ..List::default()
        };
        let mut found = Vec::new();
        loop {
            let page = match store.list(&list).await {
                Ok(page) => page,
                Err(StoreError::Unavailable { .. }) if self.tripped => return,
                Err(error) => self.fail(format_args!("listing: {error}")),
            };
            found.extend(page.objects.into_iter().map(|meta| (meta.key, meta.etag)));
            match page.next {
                Some(next) => list.after = Some(next),
                None => break,
            }
        }
        let below = self
            .live
            .iter()
            .filter(|(key, _)| key.as_str().starts_with(prefix));
        let expected: Vec<_> = below
            .map(|(key, live)| (key.clone(), live.etag.clone()))
            .collect();
        if found != expected {
            self.fail(format_args!(
                "listing of {prefix}: {found:?}, expected {expected:?}"
            ));
        }
    }

    async fn check_all(&mut self) {
        let store = self.store();
        for key in self.keys.clone() {
            self.check(&store, &key).await;
        }
        let open = store.list_multiparts("", None, 1000).await.unwrap().open.len();
        self.note(format!("{open} uploads left open"));
        store.expire_multiparts(Duration::ZERO).await.unwrap();
        let list = List {
            prefix: ".uploads/".to_owned(),
            limit: 10,
            ..List::default()
        };
        let left = store.list(&list).await.unwrap().objects;
        if !left.is_empty() || self.rig.uploads() > 0 {
            self.fail(format_args!(
                "{} uploads and {left:?} are left",
                self.rig.uploads()
            ));
        }
    }
}
