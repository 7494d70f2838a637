//! Requests to a node, and requests to a volume that are answered with a stream, as sent on the
//! wire. The other requests to a volume are [`store_protocol::VolumeRequest`].

use placement::{Layout, Layouts};
use serde::{Deserialize, Serialize};
use store_protocol::{
    ChangeRequest, Claim, DURABLE, JOINT, Key, LONG, Meta, OperationSpec, QUICK, UploadId, Version,
};

/// Requests to a volume that are answered with a stream.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StreamRequest {
    #[serde(rename = "read-staged")]
    ReadUpload {
        #[serde(rename = "stage")]
        upload: UploadId,
    },
    Read {
        key: Key,
        version: Version,
        /// The requested blocks.
        start: u64,
        end: u64,
        /// Whether the response includes the block table.
        table: bool,
    },
}

/// Requests to a node.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NodeRequest {
    #[serde(rename = "finish")]
    Decide(Box<ChangeRequest>),
    Promise {
        claims: Vec<Claim>,
    },
    Layouts,
    Propose(Box<Layout>),
    Accepted,
    Adopt(Box<Layouts>),
    Status,
}

/// The head frame of `stage-whole`. The content follows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WholeHead {
    #[serde(rename = "stage")]
    pub(crate) upload: UploadId,
    pub(crate) meta: Meta,
}

/// The head frame of a response to `read`. The table (if requested) and the blocks follow.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReadHead {
    pub(crate) meta: Meta,
    /// Length of the table that follows.
    pub(crate) table_bytes: u64,
}

/// The head frame of a response to `read-staged`. The content follows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UploadHead {
    pub(crate) size: u64,
}

/// Sends raw content into an upload.
pub(crate) const RECEIVE: OperationSpec = OperationSpec::writes("stage", LONG);

/// Sends small content with its metadata.
pub(crate) const PREPARE_WHOLE: OperationSpec = OperationSpec::writes("stage-whole", DURABLE);

/// Reads the content of an upload.
const READ_UPLOAD: OperationSpec = OperationSpec::reads("read-staged", QUICK);

/// Reads blocks of a replica.
const READ: OperationSpec = OperationSpec::reads("read", QUICK);

/// Checks whether the process is alive.
pub(crate) const PING: OperationSpec = OperationSpec::reads("ping", QUICK);

impl StreamRequest {
    /// Returns the operation's name, idempotence and time limit.
    pub(crate) fn spec(&self) -> OperationSpec {
        match self {
            Self::ReadUpload { .. } => READ_UPLOAD,
            Self::Read { .. } => READ,
        }
    }
}

impl NodeRequest {
    /// Returns the operation's name, idempotence and time limit.
    pub(crate) fn spec(&self) -> OperationSpec {
        match self {
            Self::Decide(_) => OperationSpec::writes("finish", JOINT),
            Self::Promise { .. } => OperationSpec::writes("promise", DURABLE),
            Self::Layouts => OperationSpec::reads("layouts", QUICK),
            Self::Propose(_) => OperationSpec::writes("propose", DURABLE),
            Self::Accepted => OperationSpec::reads("accepted", QUICK),
            Self::Adopt(_) => OperationSpec::writes("adopt", DURABLE),
            Self::Status => OperationSpec::reads("node-status", QUICK),
        }
    }

    /// Returns whether it is refused under another layout than the one in force, because its result
    /// depends on the layout.
    pub(crate) fn needs_layout(&self) -> bool {
        matches!(self, Self::Decide(_) | Self::Promise { .. })
    }
}
