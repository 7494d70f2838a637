//! What a volume does, wherever it is: a directory of this process, or of another node's, asked over HTTP.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use placement::{Partition, VolumeId};
use serde::{Deserialize, Serialize};

use crate::ask::{VolumeAnswer, VolumeAsk, value};
use crate::clock::Version;
use crate::fixity::{Cause, FixityEvent};
use crate::held::{Head, Held, ListQuery, ReplicaRead, Surveyed, Unsettled, Verdict};
use crate::key::Key;
use crate::meta::Meta;
use crate::stream::ByteStream;
use crate::upload::{Abandon, Purpose, StageId, Staged, StagedRead};
use crate::volume_error::VolumeError;

/// Entries after which the answer to a survey ends, with the partition that it has come to: some 2 MB of JSON.
pub const SURVEY_ENTRIES: usize = 4096;

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

/// Asks a volume and takes the value out of its answer.
async fn answer<T: TryFrom<VolumeAnswer>>(
    volume: &(impl Volume + ?Sized),
    ask: VolumeAsk,
) -> Result<T, VolumeError> {
    value(volume.id(), volume.call(ask).await)
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

    /// Answers a question. The methods below, each of which asks one, say what it means and what holds afterwards.
    async fn call(&self, ask: VolumeAsk) -> Result<VolumeAnswer, VolumeError>;

    /// Receives content into a temporary file. On an error nothing is left.
    async fn stage(&self, stage: StageId, body: ByteStream) -> Result<Staged, VolumeError>;

    /// Completes the temporary file with `meta` and syncs it. Size and BLAKE3 of `meta` must be those staged,
    /// otherwise [`VolumeError::Corrupt`] and the upload is gone. A tombstone (`meta.deleted`) needs no `stage`.
    async fn prepare(&self, stage: StageId, meta: &Meta, purpose: Purpose) -> Result<(), VolumeError> {
        let meta = meta.clone();
        answer(self, VolumeAsk::Prepare { stage, meta, purpose }).await
    }

    /// `stage` and `prepare` of content that is known whole, in one step, for a write.
    async fn stage_whole(&self, stage: StageId, meta: &Meta, content: Bytes) -> Result<(), VolumeError>;

    /// Reads back the content of an upload that was received, prepared or not, and not committed yet.
    async fn read_staged(&self, stage: StageId) -> Result<StagedRead, VolumeError>;

    /// Makes a prepared upload visible: renamed, directory synced, indexed. From now on `head` finds it, unless a
    /// newer version is there already. A replica of the same version is replaced, and no longer bad. Older versions
    /// of the key may be removed at any time after. `cause` goes to the fixity log, with `evidence` (the replica and
    /// digest that a repair was made from; empty for writes).
    async fn commit(&self, stage: StageId, cause: Cause, evidence: &str) -> Result<(), VolumeError> {
        let evidence = evidence.to_owned();
        answer(
            self,
            VolumeAsk::Commit {
                stage,
                cause,
                evidence,
            },
        )
        .await
    }

    /// Gives an upload up, if it is what may be given up. Unknown uploads are no error.
    async fn abort(&self, stage: StageId, what: Abandon) {
        if let Err(error) = self.call(VolumeAsk::Abort { stage, what }).await {
            // Nobody can do anything about it: what was received goes at the next opening, at the latest.
            tracing::debug!(volume = %self.id(), %stage, %error, "upload was not given up, its node will do so");
        }
    }

    /// The newest version held of a key, live or tombstone, and the newest one prepared. Reads the index only. A version
    /// is never in neither place between `prepare` and the end of `commit`.
    async fn head(&self, key: &Key) -> Result<Head, VolumeError> {
        answer(self, VolumeAsk::Head { key: key.clone() }).await
    }

    /// Keys that begin with a text and of which something lies prepared.
    async fn unsettled(&self, prefix: &str) -> Result<Unsettled, VolumeError> {
        let prefix = prefix.to_owned();
        answer(self, VolumeAsk::Unsettled { prefix }).await
    }

    /// Opens a replica and reads whole blocks of it, from the file, unverified; see [`ReplicaRead`]. A replica that is
    /// known to be bad is opened all the same: its other blocks may be right nowhere else. The bytes end with an
    /// error at a block that cannot be read.
    async fn read(&self, key: &Key, version: Version, blocks: Range<u64>)
    -> Result<ReplicaRead, VolumeError>;

    /// Newest versions of keys in order, tombstones included, at most `query.limit`; fewer means that there are no more.
    async fn list(&self, query: &ListQuery) -> Result<Vec<Held>, VolumeError> {
        answer(self, VolumeAsk::List(query.clone())).await
    }

    /// Everything in the first of these partitions, by files and index: a list for each, in order of keys, strays last.
    /// Partitions are answered, at least one, until they have [`SURVEY_ENTRIES`] entries together.
    async fn survey(&self, partitions: &[Partition]) -> Result<Vec<Vec<Surveyed>>, VolumeError> {
        let partitions = partitions.to_vec();
        answer(self, VolumeAsk::Survey { partitions }).await
    }

    /// Reads a whole replica against its digests, marks it bad or good, and logs it.
    async fn verify(&self, key: &Key, version: Version, cause: Cause) -> Result<Verdict, VolumeError> {
        let key = key.clone();
        answer(self, VolumeAsk::Verify { key, version, cause }).await
    }

    /// Removes one replica or collected tombstone, durably, and logs it with the evidence that it may go.
    async fn remove(
        &self,
        key: &Key,
        version: Version,
        cause: Cause,
        evidence: &str,
    ) -> Result<(), VolumeError> {
        let (key, evidence) = (key.clone(), evidence.to_owned());
        let ask = VolumeAsk::Remove {
            key,
            version,
            cause,
            evidence,
        };
        answer(self, ask).await
    }

    /// Moves a stray file out of the way (into the volume's `lost+found`), or indexes it if it is a whole replica after all.
    async fn settle_stray(&self, path: &str) -> Result<(), VolumeError> {
        let path = path.to_owned();
        answer(self, VolumeAsk::SettleStray { path }).await
    }

    /// Says that repair has passed over everything that this volume should hold: ends [`VolumeState::Rebuilding`].
    async fn rebuilt(&self) -> Result<(), VolumeError> {
        answer(self, VolumeAsk::Rebuilt).await
    }

    /// Lines of the fixity log about a key on this volume's node, oldest first; all lines (the last `limit`) if `None`.
    async fn fixity(&self, key: Option<&Key>, limit: usize) -> Result<Vec<FixityEvent>, VolumeError> {
        let key = key.cloned();
        answer(self, VolumeAsk::Fixity { key, limit }).await
    }

    /// How the volume is doing.
    async fn status(&self) -> Result<VolumeStatus, VolumeError> {
        answer(self, VolumeAsk::Status).await
    }

    /// A volume that could not be opened is tried again, without anybody waiting for it. Nothing for all others.
    fn revive(&self) {}
}
