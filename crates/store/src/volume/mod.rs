//! What a volume does, wherever it is: a directory of this process, or of another node's, asked over HTTP.

use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::{fmt, io};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use serde::{Deserialize, Serialize};

use crate::clock::{Term, Version};
use crate::key::{Key, Partition};
use crate::meta::Meta;

pub mod block_set;
pub mod blocks;
pub mod disk;
pub mod fixity;
pub mod replica;

pub use disk::CRASH_POINTS;

use block_set::BlockSet;
use blocks::BlockTable;

/// Entries after which the answer to a survey ends, with the partition that it has come to: some 2 MB of JSON.
pub const SURVEY_ENTRIES: usize = 4096;

/// Content on its way, in pieces of any size.
pub type ByteStream = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// Name of a volume in its cluster, `node/name`. Never used again once retired.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct VolumeId(pub Arc<str>);

/// Name of a node in its cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct NodeId(pub Arc<str>);

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

/// A volume's answer about one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The newest version that it holds.
    pub found: Option<Held>,
    /// The newest version of it that lies prepared, and may be visible elsewhere.
    pub pending: Option<Pending>,
    /// False while the volume is being rebuilt: then "not found" means "not known".
    pub complete: bool,
}

/// A version that is prepared and not visible here yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The upload.
    pub stage: StageId,
    /// What it is to become.
    pub meta: Meta,
}

/// Keys of which something lies prepared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unsettled {
    /// The keys, in order.
    pub keys: Vec<Key>,
    /// See [`Head::complete`].
    pub complete: bool,
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
    /// Found bad, with what was found and expected. Only what no other replica has is read from it, block by block.
    Bad(String),
}

/// A replica opened for reading. Its bytes are not verified yet: whoever takes them to a client or to another
/// volume compares every block with the table, and the table with `meta.digests.blake3`.
pub struct ReplicaRead {
    /// The object, as the volume's index knows it.
    pub meta: Meta,
    /// Digests of all its blocks, as they are stored; empty if they cannot be read.
    pub table: Arc<BlockTable>,
    /// The bytes of the blocks asked for, in order, without gaps.
    pub bytes: ByteStream,
}

/// Content that lies staged, opened for reading. Its bytes are not verified: whoever takes them to another volume
/// compares what arrives there with the digest of the content.
pub struct StagedRead {
    /// Length of the content.
    pub size: u64,
    /// All of it.
    pub bytes: ByteStream,
}

/// One entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListQuery {
    /// Keys that begin with this text (`bucket/` and on).
    pub prefix: String,
    /// Keys after this text, bytewise; from the start if `None`.
    pub after: Option<String>,
    /// At most so many entries.
    pub limit: usize,
}

/// One thing found in a partition of a volume, by its files and its index together.
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
        /// What is known of its bytes. A file of another length than the index says is bad.
        state: ReplicaState,
        /// As in [`Held`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bad_blocks: Option<BlockSet>,
    },
    /// An entry of the index without its file.
    FileMissing {
        /// The object.
        key: Key,
        /// Its version.
        version: Version,
        /// A tombstone, as the index knows: then nothing but the deletion itself is missing.
        deleted: bool,
    },
    /// A file that is no readable replica, or that the index does not know.
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
        /// The bad blocks, if that could be found out: of none, only what is around the content is damaged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blocks: Option<BlockSet>,
    },
    /// The volume holds no such version.
    Missing,
}

/// Why a volume is asked to verify, remove or write: what the fixity log will say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A client's write.
    Write,
    /// The periodic re-reading.
    Scrub,
    /// Restoring a missing or bad replica.
    Repair,
    /// A layout change, or a hand-off going home.
    Rebalance,
    /// A reader met a bad block.
    Read,
    /// A person asked.
    Request,
}

