//! The ways between the nodes of a rig: processes that are killed, stopped and continued, and lines that are cut.
//!
//! Every question goes out from a process, in one of its lives, to a node. A process that is stopped sends nothing and
//! answers nothing until it goes on, where it was; one that was killed never does anything again, and its successor
//! begins anew. A question may be carried out although nobody hears of it any more.

use std::collections::BTreeSet;
use std::future::pending;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use contract::{
    ByteStream, Claim, Finish, Key, Meta, Node, NodeError, NodeId, NodeStatus, Receipt, ReplicaRead,
    UploadId, UploadRead, Version, Volume, VolumeAnswer, VolumeAsk, VolumeError, VolumeId,
};
use parking_lot::{Mutex, MutexGuard};
use placement::{Layout, Layouts};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// How long most answers are waited for.
const WAIT: Duration = Duration::from_millis(40);

/// What may happen to processes and lines.
pub struct Net {
    /// Nothing has happened yet, and nothing takes time: the ways are as short as they can be.
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
    /// Both ways are in it.
    cut: BTreeSet<(usize, usize)>,
}

/// The way from one process to a node.
#[derive(Clone)]
pub struct Way {
    net: Arc<Net>,
    from: usize,
    /// The life of the process that asks.
    life: u32,
    to: usize,
    /// How long an answer is waited for.
    wait: Duration,
}

/// Why there is no answer; whether the question may have arrived.
pub struct Lost {
    pub asked: bool,
}

/// The state, and who waits for it. Tokio's `watch` wakes those in an order that it draws by chance.
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

    /// Returns once this holds.
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
            // One more, which is no node and never dies.
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

    /// From now on questions take some time, by chance.
    pub fn unquiet(&self, seed: u64) {
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

    pub fn go_on(&self, node: usize) {
        self.state.change(|state| {
            state.stopped.remove(&node);
        });
    }

    pub fn cut(&self, one: usize, other: usize) {
        self.state
            .change(|state| state.cut.extend([(one, other), (other, one)]));
    }

    pub fn mend(&self) {
        self.state.change(|state| state.cut.clear());
    }

    pub fn is_down(&self, node: usize) -> bool {
        self.state.lock().down.contains(&node)
    }

    /// Returns when the process of this life has been killed.
    pub async fn killed(&self, node: usize, life: u32) {
        self.state.until(|state| state.lives[node] > life).await;
    }

    async fn pause(&self) {
        let micros = self.random.lock().random_range(0..4000);
        sleep(Duration::from_micros(micros)).await;
    }

    /// Returns when the process is not stopped; never for one that was killed.
    async fn awake(&self, node: usize, life: u32) {
        let is_awake = |state: &State| state.lives[node] > life || !state.stopped.contains(&node);
        self.state.until(is_awake).await;
        if self.life(node) != life {
            pending::<()>().await;
        }
    }
}

impl Way {
    pub fn new(net: &Arc<Net>, from: usize, life: u32, to: usize) -> Self {
        Self {
            net: net.clone(),
            from,
            life,
            to,
            wait: WAIT,
        }
    }

    /// The same, for questions that others are asked about in turn.
    pub fn patient(mut self) -> Self {
        self.wait = WAIT * 10;
        self
    }

    /// Carries a question over, which is `work` there, and its answer back.
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

/// A volume at the end of a way.
pub struct Wired {
    pub way: Way,
    pub volume: Arc<dyn Volume>,
}

impl Wired {
    async fn carried<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, VolumeError>> + Send + 'static,
    ) -> Result<T, VolumeError> {
        self.way.call(work).await.unwrap_or_else(|lost| {
            Err(VolumeError::Unreachable {
                volume: self.volume.id().clone(),
                detail: if lost.asked { "no answer" } else { "refused" }.to_owned(),
            })
        })
    }
}

#[async_trait]
impl Volume for Wired {
    fn id(&self) -> &VolumeId {
        self.volume.id()
    }

    async fn call(&self, ask: VolumeAsk) -> Result<VolumeAnswer, VolumeError> {
        let volume = self.volume.clone();
        match ask {
            // Upkeep: not part of the histories that a net is for.
            VolumeAsk::Survey { .. }
            | VolumeAsk::Verify { .. }
            | VolumeAsk::Remove { .. }
            | VolumeAsk::SettleStray { .. }
            | VolumeAsk::Rebuilt
            | VolumeAsk::Fixity { .. }
            | VolumeAsk::Status => volume.call(ask).await,
            ask => self.carried(async move { volume.call(ask).await }).await,
        }
    }

    async fn receive(&self, upload: UploadId, body: ByteStream) -> Result<Receipt, VolumeError> {
        let volume = self.volume.clone();
        self.carried(async move { volume.receive(upload, body).await })
            .await
    }

    async fn prepare_whole(&self, upload: UploadId, meta: &Meta, content: Bytes) -> Result<(), VolumeError> {
        let (volume, meta) = (self.volume.clone(), meta.clone());
        self.carried(async move { volume.prepare_whole(upload, &meta, content).await })
            .await
    }

    async fn read_upload(&self, upload: UploadId) -> Result<UploadRead, VolumeError> {
        let volume = self.volume.clone();
        self.carried(async move { volume.read_upload(upload).await })
            .await
    }

    async fn read(
        &self,
        key: &Key,
        version: Version,
        blocks: Range<u64>,
    ) -> Result<ReplicaRead, VolumeError> {
        let (volume, key) = (self.volume.clone(), key.clone());
        self.carried(async move { volume.read(&key, version, blocks).await })
            .await
    }
}

/// A node at the end of a way.
pub struct WiredNode {
    pub way: Way,
    pub node: Arc<dyn Node>,
}

impl WiredNode {
    async fn call<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, NodeError>> + Send + 'static,
    ) -> Result<T, NodeError> {
        self.way.call(work).await.unwrap_or_else(|lost| {
            Err(NodeError::Unreachable {
                node: self.node.id().clone(),
                detail: "no answer".to_owned(),
                asked: lost.asked,
            })
        })
    }
}

#[async_trait]
impl Node for WiredNode {
    fn id(&self) -> &NodeId {
        self.node.id()
    }

    async fn finish(&self, finish: Finish) -> Result<Option<Meta>, NodeError> {
        let (way, node) = (self.way.clone().patient(), self.node.clone());
        let (id, asked) = (node.id().clone(), async move { node.finish(finish).await });
        way.call(asked).await.unwrap_or_else(|lost| {
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
