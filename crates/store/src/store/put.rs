//! Taking a client's write: its content in one pass, its declarations compared, its condition decided by the owner.

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use futures_util::stream;

use super::digest::{Digesting, digest_now, digest_whole};
use super::intake::{self, Opening};
use super::write::{Content, Stages, check_staged, targets, unavailable};
use super::{Condition, Draft, Put, Store, StoreError};
use crate::key::Key;
use crate::meta::{Digests, Meta};
use crate::volume::{ByteStream, StageId, VolumeError, VolumeId};

impl Store {
    pub(super) async fn take(&self, key: &Key, body: ByteStream, put: Put) -> Result<Meta, StoreError> {
        // The look tells the clock what it must be later than, and which volumes need not be tried. A condition is
        // decided elsewhere, with a look of its own.
        let (opening, look) = tokio::join!(intake::open(key, body), self.look(key));
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
        let stages = self.stage_known(key, &content, &draft, failed).await?;
        self.finish_at_owner(key, condition, draft, stages).await
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
        let checked = poured.and_then(|(digests, size)| draft(key, digests, size, put));
        let draft = match checked {
            Ok(draft) => draft,
            Err(error) => {
                stages.abort().await;
                return Err(error);
            }
        };
        let mut good = Stages::new(self);
        let mut bad = Stages::new(self);
        let mut errors = Vec::new();
        let mut refused_by = failed.to_vec();
        for ((volume, stage), result) in stages.take().into_iter().zip(results) {
            let size = draft.size;
            let checked =
                result.and_then(|staged| check_staged(&volume, &staged, size, &draft.digests.blake3));
            match checked {
                Ok(()) => good.push(volume, stage),
                Err(error) => {
                    tracing::warn!(%key, %volume, %error, "a volume did not take a content");
                    if !matches!(error, VolumeError::OtherLayout { .. }) {
                        refused_by.push(volume.clone());
                    }
                    errors.push(error);
                    bad.push(volume, stage);
                }
            }
        }
        bad.abort().await;
        if good.list().is_empty() {
            return Err(refused(key, &errors));
        }
        if condition == Condition::Always {
            let _ordered = self.order_if_owner(key).await;
            let meta = draft.into_meta(key, self.cluster().clock.now());
            return self.write_staged(meta, good, refused_by).await;
        }
        self.finish_at_owner(key, condition, draft, good).await
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
        Vec<Result<crate::volume::Staged, VolumeError>>,
        Result<(Digests, u64), StoreError>,
    ) {
        let mut stages = Stages::new(self);
        let mut sinks = Vec::new();
        let mut staging = Vec::new();
        for id in targets(&self.cluster().view(), key, failed) {
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

    /// Stages a content at hand on R volumes, not prepared: its version is not known yet.
    async fn stage_known(
        &self,
        key: &Key,
        content: &Bytes,
        draft: &Draft,
        failed: &[VolumeId],
    ) -> Result<Stages, StoreError> {
        let mut stages = Stages::new(self);
        let mut refused_by = failed.to_vec();
        let mut errors = Vec::new();
        loop {
            let view = self.cluster().view();
            let held: Vec<_> = stages.list().iter().map(|(volume, _)| volume.clone()).collect();
            let wanted = view.home(key.partition()).len();
            let mut next = Vec::new();
            while held.len() + next.len() < wanted {
                let taken: Vec<_> = held.iter().chain(&next).cloned().collect();
                match super::volumes::next_place(&view, key, &taken, &refused_by) {
                    Some(volume) => next.push(volume),
                    None => break,
                }
            }
            if next.is_empty() {
                break;
            }
            let staged = join_all(next.iter().map(|volume| self.stage_on(volume, content, draft))).await;
            for (volume, staged) in next.into_iter().zip(staged) {
                match staged {
                    Ok(stage) => stages.push(volume, stage),
                    Err(error) => {
                        errors.push(error);
                        refused_by.push(volume);
                    }
                }
            }
        }
        if stages.list().is_empty() {
            return Err(refused(key, &errors));
        }
        Ok(stages)
    }

    async fn stage_on(&self, id: &VolumeId, content: &Bytes, draft: &Draft) -> Result<StageId, VolumeError> {
        let stage = StageId::random();
        let mut guard = Stages::of(self, vec![(id.clone(), stage)]);
        let staged = self
            .ask(id, |volume| {
                let piece = content.clone();
                let body = stream::once(async move { Ok(piece) });
                async move { volume.stage(stage, Box::pin(body)).await }
            })
            .await?;
        check_staged(id, &staged, draft.size, &draft.digests.blake3)?;
        guard.take();
        Ok(stage)
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

/// The error of a write that no volume took.
fn refused(key: &Key, errors: &[VolumeError]) -> StoreError {
    let detail = errors
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ");
    let full = |error: &VolumeError| matches!(error, VolumeError::Full { .. });
    if !errors.is_empty() && errors.iter().all(full) {
        let key = key.to_string();
        return StoreError::Full { key, detail };
    }
    unavailable(key, detail)
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
