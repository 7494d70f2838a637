//! Stages on volumes, which are aborted when they are dropped.

use contract::{Abandon, StageId, Version, VolumeId};
use futures_util::future::join_all;

use super::Store;

/// Stages on volumes; those not taken out are aborted when this is dropped.
pub(super) struct Stages {
    store: Store,
    list: Vec<(VolumeId, StageId)>,
    /// What an abort may remove: only the preparer may remove a prepared stage.
    what: Abandon,
}

impl Stages {
    pub(super) fn new(store: &Store) -> Self {
        Self::of(store, Vec::new())
    }

    pub(super) fn of(store: &Store, list: Vec<(VolumeId, StageId)>) -> Self {
        Self {
            store: store.clone(),
            list,
            what: Abandon::Received,
        }
    }

    /// The same, for the preparer of `version`, who knows that nobody counts on the stages when they are
    /// aborted.
    pub(super) fn prepared_as(mut self, version: Version) -> Self {
        self.what = Abandon::Version(version);
        self
    }

    pub(super) fn push(&mut self, volume: VolumeId, stage: StageId) {
        self.list.push((volume, stage));
    }

    pub(super) fn list(&self) -> &[(VolumeId, StageId)] {
        &self.list
    }

    /// The volumes, in order.
    pub(super) fn volumes(&self) -> Vec<VolumeId> {
        self.list.iter().map(|(volume, _)| volume.clone()).collect()
    }

    /// Takes the stages out: the caller is responsible for them from now on.
    pub(super) fn take(&mut self) -> Vec<(VolumeId, StageId)> {
        std::mem::take(&mut self.list)
    }

    /// Aborts the stage on one volume. Returns false if there is none.
    pub(super) async fn abort_on(&mut self, volume: &VolumeId) -> bool {
        let (there, rest): (Vec<_>, Vec<_>) = self.take().into_iter().partition(|(at, _)| at == volume);
        self.list = rest;
        let found = !there.is_empty();
        abort_all(&self.store, there, self.what).await;
        found
    }

    /// Aborts all stages.
    pub(super) async fn abort(&mut self) {
        let list = self.take();
        abort_all(&self.store, list, self.what).await;
    }
}

impl Drop for Stages {
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

async fn abort_all(store: &Store, list: Vec<(VolumeId, StageId)>, what: Abandon) {
    let aborts = list.into_iter().map(|(volume, stage)| async move {
        if let Ok(volume) = store.volume(&volume) {
            volume.abort(stage, what).await;
        }
    });
    join_all(aborts).await;
}
