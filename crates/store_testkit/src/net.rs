//! The network between the nodes of a rig: processes that are killed, stopped and continued, and
//! connections that are cut.
//!
//! Every request goes from a process, in one of its lives, to a node. A stopped process sends and
//! answers nothing until it continues where it was. A killed process never acts again, and its
//! successor starts fresh. A request may be carried out although its response is lost.

use std::collections::BTreeSet;
use std::future::pending;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use placement::{Layout, Layouts};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use store_protocol::{
    ByteStream, ChangeRequest, Claim, Key, Meta, Node, NodeError, NodeId, NodeStatus, Receipt, ReplicaRead,
    UploadId, UploadRead, Version, Volume, VolumeError, VolumeId, VolumeRequest, VolumeResponse,
};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// How long most callers wait for a response.
const WAIT: Duration = Duration::from_millis(40);

/// The failures of processes and connections.
pub struct Net {
    /// No failure has happened yet, and requests take no time: they are called directly.
    quiet: AtomicBool,
    state: Watched,
    random: Mutex<StdRng>,
}

#[derive(Clone, Default)]
struct State {
    /// How often the process of each node was killed.
    lives: Vec<u32>,
    down: BTreeSet<usize>,
    stopped: BTreeSet<usize>,
    /// A cut connection is listed in both directions.
    cut: BTreeSet<(usize, usize)>,
}

/// The connection from one process to a node.
#[derive(Clone)]
pub struct Link {
    net: Arc<Net>,
    from: usize,
    /// The life of the calling process.
    life: u32,
    to: usize,
    /// How long the caller waits for a response.
    wait: Duration,
}

/// There was no response. Says whether the request may have arrived.
pub struct Lost {
    pub asked: bool,
}

/// The state, and the tasks that wait for changes. Tokio's `watch` wakes tasks in a random order.
struct Watched {
    state: Mutex<State>,
    changed: Notify,
}

impl Watched {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.changed.notify_waiters();
    }

    /// Waits until the state satisfies `holds`.
    async fn until(&self, holds: impl Fn(&State) -> bool) {
        loop {
            let changed = self.changed.notified();
            if holds(&self.state.lock()) {
                return;
            }
            changed.await;
        }
    }
}

impl Net {
    pub fn new(nodes: usize) -> Arc<Self> {
        let state = State {
            // One more process, which is not a node and never dies.
            lives: vec![0; nodes + 1],
            ..State::default()
        };
        Arc::new(Self {
            quiet: AtomicBool::new(true),
            state: Watched {
                state: Mutex::new(state),
                changed: Notify::new(),
            },
            random: Mutex::new(StdRng::seed_from_u64(0)),
        })
    }

    /// Delays requests by random times from now on.
    pub fn delay_randomly(&self, seed: u64) {
        self.quiet.store(false, Ordering::SeqCst);
        *self.random.lock() = StdRng::seed_from_u64(seed);
    }

    pub fn life(&self, node: usize) -> u32 {
        self.state.lock().lives[node]
    }

    pub fn kill(&self, node: usize) {
        self.state.change(|state| {
            state.lives[node] += 1;
            state.down.insert(node);
            state.stopped.remove(&node);
        });
    }

    pub fn start(&self, node: usize) {
        self.state.change(|state| {
            state.down.remove(&node);
        });
    }

    pub fn stop(&self, node: usize) {
        self.state.change(|state| {
            state.stopped.insert(node);
        });
    }

    pub fn resume(&self, node: usize) {
        self.state.change(|state| {
            state.stopped.remove(&node);
        });
    }

    pub fn cut(&self, one: usize, other: usize) {
        self.state
            .change(|state| state.cut.extend([(one, other), (other, one)]));
    }

    pub fn reconnect(&self) {
        self.state.change(|state| state.cut.clear());
    }

    pub fn is_down(&self, node: usize) -> bool {
        self.state.lock().down.contains(&node)
    }

    /// Waits until the process of this life has been killed.
    pub async fn killed(&self, node: usize, life: u32) {
        self.state.until(|state| state.lives[node] > life).await;
    }

    async fn pause(&self) {
        let micros = self.random.lock().random_range(0..4000);
        sleep(Duration::from_micros(micros)).await;
    }

    /// Waits until the process is not stopped. Never returns for one that was killed.
    async fn awake(&self, node: usize, life: u32) {
        let is_awake = |state: &State| state.lives[node] > life || !state.stopped.contains(&node);
        self.state.until(is_awake).await;
        if self.life(node) != life {
            pending::<()>().await;
        }
    }
}

impl Link {
    pub fn new(net: &Arc<Net>, from: usize, life: u32, to: usize) -> Self {
        Self {
            net: net.clone(),
            from,
            life,
            to,
            wait: WAIT,
        }
    }

    /// Like this connection, for requests for which the node asks other nodes in turn.
    pub fn patient(mut self) -> Self {
        self.wait = WAIT * 10;
        self
    }

