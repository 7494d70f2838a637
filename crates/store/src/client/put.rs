//! Client writes: reads the content in one pass, checks it against the declared values, then has it
//! decided. The stages of a put, each in its file:
//!
//! 1. the request ([`Put`]), and its content in memory or streamed ([`super::intake`]);
//! 2. the proposal, sent to the deciders of the key ([`super::propose`]);
//! 3. the decision, by one node ([`super::decide`]);
//! 4. staging: R volumes have the content, prepared and synced ([`super::staging`]);
//! 5. the commit, which makes it visible ([`super::commit`]).

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use store_protocol::{
    ByteStream, Change, Condition, Digests, Draft, Key, Meta, Protect, Receipt, UploadId, VolumeError,
    VolumeId,
};

use super::digest::{ContentHasher, digest_whole};
use super::error::{StoreError, declared, unavailable};
use super::intake::{self, IncomingContent};
use super::key_state::KeyState;
use super::propose::Proposal;
use super::read::Object;
use super::staging::{ContentSource, Expected, Staging};
use super::store::Store;
use super::uploads::Uploads;
use super::volumes::next_places;
use crate::version_id::VERSION_ID;
use crate::versioning::Versioning;

/// Called once the whole content has arrived and before it is visible. An error cancels the write.
/// It may add attributes (checksums from a trailer).
pub type Finisher =
    Box<dyn FnOnce(&Digests, u64, &mut BTreeMap<String, String>) -> Result<(), FinisherError> + Send>;

/// Why a [`Finisher`] refuses the content: an error of its own.
pub type FinisherError = Box<dyn std::error::Error + Send + Sync>;

/// Parameters of a write.
#[derive(Default)]
pub struct Put {
    /// Length that the client declared; the write fails if the content has another length.
    pub size: Option<u64>,
    /// MD5 that the client declared (`Content-MD5`).
    pub md5: Option<[u8; 16]>,
    /// SHA-256 that the client declared.
    pub sha256: Option<[u8; 32]>,
    /// Headers to keep, names in lower case. They never set or remove protection; a put of the same
    /// content keeps it.
    pub attributes: BTreeMap<String, String>,
    /// Entity tag; MD5 of the content in hexadecimal if `None`.
    pub etag: Option<String>,
    /// Condition on the current version.
    pub condition: Condition,
    /// How the object's protection changes.
    pub protect: Protect,
    /// How the bucket treats the version that is replaced ([`Store::versioning`]).
    pub versioning: Versioning,
    /// Checks the whole content before it becomes visible.
    pub finisher: Option<Finisher>,
}

impl Store {
    /// Writes a version. Returns only once R different volumes hold it, synced.
    ///
    /// # Errors
    /// [`StoreError`]. After `Unavailable` the version may be visible, complete: a volume failed
    /// between syncing it and making it visible (then on fewer volumes), or the decider's answer
    /// was lost. After any other error nothing remains.
    pub async fn put(&self, key: &Key, body: ByteStream, mut put: Put) -> Result<Meta, StoreError> {
        put.versioning.mark(&mut put.attributes);
        // The state tells which volumes to avoid and which version exists now. The decider reads it
        // again.
        let (content, state) = tokio::join!(
            intake::read_beginning(key, body, self.intake()),
            self.key_state(key)
        );
        // Do not send content for a condition that is already false. The decider checks whether a
        // true one still holds.
        if put.condition != Condition::Always
            && let Ok(current) = state.decided()
            && !put.condition.holds(current)
        {
            return Err(StoreError::Condition {
                key: key.to_string(),
                current: current.map(|meta| meta.etag.clone()),
            });
        }
        let versioning = put.versioning;
        let mut proposal = match content? {
            IncomingContent::Whole(content) => self.propose_whole(key, content, put, &state).await?,
            IncomingContent::Streamed(body) => self.stage_stream(key, body, put, &state).await?,
        };
        let written = match versioning {
            Versioning::Unversioned => {
                let decided = self.propose(&mut proposal).await;
                proposal.close(decided.is_ok()).await;
                decided?
            }
            Versioning::Enabled | Versioning::Suspended => {
                self.propose_versioned(key, proposal, versioning).await?
            }
        };
        written.ok_or_else(|| unavailable(key, "the response to a put has no version"))
    }

