//! Tests of buckets that keep versions, through several nodes, against a plain model.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use store::{ListVersions, ObjectVersion, Put, Store, StoreError, VersionId, Versioning};
use store_protocol::{Condition, Key, Meta, Protect, Protection, Retention, RetentionMode};
use store_testkit::Rig;
use store_testkit::rig::{body, read};

use super::{content, key};

const HOUR_MS: u64 = 3_600_000;

async fn put(store: &Store, key: &Key, content: &[u8], versioning: Versioning) -> Result<Meta, StoreError> {
    let put = Put {
        versioning,
        ..Put::default()
    };
    store.put(key, body(content), put).await
}

async fn delete(store: &Store, key: &Key, versioning: Versioning) -> Option<VersionId> {
    let deleted = store.delete_versioned(key, Condition::Always, versioning).await;
    deleted.unwrap().marker
}

async fn remove(store: &Store, key: &Key, id: VersionId) -> Result<Option<Meta>, StoreError> {
    store.remove_version(key, id, |_| true).await
}

async fn read_version(store: &Store, key: &Key, id: VersionId) -> Result<Vec<u8>, StoreError> {
    use futures_util::TryStreamExt;
    let object = store.get_version(key, id, None).await?;
    assert_eq!(object.meta.key, *key);
    let pieces: Vec<_> = object.body.try_collect().await.unwrap();
    Ok(pieces.concat())
}

/// Returns all versions of the bucket, in pages of `limit`.
async fn list(store: &Store, mut ask: ListVersions) -> (Vec<ObjectVersion>, Vec<String>) {
    "bucket".clone_into(&mut ask.bucket);
    let (mut versions, mut prefixes) = (Vec::new(), Vec::new());
    loop {
        let page = store.list_versions(&ask).await.unwrap();
        assert!(page.versions.len() + page.prefixes.len() <= ask.limit);
        versions.extend(page.versions);
        prefixes.extend(page.prefixes);
        ask.after = page.next;
        if ask.after.is_none() {
            return (versions, prefixes);
        }
    }
}

async fn ids_of(store: &Store, key: &Key) -> Vec<VersionId> {
    let ask = ListVersions {
        prefix: key.name().to_owned(),
        limit: 1000,
        ..ListVersions::default()
    };
    let (versions, _) = list(store, ask).await;
    let of_key = versions.into_iter().filter(|version| version.meta.key == *key);
    of_key.map(|version| version.id).collect()
}

#[derive(Clone, PartialEq, Debug)]
struct Version {
    id: VersionId,
    /// `None` for a delete marker.
    content: Option<Vec<u8>>,
}

struct World {
    rig: Rig,
    random: StdRng,
    versioning: Versioning,
    /// The versions of each key, newest first.
    versions: BTreeMap<Key, Vec<Version>>,
    keys: Vec<Key>,
    /// Versions and markers that an interrupted step may have left, and that may appear later.
    left: BTreeMap<Key, BTreeSet<String>>,
    trace: Vec<String>,
}

