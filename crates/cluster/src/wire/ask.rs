//! What can be asked of a volume and of a node, as it travels.

use std::time::Duration;

use contract::{Claim, Finish, Key, Meta, UploadId, Version, VolumeAsk};
use placement::{Layout, Layouts};
use serde::{Deserialize, Serialize};

/// Questions to a volume whose answer is a stream.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StreamAsk {
    #[serde(rename = "read-staged")]
    ReadUpload {
        #[serde(rename = "stage")]
        upload: UploadId,
    },
    Read {
        key: Key,
        version: Version,
        /// Blocks asked for.
        start: u64,
        end: u64,
        /// Whether the answer includes the table of blocks.
        table: bool,
    },
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
    #[serde(rename = "stage")]
    pub(crate) upload: UploadId,
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
pub(crate) struct UploadHead {
    pub(crate) size: u64,
}

/// How the wire treats an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    /// Its name in the path, in counters and logs.
    pub(crate) operation: &'static str,
    /// Whether it changes anything. If so, a request is carried out once, however often it arrives.
    pub(crate) writes: bool,
    /// Longest time for the whole answer (of a stream: for its head).
    pub(crate) limit: Duration,
}

/// Limit for reading an index or a table in memory.
const QUICK: Duration = Duration::from_secs(10);

/// Limit for an operation that syncs; a disk with a full queue takes seconds for it.
const DURABLE: Duration = Duration::from_secs(30);

/// Limit for an operation that asks other nodes for something durable.
const JOINT: Duration = Duration::from_secs(60);

/// Limit for reading whole partitions or objects, or receiving an upload. Pings find a dead node long before.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);

impl Manner {
    /// Raw content into an upload.
    pub(crate) const RECEIVE: Self = writes("stage", LONG);
    /// Small content with its description.
    pub(crate) const PREPARE_WHOLE: Self = writes("stage-whole", DURABLE);
    /// Content of an upload.
    pub(crate) const READ_UPLOAD: Self = reads("read-staged", QUICK);
    /// Blocks of a replica.
    pub(crate) const READ: Self = reads("read", QUICK);
    /// Whether the process lives.
    pub(crate) const PING: Self = reads("ping", QUICK);
}

impl StreamAsk {
    /// How the wire treats it.
    pub(crate) fn manner(&self) -> Manner {
        match self {
            Self::ReadUpload { .. } => Manner::READ_UPLOAD,
            Self::Read { .. } => Manner::READ,
        }
    }
}

/// How the wire treats a question to a volume.
pub(crate) fn manner_of(ask: &VolumeAsk) -> Manner {
    match ask {
        VolumeAsk::Prepare { .. } => writes("prepare", DURABLE),
        VolumeAsk::Commit { .. } => writes("commit", DURABLE),
        VolumeAsk::Abort { .. } => writes("abort", QUICK),
        VolumeAsk::Head { .. } => reads("head", QUICK),
        VolumeAsk::Unsettled { .. } => reads("unsettled", QUICK),
        VolumeAsk::List(_) => reads("list", QUICK),
        VolumeAsk::Survey { .. } => reads("survey", LONG),
        VolumeAsk::Verify { .. } => writes("verify", LONG),
        VolumeAsk::Remove { .. } => writes("remove", DURABLE),
        VolumeAsk::SettleStray { .. } => writes("settle-stray", LONG),
        VolumeAsk::Rebuilt => writes("rebuilt", DURABLE),
        VolumeAsk::Fixity { .. } => reads("fixity", LONG),
        VolumeAsk::Status => reads("status", QUICK),
    }
}

impl NodeAsk {
    /// How the wire treats it.
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

    /// Whether it is refused under another layout than the one in force: its result depends on the layout.
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