    /// Copies the newest version of `from` to `to`, verified while it is read. Attributes are
    /// copied unless others are given.
    ///
    /// # Errors
    /// [`StoreError`]; `NotFound` is about `from`, `Condition` about `to`.
    pub async fn copy(
        &self,
        from: &Key,
        to: &Key,
        attributes: Option<BTreeMap<String, String>>,
        condition: Condition,
    ) -> Result<Meta, StoreError> {
        let put = Put {
            condition,
            ..Put::default()
        };
        self.copy_as(from, to, attributes, put).await
    }

    /// Like [`Store::copy`], with the attributes of `from`, into a bucket that may keep the version
    /// that is replaced.
    pub(crate) async fn copy_versioned(
        &self,
        from: &Key,
        to: &Key,
        condition: Condition,
        versioning: Versioning,
    ) -> Result<Meta, StoreError> {
        let put = Put {
            condition,
            versioning,
            ..Put::default()
        };
        self.copy_as(from, to, None, put).await
    }

    async fn copy_as(
        &self,
        from: &Key,
        to: &Key,
        attributes: Option<BTreeMap<String, String>>,
        put: Put,
    ) -> Result<Meta, StoreError> {
        let Object { meta, body, .. } = self.get(from, None).await?;
        let mut attributes = attributes.unwrap_or(meta.attributes);
        attributes.remove(VERSION_ID);
        let put = Put {
            size: Some(meta.size),
            md5: Some(meta.digests.md5),
            sha256: Some(meta.digests.sha256),
            attributes,
            ..put
        };
        self.put(to, body, put).await
    }

    /// Returns the proposal of a put whose content is in memory. It is uploaded when it is decided.
    async fn propose_whole(
        &self,
        key: &Key,
        content: Bytes,
        mut put: Put,
        state: &KeyState,
    ) -> Result<Proposal, StoreError> {
        let digests = digest_whole(&content, self.md5_queue())
            .await
            .ok_or_else(|| unavailable(key, "the process is shutting down"))?;
        let (condition, protect) = (std::mem::take(&mut put.condition), put.protect);
        let draft = checked_draft(key, digests, content.len() as u64, put)?;
        let change = put_change(condition, draft, protect);
        Ok(Proposal::new(
            self,
            key,
            change,
            ContentSource::Memory(content),
            state,
        ))
    }

    /// Uploads content that is streamed, and returns the proposal of its put.
    async fn stage_stream(
        &self,
        key: &Key,
        body: ByteStream,
        mut put: Put,
        state: &KeyState,
    ) -> Result<Proposal, StoreError> {
        let (condition, protect) = (std::mem::take(&mut put.condition), put.protect);
        let (mut uploads, receipts, received) = self.receive_stream(key, body, put.size, &state.failed).await;
        if received.is_ok()
            && let Some(error) = all_failed(key, &receipts)
        {
            // The rest of the content was not read, so its length and digests are unknown.
            uploads.abort().await;
            return Err(error);
        }
        let checked = received.and_then(|(digests, size)| checked_draft(key, digests, size, put));
        let draft = match checked {
            Ok(draft) => draft,
            Err(error) => {
                uploads.abort().await;
                return Err(error);
            }
        };
        let expected = Expected {
            size: draft.size,
            blake3: draft.digests.blake3,
        };
        let mut staging = Staging::new(self, key, expected, ContentSource::Staged, &state.failed);
        for ((volume, upload), receipt) in uploads.take().into_iter().zip(receipts) {
            staging.record_receipt(volume, upload, receipt).await;
        }
        staging
            .fill()
            .await
            .map_err(|error| error.into_store_error(key))?;
        let change = put_change(condition, draft, protect);
        let proposal = Proposal::new(self, key, change, ContentSource::Staged, state);
        Ok(proposal.with_uploads(staging.uploads()))
    }

