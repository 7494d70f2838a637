//! What a volume says of the replicas that it holds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::block_set::BlockSet;
use crate::blocks::BlockTable;
use crate::clock::Version;
use crate::key::Key;
use crate::meta::Meta;
use crate::stream::ByteStream;
use crate::upload::UploadId;

/// A volume's answer about one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The newest version that it holds.
    pub found: Option<Held>,
    /// The newest version that is prepared here. It may be visible on other volumes already.
    pub pending: Option<Pending>,
    /// False while the volume is being rebuilt: then "not found" means "not known".
    pub complete: bool,
}

/// A version that is prepared and not visible here yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The upload.
    #[serde(rename = "stage")]
    pub upload: UploadId,
    /// What it is to become.
    pub meta: Meta,
}

/// Keys that have a prepared version.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unsettled {
    /// The keys, in order.
    pub keys: Vec<Key>,
    /// See [`Head::complete`].
    pub complete: bool,
}

/// One replica as its volume's index knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The object.
    pub meta: Meta,
    /// What is known of its bytes.
    pub state: ReplicaState,
    /// Of a bad replica: which blocks are bad, if that is known. All others are right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_blocks: Option<BlockSet>,
}

/// What is known of a replica's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplicaState {
    /// Not known to be bad.
    Good,
    /// Found bad, with what was found and expected. It is read only for blocks that no other replica has.
    Bad(String),
}

/// A replica opened for reading. Its bytes are not verified yet: before they go to a client or to another
/// volume, the caller must compare every block with the table, and the table with `meta.digests.blake3`.
pub struct ReplicaRead {
    /// The object, as the volume's index knows it.
    pub meta: Meta,
    /// Digests of all its blocks, as they are stored; empty if they cannot be read.
    pub table: Arc<BlockTable>,
    /// The bytes of the blocks asked for, in order, without gaps.
    pub bytes: ByteStream,
}

/// A question for one page of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListQuery {
    /// Only keys that begin with this text, for example `bucket/`.
    pub prefix: String,
    /// Keys after this text, bytewise; from the start if `None`.
    pub after: Option<String>,
    /// Most entries returned.
    pub limit: usize,
}

/// One thing found in a partition of a volume when its files and its index are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Surveyed {
    /// A replica (or tombstone) with its entry in the index.
    Replica {
        /// The object.
        key: Key,
        /// Its version.
        version: Version,
        /// A tombstone.
        deleted: bool,
        /// Length of the content.
        size: u64,
        /// BLAKE3 of the content, in hexadecimal.
        blake3: String,
        /// What is known of its bytes. A file whose length differs from the index is bad.
        state: ReplicaState,
        /// The same as [`Held::bad_blocks`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bad_blocks: Option<BlockSet>,
    },
    /// An entry of the index without its file.
    FileMissing {
        /// The object.
        key: Key,
        /// Its version.
        version: Version,
        /// Whether the index says that it is a tombstone: then only the record of the deletion is missing.
        deleted: bool,
    },
    /// A file that is not a readable replica, or that is not in the index.
    Stray {
        /// Path below the volume.
        path: String,
        /// Its length.
        bytes: u64,
        /// What is wrong.
        detail: String,
    },
}

/// The outcome of reading a whole replica against its digests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Every block and the head are as they were written.
    Good {
        /// Bytes read.
        bytes: u64,
    },
    /// Something differs; the replica is marked bad.
    Bad {
        /// Block, found and expected digest, or what else is wrong.
        detail: String,
        /// The bad blocks, if they could be found. An empty set means that only the bytes around the content
        /// are damaged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blocks: Option<BlockSet>,
    },
    /// The volume holds no such version.
    Missing,
}
