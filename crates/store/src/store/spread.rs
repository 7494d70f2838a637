//! Bringing a content to R volumes before anything of it is visible.
//!
//! Invariants:
//!  - [`Spread::fill`] succeeds only when R different volumes hold the whole content staged, on as many nodes and zones as
//!    home has, at least one of them at home in the layout in force, each with the length and BLAKE3 of what was sent;
//!  - a volume that fails is replaced by the next one of [`next_place`] (a hand-off, which repair brings home). A content
//!    that has gone by is copied from another stage and compared on arrival;
//!  - when it fails, every stage is given up, and nothing was visible at any moment.

use std::collections::BTreeSet;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::time::timeout;

use super::stages::Stages;
use super::volumes::{next_place, next_places};
use super::{Store, StoreError};
use crate::key::Key;
use crate::meta::Meta;
use crate::volume::{StageId, Staged, VolumeError, VolumeId};

/// Where the bytes of a version are to be had while it is written.
#[derive(Clone)]
pub(super) enum Content {
    /// A tombstone has none.
    None,
    /// All at hand.
    Whole(Bytes),
    /// Gone by: they are to be had from the stages.
    Passed,
    /// The stages have been committed on these volumes.
    Held(Vec<VolumeId>),
}

/// What a content must prove to be wherever it arrives.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub(super) size: u64,
    pub(super) blake3: [u8; 32],
}

/// A content on its way to R volumes.
pub(super) struct Spread {
    store: Store,
    key: Key,
    expected: Expected,
    content: Content,
    /// The version, once it has its number: from then on every stage is prepared too.
    meta: Option<Meta>,
    stages: Stages,
    /// Volumes that did not answer when the key was looked up.
    silent: Vec<VolumeId>,
    /// Volumes that failed, not asked again; the silent ones too.
    refused: Vec<VolumeId>,
    errors: Vec<VolumeError>,
}

/// Who is to blame for a copy that was not made.
enum Fault {
    Target(VolumeError),
    /// The stage on this volume cannot be read, or is not the content.
    Source(VolumeId, VolumeError),
}

impl Spread {
    /// Of a content that nobody holds yet. Volumes that are known to fail are not asked.
    pub(super) fn new(
        store: &Store,
        key: &Key,
        expected: Expected,
        content: Content,
        failed: &[VolumeId],
    ) -> Self {
        Self {
            store: store.clone(),
            key: key.clone(),
            expected,
            content,
            meta: None,
            stages: Stages::new(store),
            silent: failed.to_vec(),
            refused: failed.to_vec(),
            errors: Vec::new(),
        }
    }

    /// The same, of a version that has its number.
    pub(super) fn of_version(store: &Store, meta: &Meta, content: Content, failed: &[VolumeId]) -> Self {
        let mut spread = Self::new(store, &meta.key, Expected::of(meta), content, failed);
        spread.meta = Some(meta.clone());
        spread
    }

    /// What a volume has answered to a content that was streamed to it.
    pub(super) async fn note(
        &mut self,
        volume: VolumeId,
        stage: StageId,
        staged: Result<Staged, VolumeError>,
    ) {
        let mut upload = Stages::of(&self.store, vec![(volume.clone(), stage)]);
        match staged.and_then(|staged| self.expected.check(&volume, &staged)) {
            Ok(()) => {
                upload.take();
                self.stages.push(volume, stage);
            }
            Err(error) => {
                upload.abort().await;
                if matches!(error, VolumeError::OtherLayout { .. }) {
                    // Not its fault: it gets a copy.
                    self.errors.push(error);
                } else {
                    self.refuse(volume, error);
                }
            }
        }
    }

    /// Takes over what somebody else has staged.
    pub(super) fn adopt(&mut self, stages: &mut Stages) {
        for (volume, stage) in stages.take() {
            self.stages.push(volume, stage);
        }
    }

    /// The volumes that hold it staged.
    pub(super) fn stages(&mut self) -> &mut Stages {
        &mut self.stages
    }

