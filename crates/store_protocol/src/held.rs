//! A volume's reports about its replicas.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::block_set::BlockSet;
use crate::blocks::BlockTable;
use crate::clock::Version;
use crate::key::Key;
use crate::meta::Meta;
use crate::stream::ByteStream;
use crate::upload::UploadId;

/// A volume's response about one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The newest version that it holds.
    pub found: Option<ReplicaEntry>,
    /// The newest version that is prepared here. It may already be visible on other volumes.
    pub pending: Option<Pending>,
    /// False while the volume is being rebuilt: then "not found" means "not known".
    pub complete: bool,
}

/// A version that is prepared and not yet visible here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The upload.
    #[serde(rename = "stage")]
    pub upload: UploadId,
    /// The version that it will be.
    pub meta: Meta,
}

/// Keys that have a prepared version.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeysInDoubt {
    /// The keys, in order.
    pub keys: Vec<Key>,
    /// See [`Head::complete`].
    pub complete: bool,
}

/// One replica as recorded in its volume's index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaEntry {
    /// The object's metadata.
    pub meta: Meta,
    /// The known state of its bytes.
    pub state: ReplicaState,
    /// The bad blocks of a bad replica, if known. All others are right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_blocks: Option<BlockSet>,
}

/// The known state of a replica's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplicaState {
    /// Not known to be bad.
    Good,
    /// Found bad, with the found and expected values. It is read only for blocks that no other
    /// replica has.
    Bad(String),
}

/// A replica opened for reading. Its bytes are not verified yet: before they go to a client or to
/// another volume, the caller must compare every block with the table, and the table with
/// `meta.digests.blake3`.
pub struct ReplicaRead {
    /// The object's metadata, as recorded in the volume's index.
    pub meta: Meta,
    /// Digests of all its blocks, as stored. Empty if they cannot be read.
    pub table: Arc<BlockTable>,
    /// The bytes of the requested blocks, in order, without gaps.
    pub bytes: ByteStream,
}

/// A request for one page of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListQuery {
    /// Only keys that begin with this text, for example `bucket/`.
    pub prefix: String,
    /// Only keys after this text, bytewise; from the start if `None`.
    pub after: Option<String>,
    /// Maximum number of entries returned.
    pub limit: usize,
}

/// One item found in a partition of a volume when its files and its index are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SurveyEntry {
    /// A replica (or tombstone) with its entry in the index.
    Replica {
        /// The object.
        key: Key,
        /// Its version.
        version: Version,
        /// Whether it is a tombstone.
        deleted: bool,
        /// Length of the content.
        size: u64,
        /// BLAKE3 of the content, in hexadecimal.
        blake3: String,
        /// The known state of its bytes. A file whose length differs from the index is bad.
        state: ReplicaState,
        /// The same as [`ReplicaEntry::bad_blocks`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bad_blocks: Option<BlockSet>,
    },
    /// An entry of the index without its file.
    FileMissing {
        /// The object.
        key: Key,
        /// Its version.
        version: Version,
        /// Whether it is a tombstone according to the index. Then only the record of the deletion
        /// is missing.
        deleted: bool,
    },
    /// A file that is not a readable replica, or that is not in the index.
    Stray {
        /// Path below the volume.
        path: String,
        /// Its length.
        bytes: u64,
        /// The problem found.
        detail: String,
    },
}

/// The result of verifying a whole replica against its digests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Every block and the head are unchanged.
    Good {
        /// Bytes read.
        bytes: u64,
    },
    /// Some bytes differ. The replica is marked bad.
    Bad {
        /// Block, found and expected digest, or another problem.
        detail: String,
        /// The bad blocks, if they could be determined. An empty set means that only the bytes
        /// around the content are damaged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blocks: Option<BlockSet>,
    },
    /// The volume holds no such version.
    Missing,
}
