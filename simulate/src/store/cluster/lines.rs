//! The network between the nodes of a simulated cluster: requests of one node to another, with the
//! layout they were made under.
//!
//! It behaves like the protocol between nodes: a request made under another layout than the
//! receiver's is rejected. The response has the receiver's layouts, and both sides adopt the newer
//! ones.

use std::collections::BTreeMap;
use std::future::pending;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use cluster::BareNode;
use futures_util::StreamExt as _;
use parking_lot::Mutex;
use placement::{Layout, Layouts, NodeRole, VolumeRole};
use store::{Connect, LayoutTag};
use store_protocol::{
    ByteStream, ChangeRequest, Claim, Key, Meta, Node, NodeError, NodeId, NodeStatus, Receipt, ReplicaRead,
    UploadId, UploadRead, Version, Volume, VolumeError, VolumeId, VolumeRequest, VolumeResponse,
};
use store_testkit::Dice;
use store_testkit::net::{Link, Lost, Net};

use crate::Trace;

/// One in this many transferred contents is damaged, while faults are active.
const DAMAGED_ONE_IN: u64 = 12;

/// How a volume answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Slow(Duration),
    Silent,
}

/// The processes and the network between them.
pub(super) struct Switchboard {
    pub(super) net: Arc<Net>,
    /// The running process of each node.
    pub(super) nodes: Vec<Mutex<Option<BareNode>>>,
    /// Volumes that are slow or silent.
    pub(super) moods: Mutex<BTreeMap<VolumeId, Mood>>,
    /// Decides which contents are damaged in transit; `None` for none.
    pub(super) damage: Mutex<Option<Dice>>,
    pub(super) trace: Trace,
}

/// The network connections of one process.
#[derive(Clone)]
pub(super) struct Lines {
    pub(super) board: Arc<Switchboard>,
    pub(super) from: usize,
    pub(super) life: u32,
}

/// One end of a connection.
#[derive(Clone)]
struct End {
    lines: Lines,
    to: usize,
    node: NodeId,
    under: LayoutTag,
    way: Link,
}

/// A bit flip in transit, in one piece of a content.
struct Damage {
    piece: u64,
    at: u64,
}

/// Why a request was not answered.
enum Refused<E> {
    Said(E),
    /// The receiver has another layout in force.
    Layouts(Layouts),
}

struct FarVolume {
    end: End,
    id: VolumeId,
}

struct FarNode(End);

/// Returns the number of a node from its name, such as `n3`.
pub(super) fn number_of(node: &NodeId) -> usize {
    let number = node.0.strip_prefix('n').and_then(|number| number.parse().ok());
    number.expect("the name of a node is n and a number")
}

impl Damage {
    fn of_stream(self, body: ByteStream) -> ByteStream {
        let pieces = body.enumerate().map(move |(number, piece)| match piece {
            Ok(piece) if number as u64 == self.piece => Ok(self.of_bytes(&piece)),
            piece => piece,
        });
        Box::pin(pieces)
    }

    fn of_bytes(&self, bytes: &Bytes) -> Bytes {
        let mut damaged = bytes.to_vec();
        if let Some(byte) = damaged.get_mut((self.at % bytes.len().max(1) as u64) as usize) {
            *byte ^= 1 << (self.at % 8);
        }
        damaged.into()
    }
}

impl Switchboard {
    pub(super) fn node(&self, number: usize) -> Option<BareNode> {
        self.nodes.get(number)?.lock().clone()
    }

    /// Returns when the volume answers; never for a silent one.
    async fn mood(&self, volume: &VolumeId) {
        let mood = self.moods.lock().get(volume).copied();
        match mood {
            Some(Mood::Slow(time)) => tokio::time::sleep(time).await,
            Some(Mood::Silent) => pending().await,
            None => {}
        }
    }
}

impl Lines {
    /// Returns a content as the receiver gets it.
    fn carry(&self, to: usize, body: ByteStream) -> ByteStream {
        match self.damage(to) {
            Some(damage) => damage.of_stream(body),
            None => body,
        }
    }

