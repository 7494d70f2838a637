//! Uploads: content on its way to becoming a replica of a volume.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::Version;
use crate::meta::Meta;
use crate::stream::ByteStream;

/// Names an upload on a volume until it is committed or given up. Random, chosen by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StageId(pub u128);

/// What a volume received by [`Volume::stage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    /// Bytes received.
    pub size: u64,
    /// BLAKE3 over them, computed by the volume itself.
    pub blake3: [u8; 32],
}

/// What a version is prepared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// It was decided just now: refused in an earlier term than one that the node has promised. Once it lies prepared
    /// on enough volumes it is chosen, and whoever decides next has to bring it to its end.
    Write,
    /// It is visible elsewhere and gets another copy.
    Copy,
}

/// What of an upload is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Abandon {
    /// Content that was received. What is prepared stays: whoever decides may count on it.
    Received,
    /// The same, or what is prepared as this version. Only for who prepared it, and knows that the version was not
    /// chosen or has been replaced. It names the version, because one upload may be in the hands of two who decide: what
    /// the other one has prepared of it stays.
    Version(Version),
}

/// Content that lies staged, opened for reading. Its bytes are not verified: whoever takes them to another volume
/// compares what arrives there with the digest of the content.
pub struct StagedRead {
    /// Length of the content.
    pub size: u64,
    /// All of it.
    pub bytes: ByteStream,
}

impl Abandon {
    /// Whether an upload that is prepared like this is given up.
    pub fn includes(self, meta: &Meta, purpose: Purpose) -> bool {
        match self {
            Self::Received => purpose == Purpose::Copy,
            Self::Version(version) => meta.version == version,
        }
    }
}

impl fmt::Display for StageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl StageId {
    /// A new random name.
    pub fn random() -> Self {
        Self(rand::random())
    }
}
