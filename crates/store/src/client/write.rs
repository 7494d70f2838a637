//! Makes a version safe: receives and prepares it on R volumes, commits it there, acknowledges it.
//!
//! A write is acknowledged only if it is safe
//! ([`Topology::is_safe`](crate::cluster::Topology::is_safe)): R different volumes hold the
//! version, synced, on as many nodes and zones as home has, at least one at home in the layout then
//! in force.
//!
//!  - Nothing is committed before R volumes have the whole version under a temporary name, synced
//!    and compared with its digest ([`Spread`]). If that fails, everything is aborted and nothing
//!    was visible: `Full` for lack of space, otherwise `Unavailable`.
//!  - From the first commit on, the version may be read. A volume that fails between sync and
//!    commit is replaced by one that copies from a committed volume. If none is left, the result is
//!    `Unavailable` although the version exists on fewer volumes; a client that retries writes a
//!    newer one.
//!  - These steps run in the decision's task: a client that goes away cannot stop them half-way.

use futures_util::future::join_all;
use store_protocol::{Cause, Meta, UploadId, VolumeId};

use super::error::{StoreError, unavailable};
use super::spread::{Short, Spread};
use super::store::{Damage, Store};
use super::uploads::Uploads;

/// A version being written.
pub(super) struct Write {
    store: Store,
    meta: Meta,
    spread: Spread,
    /// Volumes that have committed.
    held: Vec<VolumeId>,
    /// Prepared but not committed, because the commit failed on these volumes.
    left: Vec<(VolumeId, UploadId)>,
}

impl Write {
    /// Starts the write of a version that the caller has decided ([`super::decide`]), under the
    /// key's lock and in a seat's term.
    pub(super) fn new(store: &Store, meta: Meta, spread: Spread) -> Self {
        Self {
            store: store.clone(),
            meta,
            spread,
            held: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Prepares the uploads.
    pub(super) async fn prepare(&mut self) {
        self.spread.prepare().await;
    }

    /// Runs all steps from preparing to the acknowledgement.
    ///
    /// # Errors
    /// [`Short`] if the version is not safe in the end, or if the decision stops.
    pub(super) async fn complete(mut self) -> Result<Meta, Short> {
        self.spread.fill().await?;
        // Marked before the first commit: from then on other nodes may show the version and rely on
        // it.
        self.spread.is_chosen();
        self.commit().await;
        while self.is_lacking() {
            let Some(volume) = self.spread.next(&self.held) else {
                return Err(Short::Refused(self.fell_short()));
            };
            // The replacement copies the content from a volume that has committed it.
            self.spread.lay(vec![volume]).await;
            self.commit().await;
        }
        // Enough volumes show the version, so the remaining preparations are not needed.
        let left = std::mem::take(&mut self.left);
        Uploads::of(&self.store, left)
            .prepared_as(self.meta.version)
            .abort()
            .await;
        self.tell();
        Ok(self.meta)
    }

    /// Commits the prepared uploads, which makes the version visible.
    async fn commit(&mut self) {
        let uploads = self.spread.uploads().take();
        let store = &self.store;
        let committed = join_all(uploads.iter().map(|(volume, upload)| {
            store.ask(volume, move |asked| async move {
                asked.commit(*upload, Cause::Write, "").await
            })
        }))
        .await;
        for ((volume, upload), committed) in uploads.into_iter().zip(committed) {
            match committed {
                Ok(()) => self.held.push(volume),
                Err(error) => {
                    // The preparation stays: the version is chosen, and other nodes may learn of it
                    // only from this copy.
                    self.left.push((volume.clone(), upload));
                    self.spread.refuse(volume, error);
                }
            }
        }
        self.spread.committed_on(&self.held);
    }

    /// Returns whether more volumes must hold the version before it may be acknowledged.
    fn is_lacking(&self) -> bool {
        let topology = self.store.cluster().topology();
        !topology.is_safe(self.meta.key.partition(), &self.held)
    }

    /// Returns the error of a write that cannot be completed.
    fn fell_short(&self) -> StoreError {
        if self.held.is_empty() {
            return self.spread.error();
        }
        unavailable(&self.meta.key, self.spread.reasons())
    }

    /// Reports home volumes without a copy to repair.
    fn tell(&self) {
        let topology = self.store.cluster().topology();
        let held: Vec<_> = self.held.iter().map(ToString::to_string).collect();
        for volume in topology.home(self.meta.key.partition()) {
            if !self.held.contains(volume) {
                self.store.damaged(Damage {
                    key: self.meta.key.clone(),
                    version: self.meta.version,
                    volume: volume.clone(),
                    detail: format!("did not accept the write; the copies are on {}", held.join(", ")),
                });
            }
        }
    }
}
