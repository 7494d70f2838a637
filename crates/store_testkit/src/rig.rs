//! A cluster of volumes in memory: one node per volume, one store per node, all in this process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use cluster::{Guarded, Promises};
use futures_util::stream::{self, TryStreamExt};
use parking_lot::Mutex;
use placement::{Layout, Layouts, NodeRole, Roles, VolumeRole};
use store::{Cluster, Connect, LayoutTag, Put, Store, StoreError, Timeouts, Topology};
use store_protocol::{
    ByteStream, ChangeRequest, Claim, Key, Meta, Node, NodeError, NodeId, NodeStatus, Volume, VolumeId,
};

use super::MemoryVolume;
use super::net::{Link, LinkedNode, LinkedVolume, Net};

/// Short times, so that tests of late volumes are quick.
pub const TIMEOUTS: Timeouts = Timeouts {
    hedge: Duration::from_millis(60),
    answer: Duration::from_secs(2),
    stall: Duration::from_millis(500),
    decide: Duration::from_millis(300),
    probe: Duration::from_millis(100),
};

/// Topologies by layout, to reuse their tables: thousands of rigs have one of a few layouts.
static KNOWN: Mutex<BTreeMap<String, Arc<Topology>>> = Mutex::new(BTreeMap::new());

/// Volumes, nodes and stores.
pub struct Rig {
    pub volumes: Vec<Arc<MemoryVolume>>,
    pub nodes: Vec<Arc<MemoryNode>>,
    /// One per node.
    pub stores: Vec<Store>,
    pub net: Arc<Net>,
    layouts: Layouts,
    timeouts: Timeouts,
}

/// A node that decides through its store.
pub struct MemoryNode {
    id: NodeId,
    store: Mutex<Option<Store>>,
    promises: Arc<Promises>,
    pub is_reachable: AtomicBool,
}

/// The handles of one process.
struct Handles {
    net: Arc<Net>,
    from: usize,
    life: u32,
    volumes: Vec<Arc<MemoryVolume>>,
    nodes: Vec<Arc<MemoryNode>>,
}

impl Rig {
    pub fn new(volumes: usize, replicas: u8) -> Self {
        Self::growing(volumes, volumes, replicas)
    }

    /// Makes a rig in which only the first volumes take part at first; see [`Rig::grow`].
    pub fn growing(first: usize, volumes: usize, replicas: u8) -> Self {
        Self::made(
            layout(1, first, 1, replicas),
            layout(1, volumes, 1, replicas).roles,
        )
    }

    /// Makes nodes with this many volumes each, every node in a separate zone.
    pub fn of_nodes(nodes: usize, each: usize, replicas: u8) -> Self {
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
        let mut rig = Self {
            net: Net::new(nodes.len()),
            volumes,
            nodes,
            stores: Vec::new(),
            layouts,
            timeouts: TIMEOUTS,
        };
        rig.begin();
        rig
    }

