//! Making a version safe: staged on R volumes, prepared on them, committed on them, and only then answered.
//!
//! Who fails on the way is replaced by the next volume of [`next_place`] (a hand-off, which repair brings home). The rule
//! for an answer is always the same: R different volumes hold the version, synced, at least one of them at home in
//! the layout in force at that moment.
//!
//!  - Before the first commit nothing is visible: any failure gives up all stages and leaves nothing.
//!  - From the first commit on the version may be seen. When it cannot be brought to R volumes, the answer is
//!    `Unavailable`: the version is whole, but on fewer volumes; whoever asks again writes a newer one.
//!  - The steps after the content run in a task of their own: a client that goes away cannot stop them half-way.

use std::fmt;

use bytes::Bytes;
use futures_util::future::join_all;

use super::volumes::next_place;
use super::{Damage, Store, StoreError};
use crate::cluster::View;
use crate::key::Key;
use crate::meta::Meta;
use crate::volume::{Cause, StageId, VolumeError, VolumeId};

/// Where the bytes of a version are to be had while it is written.
#[derive(Clone)]
pub(super) enum Content {
    /// A tombstone has none.
    None,
    /// All at hand.
    Whole(Bytes),
    /// Staged, and gone by: another copy can only be read from a volume that has committed it.
    Passed,
}

/// Uploads on volumes; those not taken out are given up when this is dropped.
pub(super) struct Stages {
    store: Store,
    list: Vec<(VolumeId, StageId)>,
}

/// A version on its way, and what has become of it on each volume.
struct Write {
    store: Store,
    meta: Meta,
    content: Content,
    /// Prepared, not yet committed.
    prepared: Stages,
    /// Committed.
    held: Vec<VolumeId>,
    /// Volumes that failed, not asked again.
    refused: Vec<VolumeId>,
    errors: Vec<VolumeError>,
}

impl Stages {
    pub(super) fn new(store: &Store) -> Self {
        Self {
            store: store.clone(),
            list: Vec::new(),
        }
    }

    pub(super) fn of(store: &Store, list: Vec<(VolumeId, StageId)>) -> Self {
        Self {
            store: store.clone(),
            list,
        }
    }

    pub(super) fn push(&mut self, volume: VolumeId, stage: StageId) {
        self.list.push((volume, stage));
    }

    pub(super) fn list(&self) -> &[(VolumeId, StageId)] {
        &self.list
    }

    /// Takes them out: from now on somebody else sees to them.
    pub(super) fn take(&mut self) -> Vec<(VolumeId, StageId)> {
        std::mem::take(&mut self.list)
    }

    /// Gives all up.
    pub(super) async fn abort(mut self) {
        let list = self.take();
        abort_all(&self.store, list).await;
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        let list = self.take();
        if list.is_empty() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let store = self.store.clone();
            runtime.spawn(async move { abort_all(&store, list).await });
        }
    }
}

async fn abort_all(store: &Store, list: Vec<(VolumeId, StageId)>) {
    let aborts = list.into_iter().map(|(volume, stage)| async move {
        if let Ok(volume) = store.volume(&volume) {
            volume.abort(stage).await;
        }
    });
    join_all(aborts).await;
}

impl Store {
    /// Writes a version of which the whole content is at hand, or a tombstone.
    ///
    /// # Errors
    /// `Full`, `Unavailable`
    pub(super) async fn write_whole(
        &self,
        meta: Meta,
        content: Content,
        failed: &[VolumeId],
    ) -> Result<Meta, StoreError> {
        let mut write = Write::new(self, meta, content);
        let targets = targets(&self.cluster().view(), &write.meta.key, failed);
        detached(&write.meta.key.clone(), async move {
            write.lay(targets).await;
            write.complete().await
        })
        .await
    }

    /// Finishes a version whose content lies staged. Volumes that are known to fail are not asked.
    ///
    /// # Errors
    /// `Full`, `Unavailable`
    pub(super) async fn write_staged(
        &self,
        meta: Meta,
        stages: Stages,
        failed: Vec<VolumeId>,
    ) -> Result<Meta, StoreError> {
        let mut write = Write::new(self, meta, Content::Passed);
        write.refused = failed;
        detached(&write.meta.key.clone(), async move {
            write.prepare(stages).await;
            write.complete().await
        })
        .await
    }
}