    /// Streams long content to volumes and digests in parallel. A volume that stalls is dropped.
    async fn receive_stream(
        &self,
        key: &Key,
        body: ByteStream,
        size: Option<u64>,
        failed: &[VolumeId],
    ) -> (
        Uploads,
        Vec<Result<Receipt, VolumeError>>,
        Result<(Digests, u64), StoreError>,
    ) {
        let mut uploads = Uploads::new(self);
        let mut sinks = Vec::new();
        let mut receiving = Vec::new();
        let (digesting, digests) = ContentHasher::start(self.md5_queue());
        let topology = self.cluster().topology();
        let wanted = topology.home(key.partition()).len();
        for id in next_places(&topology, key, &[], failed, wanted) {
            let (upload, stall) = (UploadId::random(), self.timeouts().stall);
            let (sink, content, given_up) = intake::channel_with_stall(stall);
            let (volume, blocks) = (self.volume(&id), digesting.blocks());
            uploads.push(id.clone(), upload);
            sinks.push(sink);
            receiving.push(async move {
                let volume = volume?;
                tokio::select! {
                    // An answer from a volume wins over a message that it was dropped at the same
                    // moment.
                    biased;
                    receipt = volume.receive_hashed(upload, content, blocks) => receipt,
                    Ok(()) = given_up => Err(VolumeError::Unreachable {
                        volume: id,
                        detail: format!("it accepted no content for {stall:?}"),
                    }),
                }
            });
        }
        let needed = sinks.len();
        sinks.extend(digests);
        let feeding = intake::feed_sinks(key, body, sinks, needed, size).boxed();
        let (received, receipts) = tokio::join!(feeding, join_all(receiving));
        let received = match received {
            Ok(size) => digesting
                .finish()
                .await
                .map(|digests| (digests, size))
                .ok_or_else(|| unavailable(key, "the process is shutting down")),
            Err(error) => Err(error),
        };
        (uploads, receipts, received)
    }
}

/// Returns the change for a put; the caller adds the uploads that hold the content.
fn put_change(condition: Condition, draft: Draft, protect: Protect) -> Change {
    let (draft, uploads) = (Box::new(draft), Vec::new());
    if protect.is_empty() {
        Change::Put {
            condition,
            draft,
            uploads,
        }
    } else {
        Change::Protect {
            condition,
            draft,
            uploads,
            protect,
        }
    }
}

/// Returns the error if every volume refused the content, `None` if at least one took it.
fn all_failed(key: &Key, results: &[Result<Receipt, VolumeError>]) -> Option<StoreError> {
    let errors: Vec<&VolumeError> = results
        .iter()
        .filter_map(|result| result.as_ref().err())
        .collect();
    if errors.is_empty() || errors.len() < results.len() {
        return None;
    }
    let details: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let (key, detail) = (key.to_string(), details.join("; "));
    let is_full = errors
        .iter()
        .all(|error| matches!(error, VolumeError::Full { .. }));
    Some(if is_full {
        StoreError::Full { key, detail }
    } else {
        StoreError::Unavailable { key, detail }
    })
}

/// Compares received content with everything declared about it.
fn checked_draft(key: &Key, digests: Digests, size: u64, put: Put) -> Result<Draft, StoreError> {
    let hex = |bytes: &[u8]| data_encoding::HEXLOWER.encode(bytes);
    if let Some(expected) = put.size.filter(|expected| *expected != size) {
        return Err(declared(key, "length", size, expected));
    }
    if let Some(expected) = put.md5.filter(|expected| *expected != digests.md5) {
        return Err(declared(key, "MD5", hex(&digests.md5), hex(&expected)));
    }
    if let Some(expected) = put.sha256.filter(|expected| *expected != digests.sha256) {
        return Err(declared(key, "SHA-256", hex(&digests.sha256), hex(&expected)));
    }
    let mut attributes = put.attributes;
    if let Some(finisher) = put.finisher {
        finisher(&digests, size, &mut attributes).map_err(|error| StoreError::Refused {
            key: key.to_string(),
            detail: error.to_string(),
        })?;
    }
    Ok(Draft {
        deleted: false,
        size,
        etag: put.etag.unwrap_or_else(|| hex(&digests.md5)),
        attributes,
        digests,
    })
}