    /// Decides whether the next content is damaged. Transfers within a process are never damaged.
    fn damage(&self, to: usize) -> Option<Damage> {
        let mut dice = self.board.damage.lock();
        let dice = dice.as_mut().filter(|_| to != self.from)?;
        if dice.roll(DAMAGED_ONE_IN) != 0 {
            return None;
        }
        self.board.trace.count("contents damaged in transit");
        self.board.trace.line(format_args!(
            "a content is damaged between {} and {to}",
            self.from
        ));
        Some(Damage {
            piece: dice.roll(2),
            at: dice.roll(u64::MAX),
        })
    }

    fn end(&self, node: &NodeId, under: LayoutTag) -> End {
        let to = number_of(node);
        End {
            lines: self.clone(),
            to,
            node: node.clone(),
            under,
            way: Link::new(&self.board.net, self.from, self.life, to),
        }
    }
}

impl End {
    /// Returns the process at the other end, if it has the same layout.
    async fn there<E>(&self, needs_layout: bool, gone: E) -> Result<BareNode, Refused<E>> {
        let Some(node) = self.lines.board.node(self.to) else {
            return Err(Refused::Said(gone));
        };
        // A node's requests to itself do not use the network.
        if needs_layout && self.to != self.lines.from {
            let Ok(layouts) = node.node().layouts().await else {
                return Err(Refused::Said(gone));
            };
            if LayoutTag::of(&layouts.current) != self.under {
                return Err(Refused::Layouts(layouts));
            }
        }
        Ok(node)
    }

    /// Resolves different layouts of two nodes: both adopt the newer ones. Returns the layout
    /// number of the other side.
    async fn meet(&self, theirs: Layouts) -> u64 {
        let number = theirs.current.number;
        let Some(me) = self.lines.board.node(self.lines.from) else {
            return number;
        };
        // Neither call fails: a node adopts what it can.
        let _ = me.node().adopt(&theirs).await;
        if let Ok(ours) = me.node().layouts().await
            && ours.current.number > number
            && let Some(there) = self.lines.board.node(self.to)
        {
            let _ = self
                .way
                .call(async move { there.node().adopt(&ours).await })
                .await;
        }
        number
    }
}

impl Connect for Lines {
    fn volume(&self, under: LayoutTag, volume: &VolumeRole, node: &NodeRole) -> Arc<dyn Volume> {
        Arc::new(FarVolume {
            end: self.end(&node.id, under),
            id: volume.id.clone(),
        })
    }

    fn node(&self, under: LayoutTag, node: &NodeRole) -> Arc<dyn Node> {
        Arc::new(FarNode(self.end(&node.id, under)))
    }
}

impl FarVolume {
    fn unreachable(&self, detail: &str) -> VolumeError {
        VolumeError::Unreachable {
            volume: self.id.clone(),
            detail: detail.to_owned(),
        }
    }

    async fn ask<T, F>(
        &self,
        work: impl FnOnce(Arc<dyn Volume>) -> F + Send + 'static,
    ) -> Result<T, VolumeError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, VolumeError>> + Send + 'static,
    {
        let (end, id, gone) = (
            self.end.clone(),
            self.id.clone(),
            self.unreachable("it is not running"),
        );
        let there = async move {
            end.lines.board.mood(&id).await;
            let node = end.there(true, gone.clone()).await?;
            let volume = node.volume(&id, end.under).ok_or(Refused::Said(gone))?;
            work(volume).await.map_err(Refused::Said)
        };
        match self.end.way.call(there).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Refused::Said(error))) => Err(error),
            Ok(Err(Refused::Layouts(theirs))) => Err(VolumeError::OtherLayout {
                volume: self.id.clone(),
                ours: self.end.under.number,
                theirs: self.end.meet(theirs).await,
            }),
            Err(_) => Err(self.unreachable("no answer")),
        }
    }
}

#[async_trait]
impl Volume for FarVolume {
    fn id(&self) -> &VolumeId {
        &self.id
    }

    async fn call(&self, ask: VolumeRequest) -> Result<VolumeResponse, VolumeError> {
        self.ask(|volume| async move { volume.call(ask).await }).await
    }

