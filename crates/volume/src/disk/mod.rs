//! A volume in a local directory.
//!
//! Invariants:
//!  - The file of a replica is complete and synced before it gets its name, and the name is durable
//!    before `commit` returns.
//!  - After a failed sync the volume stays out of service until it is opened again: data in the
//!    system's cache may be lost, and a second sync would not report it.
//!  - The files are authoritative and the index is a cache: opening compares them in both
//!    directions.
//!  - Changes to one key are serialized (`Inner::key_lock`), so index and file of a key agree
//!    whenever its lock is free.
//!  - Memory use does not depend on the number or length of objects.
//!
//! A read does not verify content (the reader does, and requests `verify`). The layout decides
//! which replicas belong here, and repair restores lost ones.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use store_protocol::{
    ByteStream, ContentBlocks, Key, Meta, Receipt, ReplicaRead, UploadId, UploadRead, Version, Volume,
    VolumeError, VolumeId, VolumeRequest, VolumeResponse,
};

pub(super) mod names;

mod answer;
mod chunk;
mod commit;
mod housekeeping;
mod identity;
mod index;
mod inner;
mod life;
mod opening;
mod prepare;
mod read;
mod receive;
mod reconcile;
mod room;
mod settings;
mod staging;
mod state_change;
mod survey;
mod tables;
mod uploads;
mod verify;

pub use names::NODE_DIR;
pub use opening::OpenVolumeError;
pub use reconcile::Reconciled;
pub use settings::{DiskSettings, NodeFilesWriter};

use housekeeping::Housekeeping;
use inner::Inner;

/// An open directory of replicas. Only one process at a time can have it open.
pub struct DiskVolume {
    inner: Arc<Inner>,
    /// The thread for periodic work, which ends when the volume is dropped.
    _housekeeping: Option<Housekeeping>,
}

impl DiskVolume {
    /// Opens a volume, or creates one in an empty directory. Compares files and index: lists all
    /// directories and reads the files that are not indexed.
    ///
    /// # Errors
    /// [`OpenVolumeError`] if another process has it open, the directory belongs to another volume
    /// or is not empty, or the disk fails.
    pub fn open(settings: DiskSettings) -> Result<Arc<Self>, OpenVolumeError> {
        let (volume, _) = Self::open_with(settings, false)?;
        Ok(volume)
    }

    /// Returns the id of the volume in a directory; `None` if the directory is not a volume.
    ///
    /// # Errors
    /// Fails if `volume.json` cannot be read or parsed.
    pub fn id_in(path: &std::path::Path) -> std::io::Result<Option<VolumeId>> {
        Ok(identity::Identity::read(path)?.map(|identity| identity.id))
    }

    /// Returns the sign that a directory was a volume before; `None` if it shows no sign of use.
    ///
    /// # Errors
    /// Fails if the directory cannot be read.
    pub fn sign_of_use(path: &std::path::Path) -> std::io::Result<Option<&'static str>> {
        opening::sign_of_use(path)
    }

    /// Marks the volume as `Rebuilding`: "not found" means "unknown" until repair has processed it.
    /// Blocking.
    ///
    /// # Errors
    /// Fails if the mark cannot be made durable; the volume is then out of service.
    pub fn start_rebuilding(&self, why: &str) -> Result<(), VolumeError> {
        self.inner.start_rebuilding(why)
    }

    /// Opens a volume with an index rebuilt from its files, and returns the differences found.
    /// Marks of bad replicas are lost; the next read or verification of such a replica marks it
    /// again.
    ///
    /// # Errors
    /// [`OpenVolumeError`] if another process has it open, the directory belongs to another volume
    /// or is not empty, or the disk fails.
    pub fn reindex(settings: DiskSettings) -> Result<(Arc<Self>, Reconciled), OpenVolumeError> {
        Self::open_with(settings, true)
    }

    fn open_with(settings: DiskSettings, reindex: bool) -> Result<(Arc<Self>, Reconciled), OpenVolumeError> {
        let has_thread = settings.housekeeping;
        let (inner, found) = opening::open(settings, reindex)?;
        let housekeeping = has_thread.then(|| Housekeeping::start(&inner));
        let volume = Self {
            inner,
            _housekeeping: housekeeping,
        };
        Ok((Arc::new(volume), found))
    }

    /// Runs the periodic work of [`DiskSettings::housekeeping`] once. Blocking.
    pub fn run_housekeeping(&self) {
        housekeeping::look_after(&self.inner);
        housekeeping::make_durable(&self.inner);
    }

    /// Runs `work` on a thread that may wait for the disk.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Inner>) -> Result<T, VolumeError> + Send + 'static,
    ) -> Result<T, VolumeError> {
        let inner = self.inner.clone();
        inner::blocking(inner, work).await
    }
}

#[async_trait]
impl Volume for DiskVolume {
    fn id(&self) -> &VolumeId {
        &self.inner.id
    }

    async fn call(&self, ask: VolumeRequest) -> Result<VolumeResponse, VolumeError> {
        self.blocking(move |inner| answer::answer(inner, ask)).await
    }

    async fn receive(&self, upload: UploadId, body: ByteStream) -> Result<Receipt, VolumeError> {
        receive::receive(&self.inner, upload, body, None).await
    }

    async fn receive_hashed(
        &self,
        upload: UploadId,
        body: ByteStream,
        blocks: ContentBlocks,
    ) -> Result<Receipt, VolumeError> {
        receive::receive(&self.inner, upload, body, Some(blocks)).await
    }

    async fn prepare_whole(&self, upload: UploadId, meta: &Meta, content: Bytes) -> Result<(), VolumeError> {
        let meta = meta.clone();
        self.blocking(move |inner| inner.prepare_whole(upload, &meta, &content))
            .await
    }

    async fn read_upload(&self, upload: UploadId) -> Result<UploadRead, VolumeError> {
        self.blocking(move |inner| receive::read_upload(inner, upload))
            .await
    }

    async fn read(
        &self,
        key: &Key,
        version: Version,
        blocks: Range<u64>,
    ) -> Result<ReplicaRead, VolumeError> {
        let key = key.clone();
        self.blocking(move |inner| inner.read(&key, version, blocks))
            .await
    }
}

#[cfg(test)]
mod tests;
