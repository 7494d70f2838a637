//! Making a version safe: staged and prepared on R volumes, committed on them, and only then answered.
//!
//! The rule for an answer is always the same ([`View::is_safe`](crate::cluster::View::is_safe)): R different volumes hold
//! the version, synced, on as many nodes and zones as home has, at least one of them at home in the layout in force at
//! that moment.
//!
//! Whoever writes has decided ([`super::decide`]): under the key's lock, in a seat's term.
//!
//!  - Nothing is committed before R volumes, one of them at home, have the whole version under a temporary name, synced and
//!    compared with its digest ([`Spread`]). When that cannot be reached, everything is given up and nothing was visible:
//!    `Full` when want of room is the reason, else `Unavailable`.
//!  - From the first commit on the version may be seen. A volume that fails between its sync and its commit is replaced by
//!    the next one, which copies from a volume that has committed. Only when there is none, the answer is
//!    `Unavailable` although the version is there: whole, but on fewer volumes; whoever asks again writes a newer one.
//!  - The steps after the content run in the decision's task: a client that goes away cannot stop them half-way.

use std::fmt;

use contract::{Cause, Key, Meta, StageId, VolumeId};
use futures_util::future::join_all;

use super::spread::{Short, Spread};
use super::stages::Stages;
use super::{Damage, Store, StoreError};

/// A version on its way, and what has become of it.
pub(super) struct Write {
    store: Store,
    meta: Meta,
    spread: Spread,
    /// Committed.
    held: Vec<VolumeId>,
    /// Prepared and not committed, because a volume failed in between.
    left: Vec<(VolumeId, StageId)>,
}

impl Write {
    /// Of a version that was decided.
    pub(super) fn new(store: &Store, meta: Meta, spread: Spread) -> Self {
        Self {
            store: store.clone(),
            meta,
            spread,
            held: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Completes what lies staged already.
    pub(super) async fn prepare(&mut self) {
        self.spread.prepare().await;
    }

    /// From whatever is staged to the answer.
    ///
    /// # Errors
    /// [`Short`]
    pub(super) async fn complete(mut self) -> Result<Meta, Short> {
        self.spread.fill().await?;
        self.spread.is_chosen();
        self.commit().await;
        while self.is_lacking() {
            let Some(volume) = self.spread.next(&self.held) else {
                return Err(Short::Refused(self.fell_short()));
            };
            self.spread.lay(vec![volume]).await;
            self.commit().await;
        }
        // Visible on volumes enough: nobody counts any more on what lies prepared.
        let left = std::mem::take(&mut self.left);
        Stages::of(&self.store, left)
            .prepared_as(self.meta.version)
            .abort()
            .await;
        self.tell();
        Ok(self.meta)
    }

    /// Makes visible what is prepared.
    async fn commit(&mut self) {
        let stages = self.spread.stages().take();
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
                    // It stays: the version is chosen, and this may be what tells others of it.
                    self.left.push((volume.clone(), stage));
                    self.spread.refuse(volume, error);
                }
            }
        }
        self.spread.committed_on(&self.held);
    }

    /// Whether more volumes must hold it before it may be answered.
    fn is_lacking(&self) -> bool {
        let view = self.store.cluster().view();
        !view.is_safe(self.meta.key.partition(), &self.held)
    }

    /// The error of a write that nobody can bring further.
    fn fell_short(&self) -> StoreError {
        if self.held.is_empty() {
            return self.spread.error();
        }
        unavailable(&self.meta.key, self.spread.reasons())
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
}

pub(super) fn unavailable(key: &Key, detail: impl fmt::Display) -> StoreError {
    StoreError::Unavailable {
        key: key.to_string(),
        detail: detail.to_string(),
    }
}