    async fn receive(&self, upload: UploadId, body: ByteStream) -> Result<Receipt, VolumeError> {
        let body = self.end.lines.carry(self.end.to, body);
        self.ask(move |volume| async move { volume.receive(upload, body).await })
            .await
    }

    async fn prepare_whole(&self, upload: UploadId, meta: &Meta, content: Bytes) -> Result<(), VolumeError> {
        let meta = meta.clone();
        let content = match self.end.lines.damage(self.end.to) {
            Some(damage) => damage.of_bytes(&content),
            None => content,
        };
        self.ask(move |volume| async move { volume.prepare_whole(upload, &meta, content).await })
            .await
    }

    async fn read_upload(&self, upload: UploadId) -> Result<UploadRead, VolumeError> {
        let mut read = self
            .ask(move |volume| async move { volume.read_upload(upload).await })
            .await?;
        read.bytes = self.end.lines.carry(self.end.to, read.bytes);
        Ok(read)
    }

    async fn read(
        &self,
        key: &Key,
        version: Version,
        blocks: Range<u64>,
    ) -> Result<ReplicaRead, VolumeError> {
        let key = key.clone();
        let mut read = self
            .ask(move |volume| async move { volume.read(&key, version, blocks).await })
            .await?;
        read.bytes = self.end.lines.carry(self.end.to, read.bytes);
        Ok(read)
    }
}

impl FarNode {
    fn unreachable(&self, detail: &str, asked: bool) -> NodeError {
        NodeError::Unreachable {
            node: self.0.node.clone(),
            detail: detail.to_owned(),
            asked,
        }
    }

    async fn ask<T, F>(
        &self,
        needs_layout: bool,
        way: &Link,
        work: impl FnOnce(Arc<dyn Node>) -> F + Send + 'static,
    ) -> Result<T, NodeError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, NodeError>> + Send + 'static,
    {
        let (end, gone) = (self.0.clone(), self.unreachable("it is not running", false));
        let there = async move {
            let node = end.there(needs_layout, gone).await?;
            work(node.node()).await.map_err(Refused::Said)
        };
        match way.call(there).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Refused::Said(error))) => Err(error),
            Ok(Err(Refused::Layouts(theirs))) => Err(NodeError::OtherLayout {
                node: self.0.node.clone(),
                ours: self.0.under.number,
                theirs: self.0.meet(theirs).await,
            }),
            Err(Lost { asked }) => Err(self.unreachable("no answer", asked)),
        }
    }
}

#[async_trait]
impl Node for FarNode {
    fn id(&self) -> &NodeId {
        &self.0.node
    }

    async fn decide(&self, request: ChangeRequest) -> Result<Option<Meta>, NodeError> {
        // The caller tries the next node on a timeout.
        let way = self.0.way.clone().patient();
        self.ask(true, &way, |node| async move { node.decide(request).await })
            .await
    }

    async fn promise(&self, claims: &[Claim]) -> Result<Vec<Claim>, NodeError> {
        let claims = claims.to_vec();
        self.ask(
            true,
            &self.0.way,
            |node| async move { node.promise(&claims).await },
        )
        .await
    }

    async fn layouts(&self) -> Result<Layouts, NodeError> {
        self.ask(false, &self.0.way, |node| async move { node.layouts().await })
            .await
    }

    async fn propose(&self, layout: &Layout) -> Result<(), NodeError> {
        let layout = layout.clone();
        self.ask(
            false,
            &self.0.way,
            |node| async move { node.propose(&layout).await },
        )
        .await
    }

    async fn accepted(&self) -> Result<Vec<Layout>, NodeError> {
        self.ask(false, &self.0.way, |node| async move { node.accepted().await })
            .await
    }

    async fn adopt(&self, layouts: &Layouts) -> Result<(), NodeError> {
        let layouts = layouts.clone();
        self.ask(
            false,
            &self.0.way,
            |node| async move { node.adopt(&layouts).await },
        )
        .await
    }

    async fn status(&self) -> Result<NodeStatus, NodeError> {
        self.ask(false, &self.0.way, |node| async move { node.status().await })
            .await
    }
}