    /// Brings it to as many volumes as needed.
    ///
    /// # Errors
    /// `Full`, `Unavailable`; nothing is left then.
    pub(super) async fn fill(&mut self) -> Result<(), StoreError> {
        loop {
            let view = self.store.cluster().view();
            let ready = self.stages.volumes();
            let partition = self.key.partition();
            if view.is_safe(partition, &ready) {
                return Ok(());
            }
            let wanted = view.home(partition).len().saturating_sub(ready.len()).max(1);
            let next = next_places(&view, &self.key, &ready, &self.refused, wanted);
            if next.is_empty() || !self.has_source() {
                self.stages.abort().await;
                return Err(self.error());
            }
            self.lay(next).await;
        }
    }

    /// Gives the version its number: completes and syncs what was staged. Volumes that fail have to be made up for.
    pub(super) async fn prepare(&mut self, meta: &Meta) {
        self.meta = Some(meta.clone());
        let store = &self.store;
        let prepared = join_all(self.stages.list().iter().map(|(volume, stage)| {
            store.ask(
                volume,
                move |asked| async move { asked.prepare(*stage, meta).await },
            )
        }))
        .await;
        for (volume, prepared) in self.stages.volumes().into_iter().zip(prepared) {
            if let Err(error) = prepared {
                self.give_up(volume, error).await;
            }
        }
    }

    /// Lays the content on volumes; those that fail are not asked again.
    pub(super) async fn lay(&mut self, volumes: Vec<VolumeId>) {
        let laid = join_all(volumes.iter().map(|volume| self.lay_on(volume))).await;
        for (volume, laid) in volumes.into_iter().zip(laid) {
            match laid {
                Ok(stage) => self.stages.push(volume, stage),
                Err(Fault::Target(error)) => self.refuse(volume, error),
                Err(Fault::Source(source, error)) => self.give_up(source, error).await,
            }
        }
    }

    async fn lay_on(&self, volume: &VolumeId) -> Result<StageId, Fault> {
        let stage = StageId::random();
        // Given up if anything fails, or nobody waits any longer.
        let mut upload = Stages::of(&self.store, vec![(volume.clone(), stage)]);
        let laid = self.lay_stage(volume, stage).await;
        match laid {
            Ok(()) => drop(upload.take()),
            Err(_) => upload.abort().await,
        }
        laid.map(|()| stage)
    }

    async fn lay_stage(&self, volume: &VolumeId, stage: StageId) -> Result<(), Fault> {
        match (&self.content, &self.meta) {
            (Content::Whole(content), Some(meta)) => {
                let asking = self.store.ask(volume, |asked| async move {
                    asked.stage_whole(stage, meta, content.clone()).await
                });
                return asking.await.map_err(Fault::Target);
            }
            (Content::Whole(content), None) => self.send(volume, stage, content).await?,
            (Content::Passed, _) => self.copy_stage(volume, stage).await?,
            (Content::Held(holders), Some(meta)) => {
                self.copy_committed(volume, stage, meta, holders).await?;
            }
            // A tombstone needs no content; nothing is committed without a number.
            (Content::None, _) | (Content::Held(_), None) => {}
        }
        let Some(meta) = &self.meta else {
            return Ok(());
        };
        let asking = self
            .store
            .ask(volume, |asked| async move { asked.prepare(stage, meta).await });
        asking.await.map_err(Fault::Target)
    }

    /// Stages a content at hand.
    async fn send(&self, volume: &VolumeId, stage: StageId, content: &Bytes) -> Result<(), Fault> {
        let sending = self.store.ask(volume, |asked| {
            let piece = content.clone();
            let body = futures_util::stream::once(async move { Ok(piece) });
            async move { asked.stage(stage, Box::pin(body)).await }
        });
        let staged = sending.await.map_err(Fault::Target)?;
        self.expected.check(volume, &staged).map_err(Fault::Target)
    }

    /// Stages what another volume has staged.
    async fn copy_stage(&self, volume: &VolumeId, stage: StageId) -> Result<(), Fault> {
        let Some((source, from)) = self.stages.list().first() else {
            return Err(Fault::Target(VolumeError::Body(
                "no volume has it staged".to_owned(),
            )));
        };
        let stall = self.store.patience().stall;
        let copying = self.store.ask(volume, |asked| async move {
            let opening = self
                .store
                .ask(source, |asked| async move { asked.read_staged(*from).await });
            let read = match timeout(stall, opening).await {
                Ok(read) => read.map_err(|error| VolumeError::Body(error.to_string()))?,
                Err(_) => return Err(VolumeError::Body(format!("volume {source} has stalled"))),
            };
            asked.stage(stage, read.bytes).await
        });
        match copying.await {
            Ok(staged) => self
                .expected
                .check(source, &staged)
                .map_err(|error| Fault::Source(source.clone(), error)),
            Err(error @ VolumeError::Body(_)) => Err(Fault::Source(source.clone(), error)),
            Err(error) => Err(Fault::Target(error)),
        }
    }

