//! Brings content to R volumes before any of it is visible.
//!
//! Invariants:
//!  - [`Staging::fill`] returns `Ok` only if R different volumes hold the whole uploaded content,
//!    on as many nodes and zones as home has, at least one of them at home in the layout in force,
//!    each with the length and BLAKE3 of the bytes sent;
//!  - a volume that fails is replaced by the next one of [`next_place`] (a hand-off, which repair
//!    brings home). Streamed content is then copied from another upload and compared on arrival;
//!  - on failure every upload is aborted and nothing was ever visible; if another decider stops it,
//!    prepared uploads stay for that decider to find.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use store_protocol::{Key, Meta, Purpose, Receipt, Term, UploadId, Volume, VolumeError, VolumeId};
use tokio::time::timeout;

use super::error::StoreError;
use super::store::Store;
use super::uploads::Uploads;
use super::volumes::{next_place, next_places};
use crate::cluster::Topology;

/// Where the bytes of a version can be read while it is written.
#[derive(Clone)]
pub(super) enum ContentSource {
    /// A tombstone, which has no bytes.
    None,
    /// The whole content, in memory.
    Memory(Bytes),
    /// The content was streamed, so only the uploads have it.
    Staged,
    /// Another process has prepared it on these volumes.
    Prepared(Vec<(VolumeId, UploadId)>),
    /// The uploads have been committed on these volumes.
    Committed(Vec<VolumeId>),
}

/// Length and digest that the content must have on every volume.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub(super) size: u64,
    pub(super) blake3: [u8; 32],
}

/// Content on its way to R volumes.
pub(super) struct Staging {
    store: Store,
    key: Key,
    expected: Expected,
    content: ContentSource,
    /// The version, once it has its number. From then on every upload is also prepared.
    meta: Option<Meta>,
    uploads: Uploads,
    /// The topology of the decision, from the look at the key to the last preparation.
    decided_under: Option<Arc<Topology>>,
    /// Why the decision must start again.
    stop: Option<StopReason>,
    /// It is prepared on enough volumes. Others may rely on it from now on, and later copies only
    /// add to it.
    is_chosen: bool,
    /// Volumes that did not answer when the key was looked up.
    silent: Vec<VolumeId>,
    /// Volumes that failed and are not asked again, including the silent ones.
    excluded: Vec<VolumeId>,
    errors: Vec<VolumeError>,
}

/// Why a version did not reach R volumes.
pub(super) enum StagingError {
    /// It failed and left no trace.
    Failed(StoreError),
    /// It may be prepared on some volumes: the decision must start again.
    Stopped(StopReason),
}

impl StagingError {
    /// Returns the error for a caller that only receives content, which no other decider can stop.
    pub(super) fn into_store_error(self, key: &Key) -> StoreError {
        match self {
            Self::Failed(error) => error,
            Self::Stopped(stop) => StoreError::Unavailable {
                key: key.to_string(),
                detail: format!("{stop:?}"),
            },
        }
    }
}

/// Why a decision stops.
#[derive(Debug, Clone, Copy)]
pub(super) enum StopReason {
    /// Another node has been promised this later term.
    Superseded(Term),
    /// Another layout is in force.
    OtherLayout,
}

/// The side that caused a copy to fail.
enum UploadError {
    Target(VolumeError),
    /// The upload on this volume cannot be read, or its bytes are wrong.
    Source(VolumeId, VolumeError),
}

impl Staging {
    /// Starts with content that no volume holds yet. Volumes that are known to fail are not asked.
    pub(super) fn new(
        store: &Store,
        key: &Key,
        expected: Expected,
        content: ContentSource,
        failed: &[VolumeId],
    ) -> Self {
        Self {
            store: store.clone(),
            key: key.clone(),
            expected,
            content,
            meta: None,
            uploads: Uploads::new(store),
            decided_under: None,
            stop: None,
            is_chosen: false,
            silent: failed.to_vec(),
            excluded: failed.to_vec(),
            errors: Vec::new(),
        }
    }

    /// Like [`Staging::new`], for a version that has its number, decided under a topology.
    pub(super) fn for_version(
        store: &Store,
        topology: &Arc<Topology>,
        meta: &Meta,
        content: ContentSource,
        failed: &[VolumeId],
    ) -> Self {
        let mut staging = Self::new(store, &meta.key, Expected::of(meta), content, failed);
        staging.meta = Some(meta.clone());
        staging.uploads = staging.uploads.prepared_as(meta.version);
        staging.decided_under = Some(topology.clone());
        staging
    }

