//! A node: the process that serves volumes, and how nodes talk to each other.
//!
//! Start one with [`start()`]; a short command gets at a store with [`connect()`], through the process that has its volumes
//! open if there is one; [`apply_layout`] changes who takes part.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::clock::{Term, Version};
use crate::key::{Key, Partition};
use crate::layout::{Layout, Layouts};
use crate::meta::{Meta, WriteId};
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
mod guarded;
mod join;
mod keeper;
mod local;
mod marks;
mod news;
mod open;
mod owner;
pub(crate) mod promises;
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
pub(crate) use guarded::Guarded;
pub use join::wanted_roles;
pub use news::NEWS;
pub use recover::recover_layouts;
pub use secret::{SECRET_BYTES_MIN, Secret, SecretError};
pub use settings::{
    ConnectionSettings, LOCAL_NODE, NodeSettings, REPLICAS_MAX, SettingsError, VolumeSettings,
};
pub use start::{OpenVolume, Opener, RunningNode, StartError, start, start_with};
pub use trust::Tls;

/// A change of one key, to be decided and made visible by whoever decides for its partition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Finish {
    /// The object.
    pub key: Key,
    /// What is to be done.
    pub change: Change,
    /// Names the request: a version that was written for it says so.
    pub write: WriteId,
    /// The newest version that whoever asks knows of: nothing is done unless it still is. So a question that arrives late,
    /// or twice, does nothing. `None` only within the process that decides.
    pub seen: Option<Seen>,
    /// Whoever relays it has found nobody before the node asked that could decide.
    pub relayed: bool,
}

/// The newest version of a key, or that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Named, because as JSON "none was seen" must differ from "nothing is known of what was seen".
    pub version: Option<Version>,
}

/// What is to be done about a key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// A new version.
    Put {
        /// What must hold of the current version.
        condition: Condition,
        /// Everything of the new version but its number.
        draft: Box<Draft>,
        /// Where the content lies staged.
        stages: Vec<(VolumeId, StageId)>,
    },
    /// A tombstone, if there is anything to delete or a condition says that there must be.
    Delete {
        /// What must hold of the current version.
        condition: Condition,
    },
    /// Nothing but that a write which was broken off is brought to its end.
    Settle,
}

/// A node's wish to decide for a partition from now on, in this term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The partition.
    pub partition: Partition,
    /// The term; in an answer, the one that was promised to somebody else.
    pub term: Term,
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
        /// The question may have arrived.
        asked: bool,
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
    /// Another node has taken its turn to decide: ask there, or here again.
    #[error("another node decides now, in term {term}")]
    Superseded {
        /// Its term.
        term: Term,
    },
    /// It cannot decide now: too few nodes answer it.
    #[error("nothing can be decided now: {detail}")]
    Undecided {
        /// Who did not answer.
        detail: String,
        /// Something of it may have been done before: whoever is asked next has to look whether it has happened.
        begun: bool,
    },
    /// The newest version is another than the one seen: nothing was done, nor will be. Ask again.
    #[error("the object was written since")]
    Changed {
        /// The newest version.
        newest: Seen,
    },
    /// Whether the write has happened cannot be told any more.
    #[error("whether the write has happened is not known: {0}")]
    Unknown(String),
    /// The write could not be made safe; what to do next is in the text.
    #[error("{0}")]
    Failed(String),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Over the wire, a question that had seen that there is nothing lost that it had seen anything, and was carried out
    /// a second time.
    #[test]
    fn nothing_seen_is_not_nothing_known() {
        for seen in [None, Some(Seen { version: None })] {
            let text = serde_json::to_string(&seen).unwrap();
            assert_eq!(
                serde_json::from_str::<Option<Seen>>(&text).unwrap(),
                seen,
                "{text}"
            );
        }
    }
}