    /// Stages what other volumes have committed.
    async fn copy_committed(
        &self,
        volume: &VolumeId,
        stage: StageId,
        meta: &Meta,
        holders: &[VolumeId],
    ) -> Result<(), Fault> {
        let body = self.store.read_back(meta, holders);
        let target = self.store.volume(volume).map_err(Fault::Target)?;
        let staged = target.stage(stage, body).await.map_err(Fault::Target)?;
        self.expected.check(volume, &staged).map_err(Fault::Target)
    }

    /// The volume that a version which these hold lacks next, if it can be laid there.
    pub(super) fn next(&self, held: &[VolumeId]) -> Option<VolumeId> {
        let view = self.store.cluster().view();
        next_place(&view, &self.key, held, &self.refused).filter(|_| self.has_source())
    }

    /// From now on the content is to be had from these volumes, which have committed it.
    pub(super) fn committed_on(&mut self, held: &[VolumeId]) {
        let gone_by = matches!(self.content, Content::Passed | Content::Held(_));
        if gone_by {
            self.content = Content::Held(held.to_vec());
        }
    }

    fn has_source(&self) -> bool {
        match &self.content {
            Content::None | Content::Whole(_) => true,
            Content::Passed => !self.stages.list().is_empty(),
            Content::Held(holders) => !holders.is_empty(),
        }
    }

    async fn give_up(&mut self, volume: VolumeId, error: VolumeError) {
        if self.stages.abort_on(&volume).await {
            self.refuse(volume, error);
        }
    }

    pub(super) fn refuse(&mut self, volume: VolumeId, error: VolumeError) {
        tracing::warn!(key = %self.key, %volume, %error, "a volume did not take a write");
        self.refused.push(volume);
        self.errors.push(error);
    }

    /// Why nothing was written.
    pub(super) fn error(&self) -> StoreError {
        let (key, detail) = (self.key.to_string(), self.reasons());
        if self.is_full() {
            return StoreError::Full { key, detail };
        }
        StoreError::Unavailable { key, detail }
    }

    /// Whether want of room is the reason: nobody said anything else, or too few volumes would be left if all others
    /// worked.
    fn is_full(&self) -> bool {
        let is_full = |error: &&VolumeError| matches!(error, VolumeError::Full { .. });
        let full = self.errors.iter().filter(is_full).count();
        let view = self.store.cluster().view();
        let left = view.volumes.len().saturating_sub(full);
        let only = self.silent.is_empty() && full == self.errors.len();
        full > 0 && (only || left < view.home(self.key.partition()).len())
    }

    pub(super) fn reasons(&self) -> String {
        let silent: BTreeSet<_> = self.silent.iter().collect();
        let silent = silent
            .into_iter()
            .map(|volume| format!("volume {volume} did not answer"));
        let reasons: Vec<_> = self
            .errors
            .iter()
            .map(ToString::to_string)
            .chain(silent)
            .collect();
        if reasons.is_empty() {
            return "too few volumes, or too few on different nodes and zones, are left".to_owned();
        }
        reasons.join("; ")
    }
}

impl Expected {
    pub(super) fn of(meta: &Meta) -> Self {
        Self {
            size: meta.size,
            blake3: meta.digests.blake3,
        }
    }

    /// Compares what a volume received or had with what was sent.
    fn check(&self, volume: &VolumeId, staged: &Staged) -> Result<(), VolumeError> {
        if staged.size == self.size && staged.blake3 == self.blake3 {
            return Ok(());
        }
        let named = |size: u64, digest: &[u8; 32]| {
            format!("{size} bytes, BLAKE3 {}", data_encoding::HEXLOWER.encode(digest))
        };
        Err(VolumeError::Corrupt {
            volume: volume.clone(),
            what: "staged content".to_owned(),
            found: named(staged.size, &staged.blake3),
            expected: named(self.size, &self.blake3),
        })
    }
}
