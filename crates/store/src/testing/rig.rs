//! A cluster of volumes in memory: one node per volume, one store per node, all in this process.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, TryStreamExt};
use parking_lot::Mutex;

use super::MemoryVolume;
use crate::cluster::{Cluster, Connect, LayoutTag};
use crate::key::Key;
use crate::layout::{Layout, Layouts, NodeRole, Roles, VolumeRole};
use crate::meta::Meta;
use crate::node::{Finish, Node, NodeError, NodeStatus};
use crate::store::{Patience, Put, Store, StoreError};
use crate::volume::{ByteStream, NodeId, Volume, VolumeId};

/// Short, so that tests of late volumes are quick.
pub(crate) const PATIENCE: Patience = Patience {
    hedge: Duration::from_millis(60),
    answer: Duration::from_secs(2),
    stall: Duration::from_millis(500),
};

/// Volumes, nodes and stores.
pub(crate) struct Rig {
    pub(crate) volumes: Vec<Arc<MemoryVolume>>,
    pub(crate) nodes: Vec<Arc<MemoryNode>>,
    /// One for each node.
    pub(crate) stores: Vec<Store>,
}

/// A node that decides by its store.
pub(crate) struct MemoryNode {
    id: NodeId,
    store: Mutex<Option<Store>>,
    pub(crate) is_reachable: AtomicBool,
}

struct Handles {
    volumes: Vec<Arc<MemoryVolume>>,
    nodes: Vec<Arc<MemoryNode>>,
}

impl Rig {
    pub(crate) fn new(volumes: usize, replicas: u8) -> Self {
        Self::growing(volumes, volumes, replicas)
    }

    /// Volumes of which only the first take part at first; see [`Rig::grow`].
    pub(crate) fn growing(first: usize, volumes: usize, replicas: u8) -> Self {
        Self::made(
            layout(1, first, 1, replicas),
            layout(1, volumes, 1, replicas).roles,
        )
    }

    /// Nodes of so many volumes each, every node a zone.
    pub(crate) fn of_nodes(nodes: usize, each: usize, replicas: u8) -> Self {
        let layout = layout(1, nodes, each, replicas);
        let roles = layout.roles.clone();
        Self::made(layout, roles)
    }

    fn made(current: Layout, roles: Roles) -> Self {
        let layouts = Layouts {
            current,
            older: Vec::new(),
        };
        let volumes: Vec<_> = roles
            .volumes
            .iter()
            .map(|role| MemoryVolume::new(role.id.clone()))
            .collect();
        let nodes: Vec<_> = roles
            .nodes
            .iter()
            .map(|role| MemoryNode::new(role.id.clone()))
            .collect();
        let store = |node: &Arc<MemoryNode>| {
            let handles = Handles {
                volumes: volumes.clone(),
                nodes: nodes.clone(),
            };
            let cluster = Cluster::new(Some(node.id.clone()), layouts.clone(), Box::new(handles));
            let store = Store::with_patience(cluster, PATIENCE);
            *node.store.lock() = Some(store.clone());
            store
        };
        let stores = nodes.iter().map(store).collect();
        Self {
            volumes,
            nodes,
            stores,
        }
    }

    /// Takes the next layout into force, of so many volumes; the older ones are still looked into.
    pub(crate) fn grow(&self, volumes: usize) {
        for store in &self.stores {
            let now = store.cluster().view().layouts.clone();
            let current = layout(now.current.number + 1, volumes, 1, now.current.roles.replicas);
            let older = std::iter::once(now.current).chain(now.older).collect();
            store.cluster().adopt(Layouts { current, older });
        }
    }

    /// All keys that any volume holds.
    pub(crate) fn keys(&self) -> BTreeSet<Key> {
        self.volumes.iter().flat_map(|volume| volume.keys()).collect()
    }

    /// The first node's store.
    pub(crate) fn store(&self) -> &Store {
        &self.stores[0]
    }

    pub(crate) fn volume(&self, id: &VolumeId) -> &Arc<MemoryVolume> {
        self.volumes.iter().find(|volume| volume.id() == id).unwrap()
    }

    /// The volumes of a key's home, owner first.
    pub(crate) fn home(&self, key: &Key) -> Vec<&Arc<MemoryVolume>> {
        let view = self.store().cluster().view();
        view.home(key.partition())
            .iter()
            .map(|id| self.volume(id))
            .collect()
    }

    /// The volumes that hold a key's newest version, live or tombstone.
    pub(crate) fn holders(&self, key: &Key) -> Vec<&Arc<MemoryVolume>> {
        let version = |volume: &&Arc<MemoryVolume>| volume.held(key).map(|held| held.meta.version);
        let newest = self.volumes.iter().filter_map(|volume| version(&volume)).max();
        let holds = |volume: &&Arc<MemoryVolume>| newest.is_some() && version(volume) == newest;
        self.volumes.iter().filter(holds).collect()
    }