    fn topology(&self) -> Arc<Topology> {
        let under = self.decided_under.clone();
        under.unwrap_or_else(|| self.store.cluster().topology())
    }

    /// Asks a volume under the topology of the decision if there is one, otherwise under the one in
    /// force.
    async fn ask<T, F>(
        &self,
        id: &VolumeId,
        question: impl Fn(Arc<dyn Volume>) -> F,
    ) -> Result<T, VolumeError>
    where
        F: Future<Output = Result<T, VolumeError>>,
    {
        match &self.decided_under {
            Some(topology) => match topology.volumes.get(id) {
                Some(volume) => question(volume.clone()).await,
                None => self.store.ask(id, question).await,
            },
            None => self.store.ask(id, question).await,
        }
    }

    /// Records a volume's answer to content that was streamed to it.
    pub(super) async fn record_receipt(
        &mut self,
        volume: VolumeId,
        upload: UploadId,
        receipt: Result<Receipt, VolumeError>,
    ) {
        let mut guard = Uploads::of(&self.store, vec![(volume.clone(), upload)]);
        match receipt.and_then(|receipt| self.expected.check(&volume, &receipt)) {
            Ok(()) => {
                guard.take();
                self.uploads.push(volume, upload);
            }
            Err(error) => {
                if matches!(error, VolumeError::Unreachable { .. }) {
                    // It would not answer this request either: dropping the guard sends the abort
                    // without waiting for an answer.
                    drop(guard);
                } else {
                    guard.abort().await;
                }
                if matches!(error, VolumeError::OtherLayout { .. }) {
                    // The volume is not at fault: it gets a copy later.
                    self.errors.push(error);
                } else {
                    self.exclude(volume, error);
                }
            }
        }
    }

    /// Takes over uploads that another task made.
    pub(super) fn add_uploads(&mut self, uploads: &mut Uploads) {
        for (volume, upload) in uploads.take() {
            self.uploads.push(volume, upload);
        }
    }

    /// Returns the uploads of the content.
    pub(super) fn uploads(&mut self) -> &mut Uploads {
        &mut self.uploads
    }

    /// Brings the content to as many volumes as needed.
    ///
    /// # Errors
    /// [`StagingError`] if too few volumes take it, or if the decision stops.
    pub(super) async fn fill(&mut self) -> Result<(), StagingError> {
        loop {
            if let Some(stop) = self.stop {
                // Prepared uploads stay: the next decider finds them.
                self.uploads.take();
                return Err(StagingError::Stopped(stop));
            }
            let topology = self.topology();
            let ready = self.uploads.volumes();
            let partition = self.key.partition();
            debug_assert!(
                ready.iter().collect::<BTreeSet<_>>().len() == ready.len(),
                "{}: a volume is counted twice in {ready:?}",
                self.key
            );
            if topology.is_safe(partition, &ready) {
                return Ok(());
            }
            // At least one: R volumes may be ready but on too few nodes or zones.
            let wanted = topology.home(partition).len().saturating_sub(ready.len()).max(1);
            let next = next_places(&topology, &self.key, &ready, &self.excluded, wanted);
            if next.is_empty() || !self.has_source() {
                self.uploads.abort().await;
                return Err(StagingError::Failed(self.error()));
            }
            self.upload_to(next).await;
        }
    }

    /// Marks the version as chosen: others may rely on it from now on, and the layout may change.
    pub(super) fn mark_chosen(&mut self) {
        self.is_chosen = true;
        // The decision is made, so later requests use the layout in force instead of the
        // decision's.
        self.decided_under = None;
    }

    /// Completes and syncs the uploads under the version's number. `fill` replaces volumes that
    /// fail.
    pub(super) async fn prepare(&mut self) {
        let Some(meta) = self.meta.clone() else { return };
        let (this, meta) = (&*self, &meta);
        let prepared = join_all(this.uploads.list().iter().map(|(volume, upload)| {
            this.ask(volume, move |asked| async move {
                asked.prepare(*upload, meta, Purpose::Write).await
            })
        }))
        .await;
        for (volume, prepared) in self.uploads.volumes().into_iter().zip(prepared) {
            if let Err(error) = prepared
                && !self.record_stop(&error)
            {
                self.give_up(volume, error).await;
            }
        }
    }

