//! A volume of this process with the checks that every caller needs. It accepts decided versions
//! only under the layout in force and in no term earlier than the promised one. It reports versions
//! that are still being prepared.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use store::LayoutTag;
use store_protocol::{
    ByteStream, ContentBlocks, Head, Key, KeysInDoubt, Meta, Pending, Purpose, Receipt, ReplicaRead,
    UploadId, UploadRead, Version, Volume, VolumeError, VolumeId, VolumeRequest, VolumeResponse,
};

use super::layout_log::LayoutLog;
use super::promises::{PreparationGuard, Promises};

/// A volume of this process behind those checks.
pub struct Guarded {
    inner: Arc<dyn Volume>,
    promises: Arc<Promises>,
    /// The layout of the request, and the log that knows the one in force. `None` if layouts are
    /// not compared.
    under: Option<(LayoutTag, Arc<LayoutLog>)>,
}

impl Guarded {
    /// Guards a volume for requests under a layout.
    pub(crate) fn new(
        inner: Arc<dyn Volume>,
        promises: Arc<Promises>,
        under: Option<(LayoutTag, Arc<LayoutLog>)>,
    ) -> Arc<Self> {
        Arc::new(Self {
            inner,
            promises,
            under,
        })
    }

    /// Guards a volume without comparing layouts.
    pub fn by(inner: Arc<dyn Volume>, promises: Arc<Promises>) -> Arc<Self> {
        Self::new(inner, promises, None)
    }

    fn enter(&self, upload: UploadId, meta: &Meta) -> Result<PreparationGuard, VolumeError> {
        self.promises
            .enter(self.inner.id(), upload, meta, || self.same_layout())
    }

    /// Checks the layout of the request. Called under the same lock as the check of the term. A
    /// decision under a newer layout first reads under that layout: the read either sees this
    /// version, or it comes first and this check fails.
    fn same_layout(&self) -> Result<(), VolumeError> {
        match &self.under {
            Some((under, layout_log)) if *under != layout_log.tag() => Err(VolumeError::OtherLayout {
                volume: self.inner.id().clone(),
                ours: under.number,
                theirs: layout_log.tag().number,
            }),
            _ => Ok(()),
        }
    }

    async fn head_of(&self, key: &Key) -> Result<Head, VolumeError> {
        // Must come before the volume is asked: a version prepared in between is then seen in at
        // least one of the two places.
        let under_way = self.promises.being_prepared(self.inner.id(), key);
        let mut head = self.inner.head(key).await?;
        let newest = |pending: &Option<Pending>| pending.as_ref().map(|pending| pending.meta.version);
        if newest(&under_way) > newest(&head.pending) {
            head.pending = under_way;
        }
        Ok(head)
    }

    async fn unsettled_of(&self, prefix: &str) -> Result<KeysInDoubt, VolumeError> {
        // In the same order as `head_of`, for the same reason.
        let under_way = self.promises.keys_being_prepared(self.inner.id(), prefix);
        let mut unsettled = self.inner.keys_in_doubt(prefix).await?;
        unsettled.keys.extend(under_way);
        unsettled.keys.sort();
        unsettled.keys.dedup();
        Ok(unsettled)
    }

    /// Completes a preparation even if the caller has gone. Until it ends, the version is reported
    /// as being prepared.
    async fn run_to_end<T: Send + 'static>(
        &self,
        entered: PreparationGuard,
        work: impl Future<Output = Result<T, VolumeError>> + Send + 'static,
    ) -> Result<T, VolumeError> {
        let carried = tokio::spawn(async move {
            let ended = work.await;
            drop(entered);
            ended
        });
        carried.await.unwrap_or_else(|error| {
            Err(VolumeError::Failed {
                volume: self.inner.id().clone(),
                detail: format!("the operation ended without a result: {error}"),
            })
        })
    }
}

#[async_trait]
impl Volume for Guarded {
    fn id(&self) -> &VolumeId {
        self.inner.id()
    }

    async fn call(&self, ask: VolumeRequest) -> Result<VolumeResponse, VolumeError> {
        match ask {
            VolumeRequest::Prepare {
                upload,
                ref meta,
                purpose: Purpose::Write,
            } => {
                let entered = self.enter(upload, meta)?;
                let inner = self.inner.clone();
                self.run_to_end(entered, async move { inner.call(ask).await })
                    .await
            }
            VolumeRequest::Head { key } => Ok(self.head_of(&key).await?.into()),
            VolumeRequest::KeysInDoubt { prefix } => Ok(self.unsettled_of(&prefix).await?.into()),
            ask => self.inner.call(ask).await,
        }
    }

    async fn receive(&self, upload: UploadId, body: ByteStream) -> Result<Receipt, VolumeError> {
        self.inner.receive(upload, body).await
    }

    async fn receive_hashed(
        &self,
        upload: UploadId,
        body: ByteStream,
        blocks: ContentBlocks,
    ) -> Result<Receipt, VolumeError> {
        self.inner.receive_hashed(upload, body, blocks).await
    }

    async fn prepare_whole(&self, upload: UploadId, meta: &Meta, content: Bytes) -> Result<(), VolumeError> {
        let entered = self.enter(upload, meta)?;
        let (inner, meta) = (self.inner.clone(), meta.clone());
        self.run_to_end(entered, async move {
            inner.prepare_whole(upload, &meta, content).await
        })
        .await
    }

    async fn read_upload(&self, upload: UploadId) -> Result<UploadRead, VolumeError> {
        self.inner.read_upload(upload).await
    }

    async fn read(
        &self,
        key: &Key,
        version: Version,
        blocks: Range<u64>,
    ) -> Result<ReplicaRead, VolumeError> {
        self.inner.read(key, version, blocks).await
    }

    fn revive(&self) {
        self.inner.revive();
    }
}
