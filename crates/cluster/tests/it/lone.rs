//! A store of one process with volumes `a`, `b`, ..., described by a `node.toml` in a temporary
//! directory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use cluster::{ConnectSettings, Connection, NodeSettings, RunningNode};
use futures_util::TryStreamExt as _;
use placement::Layouts;
use store::upkeep::{RepairOptions, census, repair_all};
use store::{Put, Store};
use store_protocol::{FixityEvent, Key, VolumeId, VolumeState};
use tempfile::TempDir;

use crate::wire::{content, pieces};

/// Number of objects written by [`Lone::fill`].
pub(crate) const OBJECTS: usize = 30;

/// Longest wait for an expected change.
const PING_AFTER: Duration = Duration::from_secs(120);

/// The settings and volumes of such a store, removed when dropped.
pub(crate) struct Lone {
    dir: TempDir,
}

impl Lone {
    pub(crate) fn new(volumes: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut toml =
            "id = \"local\"\nsecret = \"secret\"\n[upkeep]\nwatch_every_s = 0.05\nretry_after_s = 0.05\n"
                .to_owned();
        for volume in volumes {
            toml += &format!("[[volume]]\npath = {volume:?}\n");
        }
        std::fs::write(dir.path().join("node.toml"), toml).unwrap();
        Self { dir }
    }

    /// Returns a store with objects in it, and no process.
    pub(crate) async fn filled(volumes: &[&str]) -> Self {
        let lone = Self::new(volumes);
        let node = lone.start().await;
        fill(&node.store()).await;
        node.shutdown().await;
        lone
    }

    pub(crate) fn toml(&self) -> PathBuf {
        self.dir.path().join("node.toml")
    }

    pub(crate) fn path(&self, volume: &str) -> PathBuf {
        self.dir.path().join(volume)
    }

    /// Returns settings with background workers.
    pub(crate) fn served(&self) -> NodeSettings {
        NodeSettings::read(&self.toml()).unwrap()
    }

    /// Returns settings without background workers.
    pub(crate) fn settings(&self) -> NodeSettings {
        NodeSettings {
            upkeep: None,
            ..self.served()
        }
    }

    /// Starts a node without background workers.
    pub(crate) async fn start(&self) -> RunningNode {
        cluster::start(self.settings()).await.unwrap()
    }

    /// Connects as a short command does.
    pub(crate) async fn connect(&self) -> Connection {
        cluster::connect(ConnectSettings::Node(self.toml()))
            .await
            .unwrap()
    }
}

pub(crate) fn key(i: usize) -> Key {
    Key::parse(&format!("b/{i}")).unwrap()
}

fn content_of(i: usize) -> Vec<u8> {
    content(i * 10_000, i as u8)
}

pub(crate) async fn fill(store: &Store) {
    for i in 0..OBJECTS {
        store
            .put(&key(i), pieces(&content_of(i)), Put::default())
            .await
            .unwrap();
    }
}

pub(crate) fn layouts(store: &Store) -> Layouts {
    store.cluster().topology().layouts.clone()
}

pub(crate) async fn state(store: &Store, volume: &str) -> VolumeState {
    let topology = store.cluster().topology();
    let volume = &topology.volumes[&VolumeId::from(volume.to_owned())];
    match volume.status().await {
        Ok(status) => status.state,
        Err(error) => VolumeState::Out(error.to_string()),
    }
}

/// Returns the fixity log's lines about volumes.
pub(crate) async fn story(store: &Store) -> Vec<FixityEvent> {
    let topology = store.cluster().topology();
    let mut lines = Vec::new();
    for volume in topology.volumes.values() {
        lines.extend(volume.fixity(None, 100_000).await.unwrap_or_default());
    }
    lines.retain(|line| line.key.is_none());
    lines
}

/// Checks that every object reads back correctly.
pub(crate) async fn check_read(store: &Store) {
    for i in 0..OBJECTS {
        let object = store.get(&key(i), None).await.unwrap();
        let body: Vec<Bytes> = object.body.try_collect().await.unwrap();
        assert_eq!(body.concat(), content_of(i), "{}", key(i));
    }
}

/// Checks that every object reads back correctly, and all its replicas are where they belong.
pub(crate) async fn check_whole(store: &Store) {
    check_read(store).await;
    let census = census(&store.cluster().topology(), &|_| {}).await;
    assert!(
        census.is_whole() && census.objects == OBJECTS as u64,
        "{census:#?}"
    );
}

pub(crate) async fn repair(store: &Store) {
    let report = repair_all(store.cluster(), &RepairOptions::default(), &|_| {}).await;
    assert_eq!(report.failures, 0, "{report:#?}");
}

/// Empties a directory at once, as if a new disk were mounted there.
pub(crate) fn wipe(dir: &Path) {
    let gone = dir.with_extension("gone");
    std::fs::create_dir(&gone).unwrap();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        std::fs::rename(entry.path(), gone.join(entry.file_name())).unwrap();
    }
    std::fs::remove_dir_all(&gone).unwrap();
}

pub(crate) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let waited = tokio::time::timeout(PING_AFTER, async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(waited.await.is_ok(), "{what} did not happen in time");
}