    /// Sends a request, which runs as `work` on the other side, and returns its response.
    pub async fn call<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Lost> {
        if self.net.quiet.load(Ordering::SeqCst) {
            return Ok(work.await);
        }
        let net = &self.net;
        net.awake(self.from, self.life).await;
        net.pause().await;
        net.awake(self.from, self.life).await;
        let (is_down, is_cut, target) = {
            let state = net.state.lock();
            let is_cut = state.cut.contains(&(self.from, self.to));
            (state.down.contains(&self.to), is_cut, state.lives[self.to])
        };
        if is_down {
            return Err(Lost { asked: false });
        }
        if is_cut {
            sleep(WAIT).await;
            net.awake(self.from, self.life).await;
            return Err(Lost { asked: true });
        }
        let (there, to, me) = (net.clone(), self.to, self.from);
        let carried = tokio::spawn(async move {
            if to != me {
                there.pause().await;
                there.awake(to, target).await;
            }
            work.await
        });
        let answer = timeout(
            WAIT.max(Duration::from_secs(u64::from(self.to == self.from) * 3600)),
            carried,
        )
        .await;
        net.pause().await;
        net.awake(self.from, self.life).await;
        let (was_killed, is_cut) = {
            let state = net.state.lock();
            (
                state.lives[self.to] != target,
                state.cut.contains(&(self.from, self.to)),
            )
        };
        match answer {
            Ok(Ok(answer)) if !was_killed && !is_cut => Ok(answer),
            _ => Err(Lost { asked: true }),
        }
    }
}

/// A volume behind a connection.
pub struct LinkedVolume {
    pub link: Link,
    pub volume: Arc<dyn Volume>,
}

impl LinkedVolume {
    async fn send<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, VolumeError>> + Send + 'static,
    ) -> Result<T, VolumeError> {
        self.link.call(work).await.unwrap_or_else(|lost| {
            Err(VolumeError::Unreachable {
                volume: self.volume.id().clone(),
                detail: if lost.asked { "no answer" } else { "refused" }.to_owned(),
            })
        })
    }
}

#[async_trait]
impl Volume for LinkedVolume {
    fn id(&self) -> &VolumeId {
        self.volume.id()
    }

    async fn call(&self, ask: VolumeRequest) -> Result<VolumeResponse, VolumeError> {
        let volume = self.volume.clone();
        match ask {
            // Upkeep is not part of the histories that a net is for.
            VolumeRequest::Survey { .. }
            | VolumeRequest::Verify { .. }
            | VolumeRequest::Remove { .. }
            | VolumeRequest::SettleStray { .. }
            | VolumeRequest::Rebuilt
            | VolumeRequest::Fixity { .. }
            | VolumeRequest::Status => volume.call(ask).await,
            ask => self.send(async move { volume.call(ask).await }).await,
        }
    }

    async fn receive(&self, upload: UploadId, body: ByteStream) -> Result<Receipt, VolumeError> {
        let volume = self.volume.clone();
        self.send(async move { volume.receive(upload, body).await }).await
    }

    async fn prepare_whole(&self, upload: UploadId, meta: &Meta, content: Bytes) -> Result<(), VolumeError> {
        let (volume, meta) = (self.volume.clone(), meta.clone());
        self.send(async move { volume.prepare_whole(upload, &meta, content).await })
            .await
    }

    async fn read_upload(&self, upload: UploadId) -> Result<UploadRead, VolumeError> {
        let volume = self.volume.clone();
        self.send(async move { volume.read_upload(upload).await }).await
    }

    async fn read(
        &self,
        key: &Key,
        version: Version,
        blocks: Range<u64>,
    ) -> Result<ReplicaRead, VolumeError> {
        let (volume, key) = (self.volume.clone(), key.clone());
        self.send(async move { volume.read(&key, version, blocks).await })
            .await
    }
}

/// A node behind a connection.
pub struct LinkedNode {
    pub link: Link,
    pub node: Arc<dyn Node>,
}

impl LinkedNode {
    async fn call<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, NodeError>> + Send + 'static,
    ) -> Result<T, NodeError> {
        self.link.call(work).await.unwrap_or_else(|lost| {
            Err(NodeError::Unreachable {
                node: self.node.id().clone(),
                detail: "no answer".to_owned(),
                asked: lost.asked,
            })
        })
    }
}

#[async_trait]
impl Node for LinkedNode {
    fn id(&self) -> &NodeId {
        self.node.id()
    }

    async fn decide(&self, request: ChangeRequest) -> Result<Option<Meta>, NodeError> {
        let (link, node) = (self.link.clone().patient(), self.node.clone());
        let (id, asked) = (node.id().clone(), async move { node.decide(request).await });
        link.call(asked).await.unwrap_or_else(|lost| {
            Err(NodeError::Unreachable {
                node: id,
                detail: "no answer".to_owned(),
                asked: lost.asked,
            })
        })
    }

    async fn promise(&self, claims: &[Claim]) -> Result<Vec<Claim>, NodeError> {
        let (node, claims) = (self.node.clone(), claims.to_vec());
        self.call(async move { node.promise(&claims).await }).await
    }

    async fn layouts(&self) -> Result<Layouts, NodeError> {
        let node = self.node.clone();
        self.call(async move { node.layouts().await }).await
    }

    async fn propose(&self, layout: &Layout) -> Result<(), NodeError> {
        self.node.propose(layout).await
    }

    async fn accepted(&self) -> Result<Vec<Layout>, NodeError> {
        self.node.accepted().await
    }

    async fn adopt(&self, layouts: &Layouts) -> Result<(), NodeError> {
        self.node.adopt(layouts).await
    }

    async fn status(&self) -> Result<NodeStatus, NodeError> {
        self.node.status().await
    }
}
