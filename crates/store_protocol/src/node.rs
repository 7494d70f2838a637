//! Requests between nodes, other than those to volumes.

use async_trait::async_trait;
use metrics::RequestCount;
use placement::{Layout, Layouts, NodeId};
use serde::{Deserialize, Serialize};

use crate::change::{ChangeRequest, Claim};
use crate::meta::Meta;
use crate::node_error::NodeError;
use crate::volume_status::VolumeStatus;
use crate::worker::WorkerStatus;

/// The status of a node.
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

/// Requests between nodes, other than those to volumes.
#[async_trait]
pub trait Node: Send + Sync + 'static {
    /// Returns its name.
    fn id(&self) -> &NodeId;

    /// Decides and finishes a change, or passes it to the node that comes first in the order of
    /// deciders. Conditions are compared nowhere else. Returns the version written, `None` if there
    /// was nothing to delete, and the newest version for [`Change::FinishInDoubt`].
    async fn decide(&self, request: ChangeRequest) -> Result<Option<Meta>, NodeError>;

    /// Promises to accept no version of an earlier term for these partitions. The promise is
    /// durable before the method returns. Returns the refused claims, each with the later term that
    /// was promised.
    async fn promise(&self, claims: &[Claim]) -> Result<Vec<Claim>, NodeError>;

    /// Returns the layouts in force on this node.
    async fn layouts(&self) -> Result<Layouts, NodeError>;

    /// Accepts a layout durably, without using it yet. A node accepts at most one layout of a
    /// number, and none with a lower number than one it has accepted.
    async fn propose(&self, layout: &Layout) -> Result<(), NodeError>;

    /// Returns the accepted layouts that are newer than those in force, in order of number.
    async fn accepted(&self) -> Result<Vec<Layout>, NodeError>;

    /// Puts layouts into force that a majority has accepted. If both sides have the same current
    /// layout, keeps only the older layouts that both still read from.
    async fn adopt(&self, layouts: &Layouts) -> Result<(), NodeError>;

    /// Returns the state of the node, its volumes and its workers.
    async fn status(&self) -> Result<NodeStatus, NodeError>;
}