/// One line of the append-only fixity log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixityEvent {
    /// When, in milliseconds since 1970.
    pub time_ms: u64,
    /// What happened: `verified`, `bad`, `missing`, `repaired`, `dropped`, `volume-wiped`, `volume-out`, ...
    pub event: String,
    /// Volume concerned.
    pub volume: VolumeId,
    /// Object concerned; none for events of a whole volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Why it was looked at.
    pub cause: Cause,
    /// Evidence in words: digests found and expected, the replica that a repair was made from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// How a volume is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeStatus {
    /// Its name.
    pub id: VolumeId,
    /// Directory on its node.
    pub path: String,
    /// In service or not.
    pub state: VolumeState,
    /// Size of its file system.
    pub capacity_bytes: u64,
    /// Room for content on its file system: what is free, less a reserve.
    pub free_bytes: u64,
    /// Live replicas held.
    pub replicas: u64,
    /// Bytes of content in them.
    pub replica_bytes: u64,
    /// Tombstones held.
    pub tombstones: u64,
    /// Replicas marked bad.
    pub bad: u64,
    /// Uploads staged at this moment.
    pub staged: u64,
}

/// Whether a volume takes part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeState {
    /// Reads and writes.
    InService,
    /// Was found empty and has begun anew; "not found" means "not known" until repair has passed over it.
    Rebuilding,
    /// Neither read nor written, with the reason: a failed sync, an unreadable directory.
    Out(String),
}

/// Why a volume did not do what it was asked. Says what the caller may do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum VolumeError {
    /// No answer: try another replica; it may come back.
    #[error("volume {volume} cannot be reached: {detail}")]
    Unreachable {
        /// Volume asked.
        volume: VolumeId,
        /// What failed.
        detail: String,
    },
    /// Taken out of service: try another replica, a person has to look.
    #[error("volume {volume} is out of service: {detail}")]
    Out {
        /// Volume asked.
        volume: VolumeId,
        /// Why it is out.
        detail: String,
    },
    /// No room: hand the write to another volume.
    #[error("volume {volume} is full: {detail}")]
    Full {
        /// Volume asked.
        volume: VolumeId,
        /// Needed and free bytes.
        detail: String,
    },
    /// No such version or upload here.
    #[error("volume {volume} does not hold {what}")]
    Missing {
        /// Volume asked.
        volume: VolumeId,
        /// Key and version, or upload.
        what: String,
    },
    /// What was received or stored differs from its digest or length.
    #[error("volume {volume}: {what}: found {found}, expected {expected}")]
    Corrupt {
        /// Volume asked.
        volume: VolumeId,
        /// Which bytes.
        what: String,
        /// As found.
        found: String,
        /// As it must be.
        expected: String,
    },
    /// The node knows another layout; the newer of the two has been taken over: ask again.
    #[error("volume {volume} was asked under layout {ours}, its node knows {theirs}")]
    OtherLayout {
        /// Volume asked.
        volume: VolumeId,
        /// Number of the layout asked under.
        ours: u64,
        /// Number that the node knows.
        theirs: u64,
    },
    /// Another node has taken its turn to decide for the key's partition: nothing was prepared.
    #[error("volume {volume}: the version's turn is over, term {promised} was promised")]
    Superseded {
        /// Volume asked.
        volume: VolumeId,
        /// The term promised.
        promised: Term,
    },
    /// The client's content ended early or with an error: not the volume's fault.
    #[error("content ended: {0}")]
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

