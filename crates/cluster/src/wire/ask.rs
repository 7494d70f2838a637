//! What can be asked of a volume and of a node, as it travels.

use std::time::Duration;

use contract::{Abandon, Cause, Claim, Finish, Key, ListQuery, Meta, Partition, Purpose, StageId, Version};
use placement::{Layout, Layouts};
use serde::{Deserialize, Serialize};

/// Questions to a volume whose ask is JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum VolumeAsk {
    Prepare {
        stage: StageId,
        meta: Meta,
        purpose: Purpose,
    },
    ReadStaged {
        stage: StageId,
    },
    Commit {
        stage: StageId,
        cause: Cause,
        evidence: String,
    },
    Abort {
        stage: StageId,
        what: Abandon,
    },
    Head {
        key: Key,
    },
    Unsettled {
        prefix: String,
    },
    Read {
        key: Key,
        version: Version,
        /// Blocks asked for.
        start: u64,
        end: u64,
        /// Whether the table of blocks is to come along.
        table: bool,
    },
    List(ListQuery),
    Survey {
        partitions: Vec<Partition>,
    },
    Verify {
        key: Key,
        version: Version,
        cause: Cause,
    },
    Remove {
        key: Key,
        version: Version,
        cause: Cause,
        evidence: String,
    },
    SettleStray {
        path: String,
    },
    Rebuilt,
    Fixity {
        key: Option<Key>,
        limit: usize,
    },
    Status,
}

/// Questions to a node.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NodeAsk {
    Finish(Box<Finish>),
    Promise { claims: Vec<Claim> },
    Layouts,
    Propose(Box<Layout>),
    Accepted,
    Adopt(Box<Layouts>),
    Status,
}

/// The head frame of `stage-whole`; the content follows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WholeHead {
    pub(crate) stage: StageId,
    pub(crate) meta: Meta,
}

/// The head frame of an answer to `read`; the table (if asked for) and the blocks follow.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReadHead {
    pub(crate) meta: Meta,
    /// Length of the table that follows.
    pub(crate) table_bytes: u64,
}

/// The head frame of an answer to `read-staged`; the content follows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StagedHead {
    pub(crate) size: u64,
}

/// How an operation is treated on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    /// Its name in the path, in counters and logs.
    pub(crate) operation: &'static str,
    /// Whether it changes anything: then a request is carried out once, however often it arrives.
    pub(crate) writes: bool,
    /// Longest time for the whole answer (of a stream: for its head).
    pub(crate) limit: Duration,
}

/// Reads an index or a memory table.
const QUICK: Duration = Duration::from_secs(10);

/// Syncs; a disk with a full queue takes seconds for it.
const DURABLE: Duration = Duration::from_secs(30);

/// Asks others for something durable.
const JOINT: Duration = Duration::from_secs(60);

/// Reads whole partitions or a whole object, or takes a whole upload. What matters is that the node lives.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);

impl Manner {
    /// Raw content into an upload.
    pub(crate) const STAGE: Self = writes("stage", LONG);
    /// Small content with its description.
    pub(crate) const STAGE_WHOLE: Self = writes("stage-whole", DURABLE);
    /// Whether the process lives.
    pub(crate) const PING: Self = reads("ping", QUICK);
}

impl VolumeAsk {
    /// How it is treated.
    pub(crate) fn manner(&self) -> Manner {
        match self {
            Self::Prepare { .. } => writes("prepare", DURABLE),
            Self::ReadStaged { .. } => reads("read-staged", QUICK),
            Self::Commit { .. } => writes("commit", DURABLE),
            Self::Abort { .. } => writes("abort", QUICK),
            Self::Head { .. } => reads("head", QUICK),
            Self::Unsettled { .. } => reads("unsettled", QUICK),
            Self::Read { .. } => reads("read", QUICK),
            Self::List(_) => reads("list", QUICK),
            Self::Survey { .. } => reads("survey", LONG),
            Self::Verify { .. } => writes("verify", LONG),
            Self::Remove { .. } => writes("remove", DURABLE),
            Self::SettleStray { .. } => writes("settle-stray", LONG),
            Self::Rebuilt => writes("rebuilt", DURABLE),
            Self::Fixity { .. } => reads("fixity", LONG),
            Self::Status => reads("status", QUICK),
        }
    }
}

impl NodeAsk {
    /// How it is treated.
    pub(crate) fn manner(&self) -> Manner {
        match self {
            Self::Finish(_) => writes("finish", JOINT),
            Self::Promise { .. } => writes("promise", DURABLE),
            Self::Layouts => reads("layouts", QUICK),
            Self::Propose(_) => writes("propose", DURABLE),
            Self::Accepted => reads("accepted", QUICK),
            Self::Adopt(_) => writes("adopt", DURABLE),
            Self::Status => reads("node-status", QUICK),
        }
    }

    /// Whether it may only be asked under the layout that the node has in force: everything that a layout decides.
    pub(crate) fn needs_layout(&self) -> bool {
        matches!(self, Self::Finish(_) | Self::Promise { .. })
    }
}

const fn reads(operation: &'static str, limit: Duration) -> Manner {
    Manner {
        operation,
        writes: false,
        limit,
    }
}

const fn writes(operation: &'static str, limit: Duration) -> Manner {
    Manner {
        operation,
        writes: true,
        limit,
    }
}
