//! Uploads: content that has not yet become a replica.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::Version;
use crate::meta::Meta;
use crate::stream::ByteStream;

/// The name of an upload on a volume until it is committed or aborted. Random, chosen by the
/// caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UploadId(pub u128);

/// The result of [`Volume::receive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Bytes received.
    pub size: u64,
    /// BLAKE3 of these bytes, computed by the volume itself.
    pub blake3: [u8; 32],
}

/// The purpose for which a version is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// A write that was just decided. It is refused if the node has promised a later term. Once it
    /// is prepared on enough volumes it is chosen, and the next node that decides must complete it.
    Write,
    /// Another copy of a version that is visible elsewhere.
    Copy,
}

/// How much of an upload is discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AbortScope {
    /// Only received content. A prepared version stays, because a deciding node may rely on it.
    Received,
    /// Received content, and also an upload prepared as this version. Only the node that prepared
    /// it may request this, once it knows that the version was not chosen or has been replaced. The
    /// version is named because two nodes may decide about one upload, and one must not discard
    /// what the other has prepared.
    Version(Version),
}

/// Content of an upload, opened for reading. Its bytes are not verified: a caller that copies them
/// to another volume must compare the bytes that arrive there with the digest of the content.
pub struct UploadRead {
    /// Length of the content.
    pub size: u64,
    /// The whole content, from its first byte.
    pub bytes: ByteStream,
}

impl AbortScope {
    /// Returns whether this discards an upload that is prepared as `meta` for `purpose`.
    pub fn includes(self, meta: &Meta, purpose: Purpose) -> bool {
        match self {
            Self::Received => purpose == Purpose::Copy,
            Self::Version(version) => meta.version == version,
        }
    }
}

impl fmt::Display for UploadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl UploadId {
    /// Returns a new random name.
    pub fn random() -> Self {
        Self(system::random())
    }
}
