//! Uploads on volumes, aborted when they are dropped.

use futures_util::future::join_all;
use store_protocol::{AbortScope, UploadId, Version, VolumeId};

use super::store::Store;

/// Uploads on volumes. Those not taken out are aborted when this is dropped.
pub(super) struct Uploads {
    store: Store,
    list: Vec<(VolumeId, UploadId)>,
    /// What an abort may remove: only the preparer may remove a prepared upload.
    what: AbortScope,
}

impl Uploads {
    pub(super) fn new(store: &Store) -> Self {
        Self::of(store, Vec::new())
    }

    pub(super) fn of(store: &Store, list: Vec<(VolumeId, UploadId)>) -> Self {
        Self {
            store: store.clone(),
            list,
            what: AbortScope::Received,
        }
    }

    /// Marks the uploads as prepared for `version` by this process, which knows when nothing relies
    /// on them any longer.
    pub(super) fn prepared_as(mut self, version: Version) -> Self {
        self.what = AbortScope::Version(version);
        self
    }

    pub(super) fn push(&mut self, volume: VolumeId, upload: UploadId) {
        self.list.push((volume, upload));
    }

    pub(super) fn list(&self) -> &[(VolumeId, UploadId)] {
        &self.list
    }

    /// Returns the volumes, in order.
    pub(super) fn volumes(&self) -> Vec<VolumeId> {
        self.list.iter().map(|(volume, _)| volume.clone()).collect()
    }

    /// Takes the uploads out: the caller is responsible for them from now on.
    pub(super) fn take(&mut self) -> Vec<(VolumeId, UploadId)> {
        std::mem::take(&mut self.list)
    }

    /// Aborts the upload on one volume. Returns false if that volume has no upload.
    pub(super) async fn abort_on(&mut self, volume: &VolumeId) -> bool {
        let (there, rest): (Vec<_>, Vec<_>) = self.take().into_iter().partition(|(at, _)| at == volume);
        self.list = rest;
        let found = !there.is_empty();
        abort_all(&self.store, there, self.what).await;
        found
    }

    /// Aborts all uploads.
    pub(super) async fn abort(&mut self) {
        let list = self.take();
        abort_all(&self.store, list, self.what).await;
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        let list = self.take();
        if list.is_empty() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (store, what) = (self.store.clone(), self.what);
            runtime.spawn(async move { abort_all(&store, list, what).await });
        }
    }
}

async fn abort_all(store: &Store, list: Vec<(VolumeId, UploadId)>, what: AbortScope) {
    let aborts = list.into_iter().map(|(volume, upload)| async move {
        if let Ok(volume) = store.volume(&volume) {
            volume.abort(upload, what).await;
        }
    });
    join_all(aborts).await;
}
