//! A volume that is a directory of this machine.
//!
//! Invariants:
//!  - a replica's file is complete and synced before it gets its name, and the name is durable before
//!    `commit` returns;
//!  - after a failed sync the volume is out of service until it is opened again: data in the system's cache
//!    may be lost, and a second sync would not report it;
//!  - the files are the truth, the index a cache: opening compares them in both directions;
//!  - changes to one key happen one after the other (`Inner::key_lock`), so that index and file of a key
//!    agree whenever nobody holds its lock;
//!  - memory does not depend on the number or length of objects.
//!
//! It does not compare content with digests when reading (the reader does, and asks for `verify`), decide
//! what should be here (the layout does), or restore what is lost (repair does).

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use contract::{
    ByteStream, Key, Meta, Receipt, ReplicaRead, UploadId, UploadRead, Version, Volume, VolumeAnswer,
    VolumeAsk, VolumeError, VolumeId,
};

pub(super) mod names;

mod answer;
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
mod survey;
mod tables;
mod turning;
mod uploads;
mod verify;

pub use names::NODE_DIR;
pub use opening::OpenVolumeError;
pub use reconcile::Reconciled;
pub use settings::{DiskSettings, Furnish};

use housekeeping::Housekeeping;
use inner::Inner;

/// An open directory of replicas. One process at a time can have it open.
pub struct DiskVolume {
    inner: Arc<Inner>,
    /// The thread that does the regular work, which ends when the volume is dropped.
    _housekeeping: Option<Housekeeping>,
}

impl DiskVolume {
    /// Opens a volume, or makes one in an empty directory. Compares files and index: this lists all
    /// directories and reads the files that the index does not know.
    ///
    /// # Errors
    /// [`OpenVolumeError`] if another process has it open, the directory is not its own, or the disk fails.
    pub fn open(settings: DiskSettings) -> Result<Arc<Self>, OpenVolumeError> {
        let (volume, _) = Self::open_with(settings, false)?;
        Ok(volume)
    }

    /// Returns the id of the volume in a directory; `None` if the directory is no volume.
    ///
    /// # Errors
    /// When `volume.json` cannot be read or parsed.
    pub fn id_in(path: &std::path::Path) -> std::io::Result<Option<VolumeId>> {
        Ok(identity::Identity::read(path)?.map(|identity| identity.id))
    }

    /// Returns what shows that a directory was a volume before; `None` if nothing does.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn sign_of_use(path: &std::path::Path) -> std::io::Result<Option<&'static str>> {
        opening::sign_of_use(path)
    }

    /// Marks the volume as `Rebuilding`: "not found" means "not known" until repair has passed over it.
    /// Blocking.
    ///
    /// # Errors
    /// When the mark cannot be made durable; the volume is out of service then.
    pub fn distrust(&self, why: &str) -> Result<(), VolumeError> {
        self.inner.distrust(why)
    }

    /// Opens a volume with an index made anew from its files, and returns what was found. Marks of bad
    /// replicas are forgotten; the next read or verification of such a replica marks it again.
    ///
    /// # Errors
    /// [`OpenVolumeError`] if another process has it open, the directory is not its own, or the disk fails.
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

    /// Does once what the thread of [`DiskSettings::housekeeping`] does every few seconds. Blocking.
    pub fn keep_house(&self) {
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

    async fn call(&self, ask: VolumeAsk) -> Result<VolumeAnswer, VolumeError> {
        self.blocking(move |inner| answer::answer(inner, ask)).await
    }

    async fn receive(&self, upload: UploadId, body: ByteStream) -> Result<Receipt, VolumeError> {
        receive::receive(&self.inner, upload, body).await
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
