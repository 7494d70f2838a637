//! Makes a version safe: receives and prepares it on R volumes, commits it there, acknowledges it.
//!
//! A write is acknowledged only if it is safe
//! ([`Topology::is_safe`](crate::cluster::Topology::is_safe)): R different volumes hold the
//! version, synced, on as many nodes and zones as home has, at least one at home in the layout then
//! in force.
//!
//!  - Nothing is committed before R volumes have the whole version under a temporary name, synced
//!    and compared with its digest ([`Staging`]). If that fails, everything is aborted and nothing
//!    was visible: `Full` for lack of space, otherwise `Unavailable`.
//!  - From the first commit on, the version may be read. A volume that fails between sync and
//!    commit is replaced by one that copies from a committed volume. If none is left, the result is
//!    `Unavailable` although the version exists on fewer volumes; a client that retries writes a
//!    newer one.
//!  - These steps run in the decision's task: a client that goes away cannot stop them half-way.

use futures_util::future::join_all;
use store_protocol::{Cause, Meta, UploadId, VolumeId};

use super::error::{StoreError, unavailable};
use super::staging::{Staging, StagingError};
use super::store::{Damage, Store};
use super::uploads::Uploads;

/// The commit of a version.
pub(super) struct Commit {
    store: Store,
    meta: Meta,
    staging: Staging,
    /// Volumes that have committed.
    committed: Vec<VolumeId>,
    /// Prepared but not committed, because the commit failed on these volumes.
    uncommitted: Vec<(VolumeId, UploadId)>,
}

impl Commit {
    /// Starts the commit of a version that the caller has decided ([`super::decide`]), under the
    /// key's lock and in a promised term.
    pub(super) fn new(store: &Store, meta: Meta, staging: Staging) -> Self {
        Self {
            store: store.clone(),
            meta,
            staging,
            committed: Vec::new(),
            uncommitted: Vec::new(),
        }
    }

    /// Runs all steps from preparing to the acknowledgement.
    ///
    /// # Errors
    /// [`StagingError`] if the version is not safe in the end, or if the decision stops.
    pub(super) async fn run(mut self) -> Result<Meta, StagingError> {
        self.staging.fill().await?;
        // Marked before the first commit: from then on other nodes may show the version and rely on
        // it.
        self.staging.mark_chosen();
        self.commit().await;
        while self.needs_more_volumes() {
            let Some(volume) = self.staging.next_volume(&self.committed) else {
                return Err(StagingError::Failed(self.failure()));
            };
            // The replacement copies the content from a volume that has committed it.
            self.staging.upload_to(vec![volume]).await;
            self.commit().await;
        }
        // Enough volumes show the version, so the remaining preparations are not needed.
        let uncommitted = std::mem::take(&mut self.uncommitted);
        Uploads::of(&self.store, uncommitted)
            .prepared_as(self.meta.version)
            .abort()
            .await;
        self.report_missing_replicas();
        Ok(self.meta)
    }

    /// Commits the prepared uploads, which makes the version visible.
    async fn commit(&mut self) {
        let uploads = self.staging.uploads().take();
        let store = &self.store;
        let results = join_all(uploads.iter().map(|(volume, upload)| {
            store.ask(volume, move |asked| async move {
                asked.commit(*upload, Cause::Write, "").await
            })
        }))
        .await;
        for ((volume, upload), result) in uploads.into_iter().zip(results) {
            match result {
                Ok(()) => self.committed.push(volume),
                Err(error) => {
                    // The preparation stays: the version is chosen, and other nodes may learn of it
                    // only from this copy.
                    self.uncommitted.push((volume.clone(), upload));
                    self.staging.exclude(volume, error);
                }
            }
        }
        self.staging.read_from_committed(&self.committed);
    }

    /// Returns whether more volumes must hold the version before it may be acknowledged.
    fn needs_more_volumes(&self) -> bool {
        let topology = self.store.cluster().topology();
        !topology.is_safe(self.meta.key.partition(), &self.committed)
    }

    /// Returns the error of a write that cannot be completed.
    fn failure(&self) -> StoreError {
        if self.committed.is_empty() {
            return self.staging.error();
        }
        unavailable(&self.meta.key, self.staging.reasons())
    }

    /// Reports home volumes without a copy to repair.
    fn report_missing_replicas(&self) {
        let topology = self.store.cluster().topology();
        let committed: Vec<_> = self.committed.iter().map(ToString::to_string).collect();
        for volume in topology.home(self.meta.key.partition()) {
            if !self.committed.contains(volume) {
                self.store.report_damage(Damage {
                    key: self.meta.key.clone(),
                    version: self.meta.version,
                    volume: volume.clone(),
                    detail: format!(
                        "did not accept the write; the copies are on {}",
                        committed.join(", ")
                    ),
                });
            }
        }
    }
}
