//! Client writes: reads the content in one pass, checks it against the declared values, then has it
//! decided.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use store_protocol::{
    ByteStream, Change, Condition, Digests, Draft, Key, Meta, Protect, Receipt, UploadId, VolumeError,
    VolumeId,
};

use super::current::Look;
use super::decide::Order;
use super::digest::{Digesting, digest_whole};
use super::error::{StoreError, declared, unavailable};
use super::intake::{self, Opening};
use super::read::Object;
use super::spread::{Content, Expected, Spread};
use super::store::Store;
use super::uploads::Uploads;
use super::volumes::next_places;
use crate::version_id::VERSION_ID;
use crate::versioning::Versioning;

/// Called once the whole content has arrived and before it is visible. An error cancels the write.
/// It may add attributes (checksums from a trailer).
pub type Finisher =
    Box<dyn FnOnce(&Digests, u64, &mut BTreeMap<String, String>) -> Result<(), String> + Send>;

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
        // The look tells which volumes to avoid and which version exists now. The decider looks
        // again.
        let (opening, look) = tokio::join!(intake::open(key, body, self.intake()), self.look(key));
        // Do not send content for a condition that is already false. The decider checks whether a
        // true one still holds.
        if put.condition != Condition::Always
            && let Ok(current) = look.decided()
            && !put.condition.holds(current)
        {
            return Err(StoreError::Condition {
                key: key.to_string(),
                current: current.map(|meta| meta.etag.clone()),
            });
        }
        match opening? {
            Opening::Whole(content) => self.put_whole(key, content, put, &look).await,
            Opening::Long(body) => self.put_long(key, body, put, &look).await,
        }
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

    async fn put_whole(
        &self,
        key: &Key,
        content: Bytes,
        mut put: Put,
        look: &Look,
    ) -> Result<Meta, StoreError> {
        let digests = digest_whole(&content)
            .await
            .map_err(|error| unavailable(key, error))?;
        let (condition, protect) = (std::mem::take(&mut put.condition), put.protect);
        let versioning = put.versioning;
        let draft = draft(key, digests, content.len() as u64, put)?;
        let change = changed(condition, draft, protect);
        let order = Order::new(self, key, change, Content::Whole(content), look);
        self.written(key, order, versioning).await
    }

    /// Has a put decided and returns the version written.
    async fn written(&self, key: &Key, mut order: Order, versioning: Versioning) -> Result<Meta, StoreError> {
        let written = match versioning {
            Versioning::Unversioned => self.finish(order).await?,
            Versioning::Enabled | Versioning::Suspended => {
                let condition = order.take_condition();
                self.finish_versioned(key, order, condition, versioning).await?
            }
        };
        written.ok_or_else(|| unavailable(key, "the response to a put has no version"))
    }

    async fn put_long(
        &self,
        key: &Key,
        body: ByteStream,
        mut put: Put,
        look: &Look,
    ) -> Result<Meta, StoreError> {
        let (condition, protect) = (std::mem::take(&mut put.condition), put.protect);
        let versioning = put.versioning;
        let (mut uploads, results, poured) = self.receive_long(key, body, put.size, &look.failed).await;
        if poured.is_ok()
            && let Some(error) = all_failed(key, &results)
        {
            // The rest of the content was not read, so its length and digests are unknown.
            uploads.abort().await;
            return Err(error);
        }
        let checked = poured.and_then(|(digests, size)| draft(key, digests, size, put));
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
        let mut spread = Spread::new(self, key, expected, Content::Passed, &look.failed);
        for ((volume, upload), result) in uploads.take().into_iter().zip(results) {
            spread.note(volume, upload, result).await;
        }
        spread.fill().await.map_err(|short| short.refused(key))?;
        let change = changed(condition, draft, protect);
        let order = Order::new(self, key, change, Content::Passed, look);
        let order = order.uploaded(spread.uploads());
        self.written(key, order, versioning).await
    }

    /// Streams long content to volumes and digests in parallel. A volume that stalls is dropped.
    async fn receive_long(
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
        let mut staging = Vec::new();
        let topology = self.cluster().topology();
        let wanted = topology.home(key.partition()).len();
        for id in next_places(&topology, key, &[], failed, wanted) {
            let (upload, stall) = (UploadId::random(), self.patience().stall);
            let (sink, content, given_up) = intake::channel_for(stall);
            let volume = self.volume(&id);
            uploads.push(id.clone(), upload);
            sinks.push(sink);
            staging.push(async move {
                let volume = volume?;
                tokio::select! {
                    // An answer from a volume wins over a message that it was dropped at the same
                    // moment.
                    biased;
                    receipt = volume.receive(upload, content) => receipt,
                    Ok(()) = given_up => Err(VolumeError::Unreachable {
                        volume: id,
                        detail: format!("it accepted no content for {stall:?}"),
                    }),
                }
            });
        }
        let needed = sinks.len();
        let (digesting, digests) = Digesting::begin();
        sinks.extend(digests);
        let pouring = intake::pour(key, body, sinks, needed, size).boxed();
        let (poured, results) = tokio::join!(pouring, join_all(staging));
        let poured = match poured {
            Ok(size) => digesting
                .finish()
                .await
                .map(|digests| (digests, size))
                .ok_or_else(|| unavailable(key, "the process is shutting down")),
            Err(error) => Err(error),
        };
        (uploads, results, poured)
    }
}

/// Returns the change for a put; the caller adds the uploads that hold the content.
fn changed(condition: Condition, draft: Draft, protect: Protect) -> Change {
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
    let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let (key, detail) = (key.to_string(), said.join("; "));
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
fn draft(key: &Key, digests: Digests, size: u64, put: Put) -> Result<Draft, StoreError> {
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
        finisher(&digests, size, &mut attributes).map_err(|detail| StoreError::Refused {
            key: key.to_string(),
            detail,
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
