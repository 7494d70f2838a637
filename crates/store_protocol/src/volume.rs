//! The interface of a volume, whether it is a directory of this process or on another node, reached
//! over HTTP.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use placement::{Partition, VolumeId};

use crate::blocks::ContentBlocks;
use crate::clock::Version;
use crate::fixity::{Cause, FixityEvent};
use crate::held::{Head, KeysInDoubt, ListQuery, ReplicaEntry, ReplicaRead, SurveyEntry, Verdict};
use crate::key::Key;
use crate::meta::Meta;
use crate::stream::ByteStream;
use crate::upload::{AbortScope, Purpose, Receipt, UploadId, UploadRead};
use crate::volume_error::VolumeError;
use crate::volume_request::{VolumeRequest, VolumeResponse, value};
use crate::volume_status::VolumeStatus;

/// A survey stops after the partition in which it reaches this many entries: some 2 MB of JSON.
pub const SURVEY_ENTRIES: usize = 4096;

/// Sends a request to a volume and returns the value of its response.
async fn answer<T: TryFrom<VolumeResponse>>(
    volume: &(impl Volume + ?Sized),
    ask: VolumeRequest,
) -> Result<T, VolumeError> {
    value(volume.id(), volume.call(ask).await)
}

/// A place for replicas.
///
/// A write has three steps, so that nothing is visible before it is safe everywhere: `receive`
/// takes the content, `prepare` completes the file and syncs it, `commit` makes it visible. A crash
/// before the end of `prepare` leaves only a temporary file, which the next start removes. A
/// version prepared for a write survives a crash, and `head` reports it until it is committed or
/// aborted ([`AbortScope`] says who may abort it).
#[async_trait]
pub trait Volume: Send + Sync + 'static {
    /// Returns the name of the volume.
    fn id(&self) -> &VolumeId;

    /// Answers a request. Most methods below send one and describe its meaning and effect.
    async fn call(&self, ask: VolumeRequest) -> Result<VolumeResponse, VolumeError>;

    /// Receives content into a temporary file. On an error the file is removed.
    async fn receive(&self, upload: UploadId, body: ByteStream) -> Result<Receipt, VolumeError>;

    /// Like `receive`, for content that the caller hashes while it passes. A volume of this process
    /// writes the same memory that the caller hashes and takes over `blocks`. Other volumes compute
    /// the digests of what reaches them.
    async fn receive_hashed(
        &self,
        upload: UploadId,
        body: ByteStream,
        _blocks: ContentBlocks,
    ) -> Result<Receipt, VolumeError> {
        self.receive(upload, body).await
    }

    /// Completes the temporary file with `meta` and syncs it. Size and BLAKE3 of `meta` must be
    /// those received; otherwise this returns [`VolumeError::Corrupt`] and the upload is removed. A
    /// tombstone (`meta.deleted`) needs no `receive`.
    async fn prepare(&self, upload: UploadId, meta: &Meta, purpose: Purpose) -> Result<(), VolumeError> {
        let meta = meta.clone();
        answer(
            self,
            VolumeRequest::Prepare {
                upload,
                meta,
                purpose,
            },
        )
        .await
    }

    /// Does `receive` and `prepare` in one step, for a write whose content is in memory.
    async fn prepare_whole(&self, upload: UploadId, meta: &Meta, content: Bytes) -> Result<(), VolumeError>;

    /// Reads back the content of an upload that was received, prepared or not, and not committed
    /// yet.
    async fn read_upload(&self, upload: UploadId) -> Result<UploadRead, VolumeError>;

    /// Makes a prepared upload visible: renamed, directory synced, indexed. From now on `head`
    /// finds it, unless a newer version is already there. A replica of the same version is
    /// replaced, and no longer bad. Older versions of the key may be removed at any time
    /// afterwards. The fixity log records `cause` and `evidence` (the replica and digest that a
    /// repair was made from; empty for writes).
    async fn commit(&self, upload: UploadId, cause: Cause, evidence: &str) -> Result<(), VolumeError> {
        let evidence = evidence.to_owned();
        answer(
            self,
            VolumeRequest::Commit {
                upload,
                cause,
                evidence,
            },
        )
        .await
    }

    /// Aborts an upload as far as `what` allows. An unknown upload is ignored.
    async fn abort(&self, upload: UploadId, what: AbortScope) {
        if let Err(error) = self.call(VolumeRequest::Abort { upload, what }).await {
            // The caller cannot do anything about it. Received content is removed at the latest
            // when the volume is next opened.
            tracing::debug!(volume = %self.id(), %upload, %error, "upload could not be aborted, its node will abort it");
        }
    }

    /// Returns the newest version held of a key, live or tombstone, and the newest prepared one.
    /// Reads only the index. From `prepare` to the end of `commit` a version is always seen in at
    /// least one of the two places.
    async fn head(&self, key: &Key) -> Result<Head, VolumeError> {
        answer(self, VolumeRequest::Head { key: key.clone() }).await
    }

    /// Returns the keys that begin with `prefix` and have a prepared version.
    async fn keys_in_doubt(&self, prefix: &str) -> Result<KeysInDoubt, VolumeError> {
        let prefix = prefix.to_owned();
        answer(self, VolumeRequest::KeysInDoubt { prefix }).await
    }

    /// Opens a replica and reads whole blocks of it from the file, unverified; see [`ReplicaRead`].
    /// A replica that is known to be bad is opened too, because it may hold the only good copy of
    /// its other blocks. The bytes end with an error at a block that cannot be read.
    async fn read(&self, key: &Key, version: Version, blocks: Range<u64>)
    -> Result<ReplicaRead, VolumeError>;

    /// Returns the newest versions of keys in order, tombstones included, at most `query.limit`.
    /// Fewer mean that the listing is complete.
    async fn list(&self, query: &ListQuery) -> Result<Vec<ReplicaEntry>, VolumeError> {
        answer(self, VolumeRequest::List(query.clone())).await
    }

    /// Returns everything in the first of these partitions, by files and index: a list for each, in
    /// order of keys, strays last. There is at least one list. The response ends once the lists
    /// have [`SURVEY_ENTRIES`] entries together.
    async fn survey(&self, partitions: &[Partition]) -> Result<Vec<Vec<SurveyEntry>>, VolumeError> {
        let partitions = partitions.to_vec();
        answer(self, VolumeRequest::Survey { partitions }).await
    }

    /// Verifies a whole replica against its digests, marks it bad or good, and logs it.
    async fn verify(&self, key: &Key, version: Version, cause: Cause) -> Result<Verdict, VolumeError> {
        let key = key.clone();
        answer(self, VolumeRequest::Verify { key, version, cause }).await
    }

    /// Removes one replica or collected tombstone durably, and logs it with `evidence`, which says
    /// why it may be removed.
    async fn remove(
        &self,
        key: &Key,
        version: Version,
        cause: Cause,
        evidence: &str,
    ) -> Result<(), VolumeError> {
        let (key, evidence) = (key.clone(), evidence.to_owned());
        let ask = VolumeRequest::Remove {
            key,
            version,
            cause,
            evidence,
        };
        answer(self, ask).await
    }

    /// Moves a stray file into the volume's `lost+found`, or indexes it if it is a whole replica
    /// after all.
    async fn settle_stray(&self, path: &str) -> Result<(), VolumeError> {
        let path = path.to_owned();
        answer(self, VolumeRequest::SettleStray { path }).await
    }

    /// Tells the volume that repair has processed everything it should hold. This ends
    /// [`Rebuilding`](crate::VolumeState::Rebuilding).
    async fn rebuilt(&self) -> Result<(), VolumeError> {
        answer(self, VolumeRequest::Rebuilt).await
    }

    /// Returns lines of the fixity log of this volume's node, oldest first: those about `key`, or
    /// the last `limit` of all lines if `key` is `None`.
    async fn fixity(&self, key: Option<&Key>, limit: usize) -> Result<Vec<FixityEvent>, VolumeError> {
        let key = key.cloned();
        answer(self, VolumeRequest::Fixity { key, limit }).await
    }

    /// Returns the state, sizes and counts of the volume.
    async fn status(&self) -> Result<VolumeStatus, VolumeError> {
        answer(self, VolumeRequest::Status).await
    }

    /// Tries again to open a volume that could not be opened. Returns at once. Other volumes ignore
    /// the call.
    fn revive(&self) {}
}
