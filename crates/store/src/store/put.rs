//! Taking a client's write: its content in one pass, its declarations compared, its condition decided by the owner.

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;

use super::digest::{Digesting, digest_now, digest_whole};
use super::intake::{self, Opening};
use super::spread::{Content, Expected, Spread};
use super::stages::Stages;
use super::volumes::next_places;
use super::write::unavailable;
use super::{Condition, Draft, Put, Store, StoreError};
use crate::key::Key;
use crate::meta::{Digests, Meta};
use crate::volume::{ByteStream, StageId, Staged, VolumeError, VolumeId};

impl Store {
    pub(super) async fn take(&self, key: &Key, body: ByteStream, put: Put) -> Result<Meta, StoreError> {
        // The look tells the clock what it must be later than, and which volumes need not be tried. A condition is
        // decided elsewhere, with a look of its own.
        let (opening, look) = tokio::join!(intake::open(key, body, &self.inner.intake), self.look(key));
        if let Some(meta) = &look.newest {
            self.observe(meta)?;
        }
        // No content is sent for a condition that does not hold already; whether it holds, the owner says.
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
            Opening::Whole(content) => self.take_whole(key, content, put, &look.failed).await,
            Opening::Long(body) => self.take_long(key, body, put, &look.failed).await,
        }
    }

    async fn take_whole(
        &self,
        key: &Key,
        content: Bytes,
        mut put: Put,
        failed: &[VolumeId],
    ) -> Result<Meta, StoreError> {
        let digests = digest_whole(&content)
            .await
            .map_err(|error| unavailable(key, error))?;
        let condition = std::mem::take(&mut put.condition);
        let draft = draft(key, digests, content.len() as u64, put)?;
        if condition == Condition::Always {
            let _ordered = self.order_if_owner(key).await;
            let meta = draft.into_meta(key, self.cluster().clock.now());
            return self.write_whole(meta, Content::Whole(content), failed).await;
        }
        let expected = Expected {
            size: draft.size,
            blake3: draft.digests.blake3,
        };
        let mut spread = Spread::new(self, key, expected, Content::Whole(content), failed);
        spread.fill().await?;
        self.finish_at_owner(key, condition, draft, spread.stages()).await
    }

    async fn take_long(
        &self,
        key: &Key,
        body: ByteStream,
        mut put: Put,
        failed: &[VolumeId],
    ) -> Result<Meta, StoreError> {
        let condition = std::mem::take(&mut put.condition);
        let (mut stages, results, poured) = self.stage_long(key, body, put.size, failed).await;
        if poured.is_ok()
            && let Some(error) = all_failed(key, &results)
        {
            // The rest of the content was not read, so nothing can be said of its length and digests.
            stages.abort().await;
            return Err(error);
        }
        let checked = poured.and_then(|(digests, size)| draft(key, digests, size, put));
        let draft = match checked {
            Ok(draft) => draft,
            Err(error) => {
                stages.abort().await;
                return Err(error);
            }
        };
        let expected = Expected {
            size: draft.size,
            blake3: draft.digests.blake3,
        };
        let mut spread = Spread::new(self, key, expected, Content::Passed, failed);
        for ((volume, stage), result) in stages.take().into_iter().zip(results) {
            spread.note(volume, stage, result).await;
        }
        spread.fill().await?;
        if condition == Condition::Always {
            let _ordered = self.order_if_owner(key).await;
            let meta = draft.into_meta(key, self.cluster().clock.now());
            return self.write_staged(meta, spread).await;
        }
        self.finish_at_owner(key, condition, draft, spread.stages()).await
    }

    /// Streams a long content to volumes and digests at once.
    async fn stage_long(
        &self,
        key: &Key,
        body: ByteStream,
        size: Option<u64>,
        failed: &[VolumeId],
    ) -> (
        Stages,
        Vec<Result<Staged, VolumeError>>,
        Result<(Digests, u64), StoreError>,
    ) {
        let mut stages = Stages::new(self);
        let mut sinks = Vec::new();
        let mut staging = Vec::new();
        let view = self.cluster().view();
        let wanted = view.home(key.partition()).len();
        for id in next_places(&view, key, &[], failed, wanted) {
            let (stage, (sink, content)) = (StageId::random(), intake::channel());
            let volume = self.volume(&id);
            stages.push(id, stage);
            sinks.push(sink);
            staging.push(async move { volume?.stage(stage, content).await });
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
                .ok_or_else(|| unavailable(key, "the process is ending")),
            Err(error) => Err(error),
        };
        (stages, results, poured)
    }

    /// Takes note of a version, so that the next one given out here is later.
    pub(super) fn observe(&self, meta: &Meta) -> Result<(), StoreError> {
        let observed = self.cluster().clock.observe(meta.version);
        observed.map_err(|error| unavailable(&meta.key, error))
    }
}

impl Condition {
    /// Whether it holds of a current version.
    pub(super) fn holds(&self, current: Option<&Meta>) -> bool {
        match self {
            Self::Always => true,
            Self::Absent => current.is_none(),
            Self::Etag(etag) => current.is_some_and(|meta| meta.etag == *etag),
        }
    }
}

impl Draft {
    /// A version of its own.
    pub(super) fn into_meta(self, key: &Key, version: crate::clock::Version) -> Meta {
        Meta {
            key: key.clone(),
            version,
            deleted: self.deleted,
            size: self.size,
            etag: self.etag,
            attributes: self.attributes,
            digests: self.digests,
        }
    }

    /// A deletion.
    pub(super) fn tombstone() -> Self {
        Self {
            deleted: true,
            size: 0,
            etag: String::new(),
            attributes: std::collections::BTreeMap::new(),
            digests: digest_now(&[]),
        }
    }
}

/// Why no volume at all took a content, if that is so.
fn all_failed(key: &Key, results: &[Result<Staged, VolumeError>]) -> Option<StoreError> {
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

/// Compares a content that has passed with everything declared of it.
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

pub(super) fn declared(
    key: &Key,
    what: &str,
    found: impl std::fmt::Display,
    expected: impl std::fmt::Display,
) -> StoreError {
    StoreError::Declared {
        key: key.to_string(),
        what: what.to_owned(),
        found: found.to_string(),
        expected: expected.to_string(),
    }
}