    /// Returns the same rig with other time limits.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self.stores.clear();
        self.begin();
        self
    }

    fn begin(&mut self) {
        self.stores = (0..self.nodes.len()).map(|node| self.process(node)).collect();
    }

    /// Starts a process of a node, in its present life.
    fn process(&self, node: usize) -> Store {
        let handles = Handles {
            net: self.net.clone(),
            from: node,
            life: self.net.life(node),
            volumes: self.volumes.clone(),
            nodes: self.nodes.clone(),
        };
        let me = self.nodes.get(node);
        let name = me.map(|node| node.id.clone());
        let before = KNOWN.lock().get(&self.layouts.current.digest()).cloned();
        let cluster =
            Cluster::with_tables_of(before.as_deref(), name, self.layouts.clone(), Box::new(handles));
        KNOWN
            .lock()
            .entry(self.layouts.current.digest())
            .or_insert_with(|| cluster.topology());
        let store = Store::with_timeouts(cluster, self.timeouts);
        if let Some(me) = me {
            *me.store.lock() = Some(store.clone());
        }
        store
    }

    /// Returns the store of a process that is not a node.
    pub fn client(&self) -> Store {
        self.process(self.nodes.len())
    }

    /// Returns the store of a node's current process.
    pub fn store_of(&self, node: usize) -> Store {
        self.nodes[node].store.lock().clone().unwrap()
    }

    /// Starts the process of a killed node again.
    pub fn restart(&self, node: usize) {
        self.volumes_of(node).for_each(|volume| volume.restart());
        self.process(node);
        self.net.start(node);
    }

    /// Returns the volumes of a node.
    pub fn volumes_of(&self, node: usize) -> impl Iterator<Item = &Arc<MemoryVolume>> {
        let name = format!("n{node}/");
        self.volumes
            .iter()
            .filter(move |volume| volume.id().0.starts_with(&name))
    }

    /// Puts the next layout, of this many volumes, into force. Reads still look into the older
    /// ones.
    pub fn grow(&self, volumes: usize) {
        for store in &self.stores {
            let now = store.cluster().topology().layouts.clone();
            let current = layout(now.current.number + 1, volumes, 1, now.current.roles.replicas);
            let older = std::iter::once(now.current).chain(now.older).collect();
            store.cluster().adopt(Layouts { current, older });
        }
    }

    /// Returns all keys that any volume holds.
    pub fn keys(&self) -> BTreeSet<Key> {
        self.volumes.iter().flat_map(|volume| volume.keys()).collect()
    }

    /// Returns the first node's store.
    pub fn store(&self) -> &Store {
        &self.stores[0]
    }

    pub fn volume(&self, id: &VolumeId) -> &Arc<MemoryVolume> {
        self.volumes.iter().find(|volume| volume.id() == id).unwrap()
    }

    /// Returns the home volumes of a key, decider first.
    pub fn home(&self, key: &Key) -> Vec<&Arc<MemoryVolume>> {
        let topology = self.store().cluster().topology();
        topology
            .home(key.partition())
            .iter()
            .map(|id| self.volume(id))
            .collect()
    }

    /// Returns the volumes that hold a key's newest version, live or tombstone.
    pub fn holders(&self, key: &Key) -> Vec<&Arc<MemoryVolume>> {
        let version = |volume: &&Arc<MemoryVolume>| volume.held(key).map(|held| held.meta.version);
        let newest = self.volumes.iter().filter_map(|volume| version(&volume)).max();
        let holds = |volume: &&Arc<MemoryVolume>| newest.is_some() && version(volume) == newest;
        self.volumes.iter().filter(holds).collect()
    }

    /// Returns the number of uploads neither committed nor aborted.
    pub fn uploads(&self) -> usize {
        self.volumes.iter().map(|volume| volume.uploads()).sum()
    }

    pub async fn put(&self, key: &Key, content: &[u8]) -> Result<Meta, StoreError> {
        self.store().put(key, body(content), Put::default()).await
    }

    pub async fn get(&self, key: &Key) -> Result<Vec<u8>, StoreError> {
        read(self.store(), key, None).await
    }
}

/// Returns a layout of this many nodes and volumes per node, each node in a separate zone.
fn layout(number: u64, nodes: usize, each: usize, replicas: u8) -> Layout {
    let node = |i: usize| NodeRole {
        id: NodeId::from(format!("n{i}")),
        zone: format!("z{i}"),
        address: format!("127.0.0.1:{i}"),
    };
    let volume = |(i, j): (usize, usize)| VolumeRole {
        // The first volume has the same name as the only volume of a node.
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

/// Returns content in pieces of uneven lengths.
pub fn body(content: &[u8]) -> ByteStream {
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
pub async fn read(
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
            promises: Promises::in_memory(),
            is_reachable: AtomicBool::new(true),
        })
    }

    fn unreachable(&self) -> NodeError {
        NodeError::Unreachable {
            node: self.id.clone(),
            detail: "injected fault".to_owned(),
            asked: false,
        }
    }
}

impl Handles {
    fn link(&self, node: &NodeId) -> (Link, Arc<MemoryNode>) {
        let to = self.nodes.iter().position(|handle| handle.id == *node).unwrap();
        (
            Link::new(&self.net, self.from, self.life, to),
            self.nodes[to].clone(),
        )
    }
}

impl Connect for Handles {
    fn volume(&self, _: LayoutTag, volume: &VolumeRole, _: &NodeRole) -> Arc<dyn Volume> {
        let found = self.volumes.iter().find(|handle| *handle.id() == volume.id);
        let (link, node) = self.link(&volume.node);
        let volume = Guarded::by(found.unwrap().clone(), node.promises.clone());
        Arc::new(LinkedVolume { link, volume })
    }

    fn node(&self, _: LayoutTag, node: &NodeRole) -> Arc<dyn Node> {
        let (link, node) = self.link(&node.id);
        Arc::new(LinkedNode { link, node })
    }
}

#[async_trait]
impl Node for MemoryNode {
    fn id(&self) -> &NodeId {
        &self.id
    }

    async fn decide(&self, request: ChangeRequest) -> Result<Option<Meta>, NodeError> {
        let store = self.store.lock().clone();
        match store {
            Some(store) if self.is_reachable.load(Ordering::SeqCst) => store.decide_or_relay(request).await,
            _ => Err(self.unreachable()),
        }
    }

    async fn promise(&self, claims: &[Claim]) -> Result<Vec<Claim>, NodeError> {
        let promised = self.promises.promise(claims).await;
        promised.map_err(|error| NodeError::Failed(error.to_string()))
    }

    async fn layouts(&self) -> Result<Layouts, NodeError> {
        let store = self.store.lock().clone();
        match store {
            Some(store) if self.is_reachable.load(Ordering::SeqCst) => {
                Ok(store.cluster().topology().layouts.clone())
            }
            _ => Err(self.unreachable()),
        }
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