/// A place for replicas.
///
/// Writing goes in three steps, so that nothing is visible before it is safe everywhere: `stage` receives the
/// content, `prepare` completes the file and syncs it, `commit` makes it visible. A crash before `prepare` has ended
/// leaves nothing but a temporary file, which the next start removes. What was prepared for a write outlives a crash,
/// and is told of by `head` until it is committed or given up by who may ([`Abandon`]).
#[async_trait]
pub trait Volume: Send + Sync + 'static {
    /// Name of the volume.
    fn id(&self) -> &VolumeId;

    /// Receives content into a temporary file. On an error nothing is left.
    async fn stage(&self, stage: StageId, body: ByteStream) -> Result<Staged, VolumeError>;

    /// Completes the temporary file with `meta` and syncs it. Size and BLAKE3 of `meta` must be those staged,
    /// otherwise [`VolumeError::Corrupt`] and the upload is gone. A tombstone (`meta.deleted`) needs no `stage`.
    async fn prepare(&self, stage: StageId, meta: &Meta, purpose: Purpose) -> Result<(), VolumeError>;

    /// `stage` and `prepare` of content that is known whole, in one step, for a write.
    async fn stage_whole(&self, stage: StageId, meta: &Meta, content: Bytes) -> Result<(), VolumeError>;

    /// Reads back the content of an upload that was received, prepared or not, and not committed yet.
    async fn read_staged(&self, stage: StageId) -> Result<StagedRead, VolumeError>;

    /// Makes a prepared upload visible: renamed, directory synced, indexed. From now on `head` finds it, unless a
    /// newer version is there already. A replica of the same version is replaced, and no longer bad. Older versions
    /// of the key may be removed at any time after. `cause` goes to the fixity log, with `evidence` (the replica and
    /// digest that a repair was made from; empty for writes).
    async fn commit(&self, stage: StageId, cause: Cause, evidence: &str) -> Result<(), VolumeError>;

    /// Gives an upload up, if it is what may be given up. Unknown uploads are no error.
    async fn abort(&self, stage: StageId, what: Abandon);

    /// The newest version held of a key, live or tombstone, and the newest one prepared. Reads the index only. A version
    /// is never in neither place between `prepare` and the end of `commit`.
    async fn head(&self, key: &Key) -> Result<Head, VolumeError>;

    /// Keys that begin with a text and of which something lies prepared.
    async fn unsettled(&self, prefix: &str) -> Result<Unsettled, VolumeError>;

    /// Opens a replica and reads whole blocks of it, from the file, unverified; see [`ReplicaRead`]. A replica that is
    /// known to be bad is opened all the same: its other blocks may be right nowhere else. The bytes end with an
    /// error at a block that cannot be read.
    async fn read(&self, key: &Key, version: Version, blocks: Range<u64>)
    -> Result<ReplicaRead, VolumeError>;

    /// Newest versions of keys in order, tombstones included, at most `query.limit`; fewer means that there are no more.
    async fn list(&self, query: &ListQuery) -> Result<Vec<Held>, VolumeError>;

    /// Everything in the first of these partitions, by files and index: a list for each, in order of keys, strays last.
    /// Partitions are answered, at least one, until they have [`SURVEY_ENTRIES`] entries together.
    async fn survey(&self, partitions: &[Partition]) -> Result<Vec<Vec<Surveyed>>, VolumeError>;

    /// Reads a whole replica against its digests, marks it bad or good, and logs it.
    async fn verify(&self, key: &Key, version: Version, cause: Cause) -> Result<Verdict, VolumeError>;

    /// Removes one replica or collected tombstone, durably, and logs it with the evidence that it may go.
    async fn remove(
        &self,
        key: &Key,
        version: Version,
        cause: Cause,
        evidence: &str,
    ) -> Result<(), VolumeError>;

    /// Moves a stray file out of the way (into the volume's `lost+found`), or indexes it if it is a whole replica after all.
    async fn settle_stray(&self, path: &str) -> Result<(), VolumeError>;

    /// Says that repair has passed over everything that this volume should hold: ends [`VolumeState::Rebuilding`].
    async fn rebuilt(&self) -> Result<(), VolumeError>;

    /// Lines of the fixity log about a key on this volume's node, oldest first; all lines (the last `limit`) if `None`.
    async fn fixity(&self, key: Option<&Key>, limit: usize) -> Result<Vec<FixityEvent>, VolumeError>;

    /// How the volume is doing.
    async fn status(&self) -> Result<VolumeStatus, VolumeError>;

    /// A volume that could not be opened is tried again, without anybody waiting for it. Nothing for all others.
    fn revive(&self) {}
}

impl Abandon {
    /// Whether an upload that is prepared like this is given up.
    pub(crate) fn includes(self, meta: &Meta, purpose: Purpose) -> bool {
        match self {
            Self::Received => purpose == Purpose::Copy,
            Self::Version(version) => meta.version == version,
        }
    }
}

impl fmt::Display for VolumeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for VolumeId {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl From<VolumeId> for String {
    fn from(id: VolumeId) -> Self {
        id.0.as_ref().to_owned()
    }
}

impl From<String> for NodeId {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl From<NodeId> for String {
    fn from(id: NodeId) -> Self {
        id.0.as_ref().to_owned()
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