/// Random steps through several nodes, some of them interrupted after any write. Listings and reads
/// must match a list of versions for each name.
#[tokio::test]
async fn a_bucket_that_keeps_versions_is_a_map_of_lists() {
    for seed in 0..8 {
        println!("seed {seed}");
        let mut world = World::new(seed);
        for _ in 0..60 {
            world.step().await;
        }
        world.check_all().await;
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let names = ["a", "a/b", "a/c", "a\0", "a\u{1}", "b", "a/c/d", "\u{10FFFF}/x"];
        let mut random = StdRng::seed_from_u64(seed);
        let volumes = random.random_range(2..=4);
        Self {
            rig: Rig::new(volumes, 2),
            random,
            versioning: Versioning::Unversioned,
            versions: BTreeMap::new(),
            keys: names.into_iter().map(key).collect(),
            left: BTreeMap::new(),
            trace: vec![format!("seed {seed}")],
        }
    }

    #[track_caller]
    fn fail(&self, text: impl std::fmt::Display) -> ! {
        panic!("{text}\n{}", self.trace.join("\n"));
    }

    fn of(&self, key: &Key) -> Vec<Version> {
        self.versions.get(key).cloned().unwrap_or_default()
    }

    /// Returns the versions of a key in the model after this one was written.
    fn with(&self, key: &Key, version: Version) -> Vec<Version> {
        let mut versions = self.of(key);
        match self.versioning {
            Versioning::Unversioned => versions.clear(),
            Versioning::Enabled => {}
            Versioning::Suspended => versions.retain(|version| version.id != VersionId::NULL),
        }
        versions.insert(0, version);
        versions
    }

    async fn step(&mut self) {
        let store = self.rig.stores.choose(&mut self.random).unwrap().clone();
        let key = self.keys.choose(&mut self.random).unwrap().clone();
        let versioning = self.versioning;
        let is_broken_off = versioning != Versioning::Unversioned && self.random.random_ratio(1, 5);
        match self.random.random_range(0..12) {
            0 => {
                self.versioning = match versioning {
                    Versioning::Enabled => Versioning::Suspended,
                    _ => Versioning::Enabled,
                };
                self.trace.push(format!("{:?}", self.versioning));
            }
            1..=4 => {
                let size = *[0, 5, 300_000].choose(&mut self.random).unwrap();
                let content = content(size, self.random.random());
                self.trace
                    .push(format!("put {key}, {size} bytes, broken off: {is_broken_off}"));
                let putting = put(&store, &key, &content, versioning);
                if is_broken_off {
                    self.break_off(putting).await;
                    self.after_a_break(&store, &key, Some(content)).await;
                    return;
                }
                let meta = putting.await.unwrap_or_else(|error| self.fail(error));
                let version = Version {
                    id: VersionId::of(&meta),
                    content: Some(content),
                };
                self.versions.insert(key.clone(), self.with(&key, version));
                self.check(&store, &key).await;
            }
            5 | 6 => {
                self.trace
                    .push(format!("delete {key}, broken off: {is_broken_off}"));
                if is_broken_off {
                    self.break_off(store.delete_versioned(&key, Condition::Always, versioning))
                        .await;
                    self.after_a_break(&store, &key, None).await;
                    return;
                }
                let marker = delete(&store, &key, versioning).await;
                let versions = match marker {
                    Some(id) => self.with(&key, Version { id, content: None }),
                    None => Vec::new(),
                };
                self.versions.insert(key.clone(), versions);
                self.check(&store, &key).await;
            }
            7 | 8 => {
                let versions = self.of(&key);
                let Some(chosen) = versions.choose(&mut self.random) else {
                    return;
                };
                self.trace
                    .push(format!("remove {key} {}, broken off: {is_broken_off}", chosen.id));
                let mut after = versions.clone();
                after.retain(|version| version.id != chosen.id);
                if is_broken_off {
                    self.break_off(remove(&store, &key, chosen.id)).await;
                    let left = self.left.entry(key.clone()).or_default();
                    left.insert(chosen.id.to_string());
                    if self.found(&store, &key).await == after {
                        self.versions.insert(key.clone(), after);
                    }
                } else {
                    let removed = remove(&store, &key, chosen.id).await;
                    if !matches!(removed, Ok(Some(_))) {
                        self.fail(format_args!("{removed:?}"));
                    }
                    self.versions.insert(key.clone(), after);
                }
                self.check(&store, &key).await;
            }
            9 => {
                let key = self.keys.choose(&mut self.random).unwrap().clone();
                let versions = self.of(&key);
                if let Some(chosen) = versions.choose(&mut self.random)
                    && let Some(content) = &chosen.content
                {
                    let read = read_version(&store, &key, chosen.id).await.unwrap();
                    assert!(read == *content, "{key} {}", chosen.id);
                }
            }
            _ => self.check_list(&store).await,
        }
    }

    /// Polls an operation a few times and then drops it, like a process that ends.
    async fn break_off<T>(&mut self, operation: impl Future<Output = T>) {
        let mut operation = Box::pin(operation);
        for _ in 0..self.random.random_range(0..30) {
            if futures_util::poll!(&mut operation).is_ready() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_micros(300)).await;
        }
    }

    /// Returns the listed versions of a name, with their contents.
    async fn found(&self, store: &Store, key: &Key) -> Vec<Version> {
        let ask = ListVersions {
            prefix: key.name().to_owned(),
            limit: 1000,
            ..ListVersions::default()
        };
        let mut found = Vec::new();
        for version in list(store, ask).await.0 {
            if version.meta.key != *key {
                continue;
            }
            let content = if version.is_delete_marker() {
                None
            } else {
                Some(read_version(store, key, version.id).await.unwrap())
            };
            let id = version.id;
            found.push(Version { id, content });
        }
        found
    }

    /// Checks the state after an interrupted write, which has happened or not. Its leftovers may
    /// appear later.
    async fn after_a_break(&mut self, store: &Store, key: &Key, content: Option<Vec<u8>>) {
        // Waits for a decision in progress to end.
        let _ = store.head(key).await;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        let found = self.found(store, key).await;
        if content.is_none() {
            self.left
                .entry(key.clone())
                .or_default()
                .insert("marker".to_owned());
        }
        let before = self.of(key);
        if let Some(first) = found.first()
            && found != before
            && first.content == content
        {
            let after = self.with(key, first.clone());
            self.versions.insert(key.clone(), after);
        }
        self.check(store, key).await;
    }

    async fn check(&mut self, store: &Store, key: &Key) {
        let (found, expected) = (self.found(store, key).await, self.of(key));
        if found != expected {
            // Every expected version is listed. Any other must be a leftover of a step that was
            // never confirmed.
            let left = self.left.get(key).cloned().unwrap_or_default();
            let mut rest = expected.iter().peekable();
            for version in &found {
                if rest.next_if_eq(&version).is_some() {
                    continue;
                }
                let is_marker = version.content.is_none() && left.contains("marker");
                if !is_marker && !left.contains(&version.id.to_string()) {
                    self.fail(format_args!(
                        "{key}: found {:?}, expected {:?}",
                        short(&found),
                        short(&expected)
                    ));
                }
            }
            if rest.next().is_some() {
                self.fail(format_args!(
                    "{key}: found {:?}, expected {:?}",
                    short(&found),
                    short(&expected)
                ));
            }
            self.versions.insert(key.clone(), found);
        }
        let current = self
            .of(key)
            .into_iter()
            .next()
            .and_then(|version| version.content);
        match (current, read(store, key, None).await) {
            (Some(content), Ok(found)) if content == found => {}
            (None, Err(StoreError::NotFound(_))) => {}
            (_, found) => self.fail(format_args!("{key} reads {:?}", found.map(|found| found.len()))),
        }
        let hiding = store.hiding_marker(key).await.unwrap();
        let marker = self
            .of(key)
            .into_iter()
            .next()
            .filter(|version| version.content.is_none());
        if marker.is_some() {
            assert_eq!(
                hiding.map(|hiding| hiding.id),
                marker.map(|marker| marker.id),
                "{key}"
            );
        }
    }

    async fn check_list(&mut self, store: &Store) {
        for key in self.keys.clone() {
            self.check(store, &key).await;
        }
        let prefix = *["", "a", "a/", "a\0", "b"].choose(&mut self.random).unwrap();
        let delimiter = [None, Some("/"), Some("c")]
            .choose(&mut self.random)
            .unwrap()
            .map(str::to_owned);
        let ask = ListVersions {
            prefix: prefix.to_owned(),
            delimiter: delimiter.clone(),
            limit: self.random.random_range(1..6),
            ..ListVersions::default()
        };
        let (versions, prefixes) = list(store, ask.clone()).await;
        let (mut expected, mut expected_prefixes) = (Vec::new(), BTreeSet::new());
        for (key, versions) in &self.versions {
            let Some(rest) = key.name().strip_prefix(prefix) else {
                continue;
            };
            if let Some(at) = delimiter.as_deref().and_then(|delimiter| rest.find(delimiter)) {
                if !versions.is_empty() {
                    expected_prefixes.insert(key.name()[..=prefix.len() + at].to_owned());
                }
                continue;
            }
            for (index, version) in versions.iter().enumerate() {
                expected.push((key.clone(), version.id, index == 0, version.content.is_none()));
            }
        }
        let line = |version: &ObjectVersion| {
            let is_marker = version.is_delete_marker();
            (version.meta.key.clone(), version.id, version.is_latest, is_marker)
        };
        let found: Vec<_> = versions.iter().map(line).collect();
        if found != expected || !prefixes.iter().eq(&expected_prefixes) {
            self.fail(format_args!(
                "{ask:?}: found {found:?} {prefixes:?}, expected {expected:?} {expected_prefixes:?}"
            ));
        }
    }

    async fn check_all(&mut self) {
        let store = self.rig.store().clone();
        for _ in 0..5 {
            self.check_list(&store).await;
        }
        for key in self.keys.clone() {
            for version in self.of(&key) {
                remove(&store, &key, version.id).await.unwrap();
            }
            // Leftovers of interrupted steps may appear below.
            for id in ids_of(&store, &key).await {
                remove(&store, &key, id).await.unwrap();
            }
            assert!(
                ids_of(&store, &key).await.is_empty(),
                "{key}\n{}",
                self.trace.join("\n")
            );
        }
    }
}