/// The volumes that a write goes to first: those of its home that are not known to fail, and hand-offs for the others.
pub(super) fn targets(view: &View, key: &Key, failed: &[VolumeId]) -> Vec<VolumeId> {
    let wanted = view.home(key.partition()).len();
    let mut targets = Vec::new();
    while targets.len() < wanted {
        match next_place(view, key, &targets, failed) {
            Some(volume) => targets.push(volume),
            None => break,
        }
    }
    targets
}

/// Runs the end of a write to its end, whether or not somebody still waits for it.
async fn detached(
    key: &Key,
    write: impl Future<Output = Result<Meta, StoreError>> + Send + 'static,
) -> Result<Meta, StoreError> {
    let ended = tokio::spawn(write).await;
    ended.unwrap_or_else(|error| Err(unavailable(key, error)))
}

impl Write {
    fn new(store: &Store, meta: Meta, content: Content) -> Self {
        Self {
            store: store.clone(),
            meta,
            content,
            prepared: Stages::new(store),
            held: Vec::new(),
            refused: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Lays the content on volumes, prepared.
    async fn lay(&mut self, volumes: Vec<VolumeId>) {
        let laid = join_all(volumes.iter().map(|volume| self.lay_on(volume))).await;
        for (volume, laid) in volumes.into_iter().zip(laid) {
            match laid {
                Ok(stage) => self.prepared.push(volume, stage),
                Err(error) => self.refuse(volume, error),
            }
        }
    }

    async fn lay_on(&self, volume: &VolumeId) -> Result<StageId, VolumeError> {
        let stage = StageId::random();
        // Given up if anything fails, or nobody waits any longer.
        let mut guard = Stages::of(&self.store, vec![(volume.clone(), stage)]);
        let meta = &self.meta;
        match &self.content {
            Content::None => {
                self.store
                    .ask(volume, |asked| async move { asked.prepare(stage, meta).await })
                    .await?;
            }
            Content::Whole(content) => {
                self.store
                    .ask(volume, |asked| async move {
                        asked.stage_whole(stage, meta, content.clone()).await
                    })
                    .await?;
            }
            Content::Passed => {
                let body = self.store.read_back(meta, &self.held);
                let staged = self.store.volume(volume)?.stage(stage, body).await?;
                check_staged(volume, &staged, meta.size, &meta.digests.blake3)?;
                self.store
                    .ask(volume, |asked| async move { asked.prepare(stage, meta).await })
                    .await?;
            }
        }
        guard.take();
        Ok(stage)
    }

    /// Completes and syncs what was staged.
    async fn prepare(&mut self, mut stages: Stages) {
        let (store, meta) = (&self.store, &self.meta);
        let prepared = join_all(stages.list().iter().map(|(volume, stage)| {
            store.ask(
                volume,
                move |asked| async move { asked.prepare(*stage, meta).await },
            )
        }))
        .await;
        for ((volume, stage), prepared) in stages.take().into_iter().zip(prepared) {
            match prepared {
                Ok(()) => self.prepared.push(volume, stage),
                Err(error) => {
                    Stages::of(&self.store, vec![(volume.clone(), stage)])
                        .abort()
                        .await;
                    self.refuse(volume, error);
                }
            }
        }
    }

    /// From whatever is prepared to the answer.
    async fn complete(mut self) -> Result<Meta, StoreError> {
        if !self.fill_up().await {
            let error = self.error();
            self.prepared.abort().await;
            return Err(error);
        }
        self.commit().await;
        while let Some(volume) = self.lacking()? {
            self.lay(vec![volume]).await;
            self.commit().await;
        }
        self.tell();
        Ok(self.meta)
    }

    /// Before anything is visible: as many volumes as needed. What cannot be laid again is only looked at.
    async fn fill_up(&mut self) -> bool {
        loop {
            let view = self.store.cluster().view();
            let home = view.home(self.meta.key.partition());
            let ready: Vec<_> = self
                .prepared
                .list()
                .iter()
                .map(|(volume, _)| volume.clone())
                .collect();
            let at_home = ready.iter().any(|volume| home.contains(volume));
            if !home.is_empty() && ready.len() >= home.len() && at_home {
                return true;
            }
            if matches!(self.content, Content::Passed) {
                return !ready.is_empty();
            }
            match next_place(&view, &self.meta.key, &ready, &self.refused) {
                Some(volume) => self.lay(vec![volume]).await,
                None => return false,
            }
        }
    }

    /// Makes visible what is prepared.
    async fn commit(&mut self) {
        let stages = self.prepared.take();
        let store = &self.store;
        let committed = join_all(stages.iter().map(|(volume, stage)| {
            store.ask(volume, move |asked| async move {
                asked.commit(*stage, Cause::Write, "").await
            })
        }))
        .await;
        for ((volume, stage), committed) in stages.into_iter().zip(committed) {
            match committed {
                Ok(()) => self.held.push(volume),
                Err(error) => {
                    Stages::of(&self.store, vec![(volume.clone(), stage)])
                        .abort()
                        .await;
                    self.refuse(volume, error);
                }
            }
        }
    }

    /// The next volume needed for the answer; `None` when the rule is kept.
    fn lacking(&self) -> Result<Option<VolumeId>, StoreError> {
        let view = self.store.cluster().view();
        let home = view.home(self.meta.key.partition());
        let at_home = self.held.iter().any(|volume| home.contains(volume));
        if self.held.len() >= home.len() && at_home {
            return Ok(None);
        }
        // Bytes that have passed can only be copied from a volume that holds them.
        let copyable = !self.held.is_empty() || !matches!(self.content, Content::Passed);
        match next_place(&view, &self.meta.key, &self.held, &self.refused) {
            Some(volume) if copyable => Ok(Some(volume)),
            _ => Err(unavailable(&self.meta.key, self.reasons())),
        }
    }

    fn refuse(&mut self, volume: VolumeId, error: VolumeError) {
        tracing::warn!(key = %self.meta.key, %volume, %error, "a volume did not take a write");
        self.refused.push(volume);
        self.errors.push(error);
    }

    /// Tells repair of home volumes that went without.
    fn tell(&self) {
        let view = self.store.cluster().view();
        let held: Vec<_> = self.held.iter().map(ToString::to_string).collect();
        for volume in view.home(self.meta.key.partition()) {
            if !self.held.contains(volume) {
                self.store.damaged(Damage {
                    key: self.meta.key.clone(),
                    version: self.meta.version,
                    volume: volume.clone(),
                    detail: format!("did not take the write; the copies are on {}", held.join(", ")),
                });
            }
        }
    }

    /// Why nothing was written.
    fn error(&self) -> StoreError {
        let full = |error: &VolumeError| matches!(error, VolumeError::Full { .. });
        if !self.errors.is_empty() && self.errors.iter().all(full) {
            return StoreError::Full {
                key: self.meta.key.to_string(),
                detail: self.reasons(),
            };
        }
        unavailable(&self.meta.key, self.reasons())
    }

    fn reasons(&self) -> String {
        match self.errors.as_slice() {
            [] => "the layout has too few volumes".to_owned(),
            errors => errors
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("; "),
        }
    }
}

/// Compares what a volume received with what was sent.
pub(super) fn check_staged(
    volume: &VolumeId,
    staged: &crate::volume::Staged,
    size: u64,
    blake3: &[u8; 32],
) -> Result<(), VolumeError> {
    if staged.size == size && staged.blake3 == *blake3 {
        return Ok(());
    }
    let hex = |digest: &[u8; 32]| data_encoding::HEXLOWER.encode(digest);
    Err(VolumeError::Corrupt {
        volume: volume.clone(),
        what: "staged content".to_owned(),
        found: format!("{} bytes, BLAKE3 {}", staged.size, hex(&staged.blake3)),
        expected: format!("{size} bytes, BLAKE3 {}", hex(blake3)),
    })
}

pub(super) fn unavailable(key: &Key, detail: impl fmt::Display) -> StoreError {
    StoreError::Unavailable {
        key: key.to_string(),
        detail: detail.to_string(),
    }
}
