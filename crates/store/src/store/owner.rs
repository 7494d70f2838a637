//! Deciding conditions: in one place per key, the node that owns the key's partition, one write at a time.
//!
//! The content already lies staged; under the key's lock the owner reads the current version from the volumes, compares,
//! gives the new version its number and makes it safe. The next decision begins after that, so it sees the version.
//! A node that no longer owns the partition is found out by the volumes, which refuse what is asked under an older
//! layout.
//!
//! Writes without a condition do not need the owner, so that they are possible while it cannot be reached. Those that
//! are taken by the owner's own process go under the lock too. Those taken elsewhere may fall between the look and
//! the commit of a conditional write: the versions then order the two as if the unconditional one had come first and
//! been replaced. Clients who need every update use conditions for every write.

use tokio::sync::{Mutex, MutexGuard};

use super::spread::Content;
use super::stages::Stages;
use super::volumes::LAYOUT_TRIES;
use super::write::unavailable;
use super::{Condition, Draft, Store, StoreError};
use crate::key::Key;
use crate::meta::Meta;
use crate::node::{Finish, NodeError};

/// Locks for all keys; keys that share one wait for each other needlessly, no more.
const LOCKS: usize = 1024;

/// One lock for each key, in effect.
pub(super) struct KeyLocks(Vec<Mutex<()>>);

impl KeyLocks {
    pub(super) fn new() -> Self {
        Self((0..LOCKS).map(|_| Mutex::new(())).collect())
    }

    async fn lock(&self, key: &Key) -> MutexGuard<'_, ()> {
        let hash = key.hash();
        // Not the bits of the partition, of which this node may own few.
        let index = usize::from(u16::from_be_bytes([hash[4], hash[5]])) % LOCKS;
        self.0[index].lock().await
    }
}

impl Store {
    /// The key's lock, if conditions of this key are decided here.
    pub(super) async fn order_if_owner(&self, key: &Key) -> Option<MutexGuard<'_, ()>> {
        let view = self.cluster().view();
        let mine = view.owner(key.partition()) == self.cluster().me();
        if mine && self.cluster().me().is_some() {
            return Some(self.locks().lock(key).await);
        }
        None
    }

    /// Has the owner decide and finish a write.
    pub(super) async fn finish_at_owner(
        &self,
        key: &Key,
        condition: Condition,
        draft: Draft,
        stages: &mut Stages,
    ) -> Result<Meta, StoreError> {
        let finish = Finish {
            key: key.clone(),
            condition,
            draft,
            stages: stages.list().to_vec(),
        };
        let mut tries = 1;
        let answer = loop {
            match self.ask_owner(finish.clone()).await {
                Err(NodeError::OtherLayout { .. }) if tries < LAYOUT_TRIES => tries += 1,
                answer => break answer,
            }
        };
        if answer.is_ok() {
            stages.take();
        } else {
            stages.abort().await;
        }
        answer.map_err(|error| match error {
            NodeError::Condition { current } => StoreError::Condition {
                key: key.to_string(),
                current,
            },
            NodeError::Full(detail) => StoreError::Full {
                key: key.to_string(),
                detail,
            },
            error => unavailable(key, error),
        })
    }

    async fn ask_owner(&self, finish: Finish) -> Result<Meta, NodeError> {
        let view = self.cluster().view();
        let Some(owner) = view.owner(finish.key.partition()) else {
            return Err(NodeError::Failed("the layout has no volumes".to_owned()));
        };
        if Some(owner) == self.cluster().me() {
            return self.finish_here(finish).await;
        }
        match view.nodes.get(owner) {
            Some(node) => node.finish(finish).await,
            None => Err(NodeError::Failed(format!(
                "the layout does not name node {owner}"
            ))),
        }
    }

    pub(super) async fn decide(&self, finish: Finish) -> Result<Meta, NodeError> {
        let key = finish.key.clone();
        let owner = self.cluster().view().owner(key.partition()).cloned();
        if owner.as_ref() != self.cluster().me() {
            let owner = owner.map_or_else(|| "nobody".to_owned(), |owner| owner.to_string());
            return Err(NodeError::Failed(format!(
                "{key} is decided by {owner}: ask there"
            )));
        }
        let store = self.clone();
        // To its end, even if whoever asked has gone.
        let ended = tokio::spawn(async move {
            let _ordered = store.locks().lock(&finish.key).await;
            store.decide_locked(finish).await
        });
        ended
            .await
            .unwrap_or_else(|error| Err(NodeError::Failed(error.to_string())))
    }

    async fn decide_locked(&self, finish: Finish) -> Result<Meta, NodeError> {
        let look = self.look(&finish.key).await;
        let failed = |error: StoreError| match error {
            StoreError::Full { detail, .. } => NodeError::Full(detail),
            error => NodeError::Failed(error.to_string()),
        };
        let current = look.decided().map_err(failed)?;
        if !finish.condition.holds(current) {
            let current = current.map(|meta| meta.etag.clone());
            return Err(NodeError::Condition { current });
        }
        if let Some(meta) = &look.newest {
            self.observe(meta).map_err(failed)?;
        }
        let deleted = finish.draft.deleted;
        let meta = finish.draft.into_meta(&finish.key, self.cluster().clock.now());
        let written = if deleted {
            self.write_whole(meta, Content::None, &look.failed).await
        } else {
            let stages = Stages::of(self, finish.stages);
            self.write_adopted(meta, stages, &look.failed).await
        };
        written.map_err(failed)
    }
}