    /// Uploads neither committed nor given up.
    pub(crate) fn uploads(&self) -> usize {
        self.volumes.iter().map(|volume| volume.uploads()).sum()
    }

    pub(crate) async fn put(&self, key: &Key, content: &[u8]) -> Result<Meta, StoreError> {
        self.store().put(key, body(content), Put::default()).await
    }

    pub(crate) async fn get(&self, key: &Key) -> Result<Vec<u8>, StoreError> {
        read(self.store(), key, None).await
    }
}

/// A layout of so many nodes of so many volumes, each node in a zone of its own.
fn layout(number: u64, nodes: usize, each: usize, replicas: u8) -> Layout {
    let node = |i: usize| NodeRole {
        id: NodeId::from(format!("n{i}")),
        zone: format!("z{i}"),
        address: format!("127.0.0.1:{i}"),
    };
    let volume = |(i, j): (usize, usize)| VolumeRole {
        // The first one's name is that of an only one.
        id: VolumeId::from(format!(
            "n{i}/v{}",
            if j == 0 { String::new() } else { j.to_string() }
        )),
        node: NodeId::from(format!("n{i}")),
        zone: format!("z{i}"),
        weight: 1,
    };
    let places = (0..nodes).flat_map(|i| (0..each).map(move |j| (i, j)));
    let roles = Roles {
        replicas,
        nodes: (0..nodes).map(node).collect(),
        volumes: places.map(volume).collect(),
        retired: BTreeSet::new(),
    };
    Layout {
        number,
        seed: 7,
        roles,
    }
}

/// A content in pieces of uneven lengths.
pub(crate) fn body(content: &[u8]) -> ByteStream {
    let whole = Bytes::copy_from_slice(content);
    let lengths = [10_000usize, 1, 300_000, 70_000];
    let pieces = stream::unfold((whole, 0usize), move |(mut rest, turn)| async move {
        if rest.is_empty() {
            return None;
        }
        let piece = rest.split_to(lengths[turn % lengths.len()].min(rest.len()));
        Some((Ok(piece), (rest, turn + 1)))
    });
    Box::pin(pieces)
}

/// Reads an object or a range of it.
pub(crate) async fn read(
    store: &Store,
    key: &Key,
    range: Option<std::ops::Range<u64>>,
) -> Result<Vec<u8>, StoreError> {
    let object = store.get(key, range).await?;
    let pieces: Vec<Bytes> = object
        .body
        .try_collect()
        .await
        .map_err(|error| StoreError::Lost {
            key: key.to_string(),
            detail: error.to_string(),
        })?;
    Ok(pieces.concat())
}

impl MemoryNode {
    fn new(id: NodeId) -> Arc<Self> {
        Arc::new(Self {
            id,
            store: Mutex::new(None),
            is_reachable: AtomicBool::new(true),
        })
    }

    fn unreachable(&self) -> NodeError {
        NodeError::Unreachable {
            node: self.id.clone(),
            detail: "told to".to_owned(),
        }
    }
}

impl Connect for Handles {
    fn volume(&self, _: LayoutTag, volume: &VolumeRole, _: &NodeRole) -> Arc<dyn Volume> {
        let found = self.volumes.iter().find(|handle| *handle.id() == volume.id);
        Arc::clone(found.unwrap()) as Arc<dyn Volume>
    }

    fn node(&self, _: LayoutTag, node: &NodeRole) -> Arc<dyn Node> {
        let found = self.nodes.iter().find(|handle| handle.id == node.id);
        Arc::clone(found.unwrap()) as Arc<dyn Node>
    }
}

#[async_trait]
impl Node for MemoryNode {
    fn id(&self) -> &NodeId {
        &self.id
    }

    async fn finish(&self, finish: Finish) -> Result<Meta, NodeError> {
        let store = self.store.lock().clone();
        match store {
            Some(store) if self.is_reachable.load(Ordering::SeqCst) => store.finish_here(finish).await,
            _ => Err(self.unreachable()),
        }
    }

    async fn layouts(&self) -> Result<Layouts, NodeError> {
        Err(self.unreachable())
    }

    async fn propose(&self, _: &Layout) -> Result<(), NodeError> {
        Err(self.unreachable())
    }

    async fn accepted(&self) -> Result<Vec<Layout>, NodeError> {
        Err(self.unreachable())
    }

    async fn adopt(&self, _: &Layouts) -> Result<(), NodeError> {
        Err(self.unreachable())
    }

    async fn status(&self) -> Result<NodeStatus, NodeError> {
        Err(self.unreachable())
    }
}
