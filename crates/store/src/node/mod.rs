//! A node: the process that serves volumes, and how nodes talk to each other.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::layout::{Layout, Layouts};
use crate::meta::Meta;
use crate::store::{Condition, Draft};
use crate::upkeep::WorkerStatus;
use crate::volume::{NodeId, StageId, VolumeId, VolumeStatus};

/// A write whose content lies staged on volumes, to be decided and made visible by the owner of its partition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Finish {
    /// The object.
    pub key: Key,
    /// What must hold of the current version.
    pub condition: Condition,
    /// Everything of the new version but its number.
    pub draft: Draft,
    /// Where the content lies staged; empty for a deletion.
    pub stages: Vec<(VolumeId, StageId)>,
}

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

/// Requests of one kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RequestCount {
    /// `put`, `get`, `head`, `delete`, `list`, ...
    pub operation: String,
    /// Answered.
    pub count: u64,
    /// Of these, answered with a failure of ours (not "no such key").
    pub failures: u64,
    /// Content bytes received.
    pub bytes_in: u64,
    /// Content bytes sent.
    pub bytes_out: u64,
    /// Sum of answer times in microseconds.
    pub micros: u64,
}

/// Why a node did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum NodeError {
    /// No answer.
    #[error("node {node} cannot be reached: {detail}")]
    Unreachable {
        /// Node asked.
        node: NodeId,
        /// What failed.
        detail: String,
    },
    /// It knows another layout; the newer of the two has been taken over: ask again.
    #[error("node {node} was asked under layout {ours}, it knows {theirs}")]
    OtherLayout {
        /// Node asked.
        node: NodeId,
        /// Number of the layout asked under.
        ours: u64,
        /// Number that it knows.
        theirs: u64,
    },
    /// The condition does not hold; the current entity tag, if there is a current version.
    #[error("the condition does not hold: the current entity tag is {current:?}")]
    Condition {
        /// Entity tag of the current version.
        current: Option<String>,
    },
    /// It refused a layout: another one has that number, or its own is newer.
    #[error("node {node} refused the layout: {detail}")]
    LayoutRefused {
        /// Node asked.
        node: NodeId,
        /// Why.
        detail: String,
    },
    /// The write could not be made safe; what to do next is in the text.
    #[error("{0}")]
    Failed(String),
}

/// What nodes ask of each other besides their volumes.
#[async_trait]
pub trait Node: Send + Sync + 'static {
    /// Its name.
    fn id(&self) -> &NodeId;

    /// Decides and finishes a write as owner of its partition: the one place where conditions are compared.
    async fn finish(&self, finish: Finish) -> Result<Meta, NodeError>;

    /// The layouts that it has in force.
    async fn layouts(&self) -> Result<Layouts, NodeError>;

    /// Accepts a layout durably, without using it yet. A node accepts at most one layout of a number.
    async fn propose(&self, layout: &Layout) -> Result<(), NodeError>;

    /// Takes layouts into force that a majority has accepted.
    async fn adopt(&self, layouts: &Layouts) -> Result<(), NodeError>;

    /// How it is doing.
    async fn status(&self) -> Result<NodeStatus, NodeError>;
}
