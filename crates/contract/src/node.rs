//! What nodes ask of each other besides their volumes.

use async_trait::async_trait;
use count::RequestCount;
use placement::{Layout, Layouts, NodeId};
use serde::{Deserialize, Serialize};

use crate::change::{Claim, Finish};
use crate::meta::Meta;
use crate::node_error::NodeError;
use crate::volume::VolumeStatus;
use crate::worker::WorkerStatus;

/// How a node is doing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Its name.
    pub id: NodeId,
    /// Version of the program.
    pub program: String,
    /// When it started, milliseconds since 1970.
    pub started_ms: u64,
    /// Number of its current layout.
    pub layout: u64,
    /// Its volumes.
    pub volumes: Vec<VolumeStatus>,
    /// Its background workers.
    pub workers: Vec<WorkerStatus>,
    /// Requests answered since the start, by operation: count, failures, bytes in, bytes out.
    pub requests: Vec<RequestCount>,
}

/// What nodes ask of each other besides their volumes.
#[async_trait]
pub trait Node: Send + Sync + 'static {
    /// Its name.
    fn id(&self) -> &NodeId;

    /// Decides and finishes a change, or has it decided by a node whose turn comes first: the one place where conditions
    /// are compared. Answers the version written; of a deletion of nothing `None`; of [`Change::Settle`] the newest.
    async fn finish(&self, finish: Finish) -> Result<Option<Meta>, NodeError>;

    /// Promises, durably before it answers, to take no version of an earlier term of these partitions any more. Answers
    /// those that it has promised otherwise.
    async fn promise(&self, claims: &[Claim]) -> Result<Vec<Claim>, NodeError>;

    /// The layouts that it has in force.
    async fn layouts(&self) -> Result<Layouts, NodeError>;

    /// Accepts a layout durably, without using it yet. A node accepts at most one layout of a number,
    /// and none of a lower number than one it has accepted.
    async fn propose(&self, layout: &Layout) -> Result<(), NodeError>;

    /// The layouts that it has accepted and that are newer than those in force, in order of their numbers.
    async fn accepted(&self) -> Result<Vec<Layout>, NodeError>;

    /// Takes layouts into force that a majority has accepted. Of the same current layout, those older ones stay that
    /// both sides still look into.
    async fn adopt(&self, layouts: &Layouts) -> Result<(), NodeError>;

    /// How it is doing.
    async fn status(&self) -> Result<NodeStatus, NodeError>;
}
