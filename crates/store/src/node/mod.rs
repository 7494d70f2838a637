//! A node: the process that serves volumes, and how nodes talk to each other.
//!
//! Start one with [`start()`]; a short command gets at a store with [`connect()`], through the process that has its volumes
//! open if there is one; [`apply_layout`] changes who takes part.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::layout::{Layout, Layouts};
use crate::meta::Meta;
use crate::store::{Condition, Draft};
use crate::upkeep::WorkerStatus;
use crate::volume::{NodeId, StageId, VolumeId, VolumeStatus};

mod apply;
mod cluster_file;
mod connect;
mod connector;
mod counters;
mod files;
mod found;
mod join;
mod keeper;
mod local;
mod marks;
mod news;
mod open;
mod owner;
mod recover;
mod secret;
mod settings;
mod slot;
mod start;
mod trust;
mod wire;

pub use apply::{ApplyError, announce, apply_layout};
pub use cluster_file::{ClusterFile, MemberNode, MemberVolume};
pub use connect::{ConnectError, ConnectSettings, Connection, connect, connect_or_begin};
pub use counters::{Counted, Counters, InFlight};
pub(crate) use files::NODE_DIR;
pub use join::wanted_roles;
pub use news::NEWS;
pub use recover::recover_layouts;
pub use secret::{SECRET_BYTES_MIN, Secret, SecretError};
pub use settings::{
    ConnectionSettings, LOCAL_NODE, NodeSettings, REPLICAS_MAX, SettingsError, VolumeSettings,
};
pub use start::{OpenVolume, Opener, RunningNode, StartError, start, start_with};
pub use trust::Tls;

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
    /// Answers by time: how many took at most [`LATENCY_MICROS`]`[i]` and more than the one before; the last counts
    /// all slower ones.
    #[serde(default)]
    pub buckets: Vec<u64>,
}

/// Upper ends of the buckets of answer times, in microseconds: 1, 2 and 5 of each decade from 100 us to 50 s.
pub const LATENCY_MICROS: [u64; 18] = [
    100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
    2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000,
];

impl RequestCount {
    /// The answer time in microseconds that this share of the answers (0 to 1) stayed within, as the upper end of its
    /// bucket; `None` without answers, `u64::MAX` beyond the last bucket.
    pub fn quantile_micros(&self, share: f64) -> Option<u64> {
        let total: u64 = self.buckets.iter().sum();
        let wanted = (total as f64 * share).ceil() as u64;
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|count| {
            seen += count;
            seen >= wanted.max(1)
        })?;
        Some(LATENCY_MICROS.get(bucket).copied().unwrap_or(u64::MAX))
    }
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
    /// No volume has room for the write; nothing is left of it.
    #[error("no room: {0}")]
    Full(String),
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
