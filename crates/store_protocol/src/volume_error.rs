//! Why a volume did not carry out a request, and what the caller may do next.

use placement::VolumeId;
use serde::{Deserialize, Serialize};

use crate::clock::Term;

/// Why a volume did not carry out a request. Each variant says what the caller may do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum VolumeError {
    /// The volume did not answer. Try another replica; the volume may come back.
    #[error("volume {volume} cannot be reached: {detail}")]
    Unreachable {
        /// Volume asked.
        volume: VolumeId,
        /// What failed.
        detail: String,
    },
    /// The volume was taken out of service. Try another replica. An operator must look at the
    /// volume.
    #[error("volume {volume} is out of service: {detail}")]
    Out {
        /// Volume asked.
        volume: VolumeId,
        /// The reason.
        detail: String,
    },
    /// The volume has no space. Send the write to another volume.
    #[error("volume {volume} is full: {detail}")]
    Full {
        /// Volume asked.
        volume: VolumeId,
        /// Needed and free bytes.
        detail: String,
    },
    /// The volume does not hold this version or upload.
    #[error("volume {volume} does not hold {what}")]
    Missing {
        /// Volume asked.
        volume: VolumeId,
        /// Key and version, or upload.
        what: String,
    },
    /// Received or stored bytes differ from their digest or length.
    #[error("volume {volume}: {what}: found {found}, expected {expected}")]
    Corrupt {
        /// Volume asked.
        volume: VolumeId,
        /// Which bytes.
        what: String,
        /// The digest or length found.
        found: String,
        /// The digest or length that it must have.
        expected: String,
    },
    /// The node has another layout in force. The newer of the two has been adopted: retry.
    #[error("the request to volume {volume} was made under layout {ours}, but its node has {theirs}")]
    OtherLayout {
        /// Volume asked.
        volume: VolumeId,
        /// Number of the request's layout.
        ours: u64,
        /// Number of the node's layout.
        theirs: u64,
    },
    /// Another node has begun a later term for the key's partition. Nothing was prepared.
    #[error("volume {volume}: the version's term has ended, term {promised} was promised")]
    Superseded {
        /// Volume asked.
        volume: VolumeId,
        /// The term promised.
        promised: Term,
    },
    /// The client's content ended early or with an error. The volume is not at fault.
    #[error("the content was cut short: {0}")]
    Body(String),
    /// Any other failure of this operation alone.
    #[error("volume {volume}: {detail}")]
    Failed {
        /// Volume asked.
        volume: VolumeId,
        /// Verb, object and cause.
        detail: String,
    },
}