    /// Records an error that ends the decision and is not the volume's fault. Returns false for other
    /// errors.
    fn record_stop(&mut self, error: &VolumeError) -> bool {
        let stop = match error {
            VolumeError::Superseded { promised, .. } => StopReason::Superseded(*promised),
            VolumeError::OtherLayout { .. } if self.decided_under.is_some() => StopReason::OtherLayout,
            _ => return false,
        };
        self.stop = Some(stop);
        true
    }

    /// Sends the content to volumes. Those that fail are not asked again.
    pub(super) async fn upload_to(&mut self, volumes: Vec<VolumeId>) {
        let uploaded = join_all(volumes.iter().map(|volume| self.upload_one(volume))).await;
        for (volume, uploaded) in volumes.into_iter().zip(uploaded) {
            match uploaded {
                Ok(upload) => self.uploads.push(volume, upload),
                Err(UploadError::Target(error)) if self.record_stop(&error) => {}
                Err(UploadError::Target(error)) => self.exclude(volume, error),
                Err(UploadError::Source(source, error)) => self.give_up(source, error).await,
            }
        }
    }

    async fn upload_one(&self, volume: &VolumeId) -> Result<UploadId, UploadError> {
        let upload = UploadId::random();
        // Aborted on drop, if a step fails or the caller stops waiting.
        let mut guard = Uploads::of(&self.store, vec![(volume.clone(), upload)]);
        if let Some(meta) = &self.meta {
            guard = guard.prepared_as(meta.version);
        }
        let uploaded = self.transfer(volume, upload).await;
        match uploaded {
            Ok(()) => drop(guard.take()),
            Err(_) => guard.abort().await,
        }
        uploaded.map(|()| upload)
    }

    async fn transfer(&self, volume: &VolumeId, upload: UploadId) -> Result<(), UploadError> {
        match (&self.content, &self.meta) {
            (ContentSource::Memory(content), Some(meta)) if !self.is_chosen => {
                let asking = self.ask(volume, |asked| async move {
                    asked.prepare_whole(upload, meta, content.clone()).await
                });
                return asking.await.map_err(UploadError::Target);
            }
            (ContentSource::Memory(content), _) => self.send(volume, upload, content).await?,
            (ContentSource::Staged | ContentSource::Prepared(_), _) => {
                self.copy_upload(volume, upload).await?
            }
            (ContentSource::Committed(holders), Some(meta)) => {
                self.copy_committed(volume, upload, meta, holders).await?;
            }
            // A tombstone needs no content, and nothing is committed without a number.
            (ContentSource::None, _) | (ContentSource::Committed(_), None) => {}
        }
        let Some(meta) = &self.meta else {
            return Ok(());
        };
        let purpose = if self.is_chosen {
            Purpose::Copy
        } else {
            Purpose::Write
        };
        let asking = self.ask(volume, |asked| async move {
            asked.prepare(upload, meta, purpose).await
        });
        asking.await.map_err(UploadError::Target)
    }

    /// Sends content from memory.
    async fn send(&self, volume: &VolumeId, upload: UploadId, content: &Bytes) -> Result<(), UploadError> {
        let sending = self.ask(volume, |asked| {
            let piece = content.clone();
            let body = futures_util::stream::once(async move { Ok(piece) });
            async move { asked.receive(upload, Box::pin(body)).await }
        });
        let receipt = sending.await.map_err(UploadError::Target)?;
        self.expected.check(volume, &receipt).map_err(UploadError::Target)
    }

    /// Copies another volume's upload.
    async fn copy_upload(&self, volume: &VolumeId, upload: UploadId) -> Result<(), UploadError> {
        let prepared = match &self.content {
            ContentSource::Prepared(prepared) => prepared.as_slice(),
            _ => &[],
        };
        let Some((source, from)) = self.uploads.list().iter().chain(prepared).next() else {
            return Err(UploadError::Target(VolumeError::Body(
                "no volume has the content staged".to_owned(),
            )));
        };
        let stall = self.store.timeouts().stall;
        let copying = self.ask(volume, |asked| async move {
            let opening = self
                .store
                .ask(source, |asked| async move { asked.read_upload(*from).await });
            let read = match timeout(stall, opening).await {
                Ok(read) => read.map_err(|error| VolumeError::Body(error.to_string()))?,
                Err(_) => return Err(VolumeError::Body(format!("volume {source} has stalled"))),
            };
            asked.receive(upload, read.bytes).await
        });
        match copying.await {
            Ok(receipt) => self
                .expected
                .check(source, &receipt)
                .map_err(|error| UploadError::Source(source.clone(), error)),
            Err(error @ VolumeError::Body(_)) => Err(UploadError::Source(source.clone(), error)),
            Err(error) => Err(UploadError::Target(error)),
        }
    }

