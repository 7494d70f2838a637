//! What can be asked of a node, and what a volume answers with a stream, as it travels. The other questions to
//! a volume are [`contract::VolumeAsk`].

use contract::{Claim, DURABLE, Finish, JOINT, Key, LONG, Manner, Meta, QUICK, UploadId, Version};
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

/// Raw content into an upload.
pub(crate) const RECEIVE: Manner = Manner::writes("stage", LONG);

/// Small content with its description.
pub(crate) const PREPARE_WHOLE: Manner = Manner::writes("stage-whole", DURABLE);

/// Content of an upload.
const READ_UPLOAD: Manner = Manner::reads("read-staged", QUICK);

/// Blocks of a replica.
const READ: Manner = Manner::reads("read", QUICK);

/// Whether the process lives.
pub(crate) const PING: Manner = Manner::reads("ping", QUICK);

impl StreamAsk {
    /// How the wire treats it.
    pub(crate) fn manner(&self) -> Manner {
        match self {
            Self::ReadUpload { .. } => READ_UPLOAD,
            Self::Read { .. } => READ,
        }
    }
}

impl NodeAsk {
    /// How the wire treats it.
    pub(crate) fn manner(&self) -> Manner {
        match self {
            Self::Finish(_) => Manner::writes("finish", JOINT),
            Self::Promise { .. } => Manner::writes("promise", DURABLE),
            Self::Layouts => Manner::reads("layouts", QUICK),
            Self::Propose(_) => Manner::writes("propose", DURABLE),
            Self::Accepted => Manner::reads("accepted", QUICK),
            Self::Adopt(_) => Manner::writes("adopt", DURABLE),
            Self::Status => Manner::reads("node-status", QUICK),
        }
    }

    /// Whether it is refused under another layout than the one in force: its result depends on the layout.
    pub(crate) fn needs_layout(&self) -> bool {
        matches!(self, Self::Finish(_) | Self::Promise { .. })
    }
}