fn short(versions: &[Version]) -> Vec<(String, Option<usize>)> {
    let line = |version: &Version| (version.id.to_string(), version.content.as_ref().map(Vec::len));
    versions.iter().map(line).collect()
}

/// Writers of one key through all nodes: every version that was confirmed to a writer is listed
/// once, with its content.
#[tokio::test(flavor = "multi_thread")]
async fn writers_of_one_key_lose_no_version() {
    let rig = Rig::new(3, 2);
    let key = key("contended");
    let writers = rig.stores.iter().enumerate().map(|(index, store)| {
        let (store, key) = (store.clone(), key.clone());
        tokio::spawn(async move {
            let mut written = Vec::new();
            for turn in 0..6_u8 {
                let content = content(100, turn * 10 + u8::try_from(index).unwrap());
                match put(&store, &key, &content, Versioning::Enabled).await {
                    Ok(meta) => written.push((VersionId::of(&meta), Some(content))),
                    // The object is being written too often, or the decider changes: the client
                    // retries.
                    Err(StoreError::Unavailable { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                if turn == 3 {
                    let deleted = store
                        .delete_versioned(&key, Condition::Always, Versioning::Enabled)
                        .await;
                    written.extend(
                        deleted
                            .ok()
                            .and_then(|deleted| deleted.marker)
                            .map(|id| (id, None)),
                    );
                }
            }
            written
        })
    });
    let written: Vec<_> = join_all(writers)
        .await
        .into_iter()
        .flat_map(Result::unwrap)
        .collect();
    assert!(written.len() > 6, "{} writes", written.len());
    let listed = ids_of(rig.store(), &key).await;
    let once: BTreeSet<_> = listed.iter().map(ToString::to_string).collect();
    assert_eq!(once.len(), listed.len(), "{listed:?}");
    for (id, content) in written {
        assert!(once.contains(&id.to_string()), "{id} is not among {once:?}");
        if let Some(content) = content {
            assert_eq!(read_version(rig.store(), &key, id).await.unwrap(), content);
        }
    }
}

#[tokio::test]
async fn a_protected_version_is_replaced_only_where_it_is_kept() {
    let rig = Rig::new(3, 2);
    let (store, key) = (rig.store(), key("kept"));
    let retention = Retention {
        mode: RetentionMode::Compliance,
        until_ms: system::wall_ms() + HOUR_MS,
    };
    let first = Put {
        versioning: Versioning::Enabled,
        protect: Protect::extend(retention),
        ..Put::default()
    };
    let first = store.put(&key, body(b"first"), first).await.unwrap();
    let id = VersionId::of(&first);

    // It is not replaced without versions, or if there is no protected copy at the named key.
    let put_raw = |condition: Condition| {
        let put = Put {
            condition,
            ..Put::default()
        };
        store.put(&key, body(b"other"), put)
    };
    let still = |kept: Option<&str>| Condition::Version {
        version: first.version,
        kept: kept.map(|kept| Key::parse(kept).unwrap()),
    };
    let other = super::key("elsewhere");
    put(store, &other, b"first", Versioning::Unversioned)
        .await
        .unwrap();
    for condition in [
        Condition::Always,
        still(None),
        still(Some("bucket/nowhere")),
        // The same content, but not protected.
        still(Some("bucket/elsewhere")),
    ] {
        let outcome = put_raw(condition.clone()).await;
        assert!(
            matches!(outcome, Err(StoreError::Protected { .. })),
            "{condition:?}: {outcome:?}"
        );
        let outcome = store.delete(&key, condition).await;
        assert!(
            matches!(outcome, Err(StoreError::Protected { .. })),
            "{outcome:?}"
        );
    }

    let second = put(store, &key, b"second", Versioning::Enabled).await.unwrap();
    assert_eq!(Protection::of(&second.attributes), Protection::default());
    let marker = delete(store, &key, Versioning::Enabled).await.unwrap();
    let kept = store.head_version(&key, id).await.unwrap();
    assert_eq!(Protection::of(&kept.attributes).retention, Some(retention));
    let refused = remove(store, &key, id).await;
    assert!(
        matches!(refused, Err(StoreError::Protected { .. })),
        "{refused:?}"
    );

    // It becomes current again when all versions above it are removed. It is still protected, and
    // in one place.
    remove(store, &key, marker).await.unwrap();
    remove(store, &key, VersionId::of(&second)).await.unwrap();
    assert_eq!(read(store, &key, None).await.unwrap(), b"first");
    assert_eq!(ids_of(store, &key).await, [id]);
    let refused = remove(store, &key, id).await;
    assert!(
        matches!(refused, Err(StoreError::Protected { .. })),
        "{refused:?}"
    );
    let places = rig.keys().into_iter().filter(|key| key.bucket() == ".versions");
    let live = join_all(places.map(|place| async move { store.head(&place).await.is_ok() })).await;
    assert!(!live.contains(&true), "a copy of it is left");
}

/// Regression test: the version below had the same content without a hold. It replaced the held
/// one, because that looked like the same content written again, and the hold was lost.
#[tokio::test]
async fn a_held_version_does_not_give_way_to_one_of_the_same_content() {
    let rig = Rig::new(2, 2);
    let (store, key) = (rig.store(), key("held"));
    put(store, &key, b"same", Versioning::Enabled).await.unwrap();
    let held = VersionId::of(&put(store, &key, b"same", Versioning::Enabled).await.unwrap());
    let hold = Protect {
        hold: Some(true),
        ..Protect::default()
    };
    store.protect(&key, hold).await.unwrap();
    let refused = remove(store, &key, held).await;
    assert!(
        matches!(refused, Err(StoreError::Protected { .. })),
        "{refused:?}"
    );
    let meta = store.head_version(&key, held).await.unwrap();
    assert!(Protection::of(&meta.attributes).hold);
    assert_eq!(ids_of(store, &key).await.len(), 2);
}

/// Regression test: a put in a suspended bucket was interrupted before it removed the version that
/// it replaced. That version reappeared when the new one was removed.
#[tokio::test]
async fn a_null_version_that_was_replaced_does_not_come_back() {
    let rig = Rig::new(2, 2);
    let (store, key) = (rig.store(), key("null"));
    put(store, &key, b"replaced", Versioning::Unversioned)
        .await
        .unwrap();
    let kept = VersionId::of(&put(store, &key, b"kept", Versioning::Enabled).await.unwrap());
    let mut places = rig.keys().into_iter().filter(|key| key.bucket() == ".versions");
    let place = places.next().unwrap();
    let left = store.head(&place).await.unwrap();
    put(store, &key, b"new", Versioning::Suspended).await.unwrap();
    assert!(store.head(&place).await.is_err(), "the object must be removed");
    let again = Put {
        attributes: left.attributes,
        ..Put::default()
    };
    store.put(&place, body(b"replaced"), again).await.unwrap();

    assert_eq!(ids_of(store, &key).await, [VersionId::NULL, kept]);
    remove(store, &key, VersionId::NULL).await.unwrap();
    assert_eq!(read(store, &key, None).await.unwrap(), b"kept");
    assert_eq!(ids_of(store, &key).await, [kept]);
    assert!(store.head(&place).await.is_err());
}

/// Setting a tag or a retention makes no version: the id stays, wherever the version is stored.
#[tokio::test]
async fn a_version_that_is_written_again_keeps_its_id() {
    let rig = Rig::new(2, 2);
    let (store, key) = (rig.store(), key("tagged"));
    let first = VersionId::of(&put(store, &key, b"first", Versioning::Enabled).await.unwrap());
    let second = VersionId::of(&put(store, &key, b"second", Versioning::Enabled).await.unwrap());
    for id in [first, second] {
        let written = store.rewrite(
            &key,
            Some(id),
            Versioning::Enabled,
            Protect::default(),
            |_, attributes| {
                attributes.insert("x-amz-tagging".to_owned(), "a=b".to_owned());
                Ok::<_, std::convert::Infallible>(())
            },
        );
        written.await.unwrap().unwrap();
        assert_eq!(
            store.head_version(&key, id).await.unwrap().attributes["x-amz-tagging"],
            "a=b"
        );
    }
    store
        .protect(
            &key,
            Protect {
                hold: Some(true),
                ..Protect::default()
            },
        )
        .await
        .unwrap();
    assert_eq!(ids_of(store, &key).await, [second, first]);
    let third = VersionId::of(&put(store, &key, b"second", Versioning::Enabled).await.unwrap());
    assert_eq!(ids_of(store, &key).await, [third, second, first]);
    let tagged = store.head_version(&key, second).await.unwrap();
    assert!(Protection::of(&tagged.attributes).hold && tagged.attributes["x-amz-tagging"] == "a=b");
}

#[tokio::test]
async fn a_bucket_with_older_versions_is_not_empty() {
    let rig = Rig::new(2, 2);
    let store = rig.store();
    let attributes = BTreeMap::from([Versioning::Enabled.attribute()]);
    let bucket = store.make_bucket("bucket", attributes).await.unwrap().unwrap();
    assert_eq!(bucket.versioning(), Versioning::Enabled);
    assert_eq!(store.versioning("bucket").await.unwrap(), Versioning::Enabled);
    let key = key("x");
    let id = VersionId::of(&put(store, &key, b"x", Versioning::Enabled).await.unwrap());
    let marker = delete(store, &key, Versioning::Enabled).await.unwrap();
    for left in [id, marker] {
        let refused = store.remove_bucket("bucket").await.unwrap_err();
        assert!(refused.to_string().contains("older versions"), "{refused}");
        remove(store, &key, left).await.unwrap();
    }
    store.remove_bucket("bucket").await.unwrap();
}