    /// Copies the version from volumes that have committed it.
    async fn copy_committed(
        &self,
        volume: &VolumeId,
        upload: UploadId,
        meta: &Meta,
        holders: &[VolumeId],
    ) -> Result<(), UploadError> {
        let body = self.store.read_back(meta, holders);
        let target = self.store.volume(volume).map_err(UploadError::Target)?;
        let receipt = target.receive(upload, body).await.map_err(UploadError::Target)?;
        self.expected.check(volume, &receipt).map_err(UploadError::Target)
    }

    /// Returns the next volume for a version that `held` hold, if the version needs another and one
    /// can be asked.
    pub(super) fn next_volume(&self, held: &[VolumeId]) -> Option<VolumeId> {
        let topology = self.topology();
        next_place(&topology, &self.key, held, &self.excluded).filter(|_| self.has_source())
    }

    /// Reads the content from these volumes from now on, because they have committed it.
    pub(super) fn read_from_committed(&mut self, held: &[VolumeId]) {
        let is_streamed = matches!(
            self.content,
            ContentSource::Staged | ContentSource::Prepared(_) | ContentSource::Committed(_)
        );
        if is_streamed {
            self.content = ContentSource::Committed(held.to_vec());
        }
    }

    fn has_source(&self) -> bool {
        match &self.content {
            ContentSource::None | ContentSource::Memory(_) => true,
            ContentSource::Staged => !self.uploads.list().is_empty(),
            ContentSource::Prepared(prepared) => !prepared.is_empty() || !self.uploads.list().is_empty(),
            ContentSource::Committed(holders) => !holders.is_empty(),
        }
    }

    async fn give_up(&mut self, volume: VolumeId, error: VolumeError) {
        if let ContentSource::Prepared(prepared) = &mut self.content {
            prepared.retain(|(source, _)| *source != volume);
        }
        if self.uploads.abort_on(&volume).await {
            self.exclude(volume, error);
        }
    }

    pub(super) fn exclude(&mut self, volume: VolumeId, error: VolumeError) {
        tracing::warn!(key = %self.key, %volume, %error, "a volume did not accept a write");
        self.excluded.push(volume);
        self.errors.push(error);
    }

    /// Returns the error that says why nothing was written.
    pub(super) fn error(&self) -> StoreError {
        let (key, detail) = (self.key.to_string(), self.reasons());
        if self.is_full() {
            return StoreError::Full { key, detail };
        }
        StoreError::Unavailable { key, detail }
    }

    /// Returns whether lack of space is the reason: all errors are of that kind, or too few volumes
    /// would be left even if all others worked.
    fn is_full(&self) -> bool {
        let is_full = |error: &&VolumeError| matches!(error, VolumeError::Full { .. });
        let full = self.errors.iter().filter(is_full).count();
        let topology = self.topology();
        let left = topology.volumes.len().saturating_sub(full);
        let only = self.silent.is_empty() && full == self.errors.len();
        full > 0 && (only || left < topology.home(self.key.partition()).len())
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
            return "too few volumes are left, or too few on different nodes and zones".to_owned();
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

    /// Compares the receipt of a volume with the bytes that were sent.
    fn check(&self, volume: &VolumeId, receipt: &Receipt) -> Result<(), VolumeError> {
        if receipt.size == self.size && receipt.blake3 == self.blake3 {
            return Ok(());
        }
        let named = |size: u64, digest: &[u8; 32]| {
            format!("{size} bytes, BLAKE3 {}", data_encoding::HEXLOWER.encode(digest))
        };
        Err(VolumeError::Corrupt {
            volume: volume.clone(),
            what: "staged content".to_owned(),
            found: named(receipt.size, &receipt.blake3),
            expected: named(self.size, &self.blake3),
        })
    }
}
