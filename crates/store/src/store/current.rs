//! The current version of a key: the newest that any volume holds.
//!
//! Why asking a few volumes is enough. Every acknowledged version was on R different volumes when it was answered, of as
//! many nodes and zones as [`View::sure`] says, at least one of them of the partition's home in a layout that is still in
//! force, that is, one of its **places**; and copies go away only after R others of the same or a newer version were
//! verified, which lie as wide. So:
//!
//!  1. When every place has answered, and none of them is being rebuilt, the newest version among the answers is the
//!     current one: the acknowledged version has a copy there, or a newer one has replaced it. Hand-offs on other
//!     volumes need not be looked for.
//!  2. When a place is unknown (did not answer, or is being rebuilt), the copy there may be the only one at home, the
//!     others being hand-offs. Then all other volumes are asked too. One of the copies has answered as soon as the
//!     volumes that are unknown are too few, or of too few nodes or zones, to hold them all.
//!  3. Otherwise nothing is certain: a version found may be read (it is the newest among those that can be reached),
//!     but "there is none" and conditions cannot be decided.
//!
//! A volume that is only late counts as unknown while the answer can be had without it; nobody waits for it longer
//! than [`Patience::hedge`](super::Patience::hedge), but that long everyone is waited for, because more answers
//! than needed are the best protection against a volume that has forgotten something.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, timeout_at};

use super::{Store, StoreError};
use crate::cluster::View;
use crate::domains::Width;
use crate::key::Key;
use crate::meta::Meta;
use crate::volume::{Head, ReplicaState, VolumeError, VolumeId};

/// What the volumes said about one key.
#[derive(Debug)]
pub(super) struct Look {
    key: Key,
    /// The newest version found, live or tombstone.
    pub(super) newest: Option<Meta>,
    /// Volumes that hold it, as far as they were heard.
    pub(super) good: Vec<VolumeId>,
    /// Volumes that hold it and know that their copy is bad.
    pub(super) bad: Vec<VolumeId>,
    /// Volumes that failed to answer.
    pub(super) failed: Vec<VolumeId>,
    /// Whether `newest` is the current version beyond doubt.
    certain: bool,
    /// Who is unknown and why, in words.
    doubts: Vec<String>,
}

impl Look {
    /// The current version's entity tag if it is live.
    ///
    /// # Errors
    /// `Unavailable` when it is not certain which version is the current one.
    pub(super) fn decided(&self) -> Result<Option<&Meta>, StoreError> {
        if !self.certain {
            return Err(self.unavailable());
        }
        Ok(self.newest.as_ref().filter(|meta| !meta.deleted))
    }

    /// The version to read: the newest among the volumes that can be reached.
    ///
    /// # Errors
    /// `NotFound` for certain, or `Unavailable`.
    pub(super) fn live(&self) -> Result<&Meta, StoreError> {
        match &self.newest {
            Some(meta) if !meta.deleted => Ok(meta),
            _ if self.certain => Err(StoreError::NotFound(self.key.to_string())),
            _ => Err(self.unavailable()),
        }
    }

    fn unavailable(&self) -> StoreError {
        StoreError::Unavailable {
            key: self.key.to_string(),
            detail: self.doubts.join("; "),
        }
    }
}

/// Questions under way and answers so far.
struct Asking<'a> {
    store: &'a Store,
    look: Look,
    /// Places that have not given a complete answer.
    places: BTreeSet<VolumeId>,
    /// Volumes of the view that have not given a complete answer.
    unknown: BTreeSet<VolumeId>,
    /// [`View::sure`] of the partition.
    sure: Width,
    view: Arc<View>,
    waiting: FuturesUnordered<BoxFuture<'a, (VolumeId, Result<Head, VolumeError>)>>,
}

impl Store {
    /// Looks for the current version of a key.
    pub(super) async fn look(&self, key: &Key) -> Look {
        let look = self.look_once(key).await;
        if look.certain || !self.ask_for_layouts().await {
            return look;
        }
        self.look_once(key).await
    }

    async fn look_once(&self, key: &Key) -> Look {
        let view = self.cluster().view();
        let mut asking = Asking::new(self, &view, key);
        let places = view.places(key.partition());
        places.iter().for_each(|place| asking.ask(place));
        asking.hear(self.patience().hedge, |_| false).await;
        if !asking.places.is_empty() {
            let others: Vec<_> = view.volumes.keys().filter(|id| !places.contains(id)).collect();
            others.into_iter().for_each(|other| asking.ask(other));
            asking.hear(self.patience().hedge, |_| false).await;
            asking.hear(self.patience().answer, Asking::is_certain).await;
        }
        asking.end()
    }
}

impl<'a> Asking<'a> {
    fn new(store: &'a Store, view: &Arc<View>, key: &Key) -> Self {
        let partition = key.partition();
        Self {
            store,
            look: Look {
                key: key.clone(),
                newest: None,
                good: Vec::new(),
                bad: Vec::new(),
                failed: Vec::new(),
                certain: false,
                doubts: Vec::new(),
            },
            places: view.places(partition).into_iter().collect(),
            unknown: view.volumes.keys().cloned().collect(),
            sure: view.sure(partition),
            view: view.clone(),
            waiting: FuturesUnordered::new(),
        }
    }

    fn ask(&mut self, volume: &VolumeId) {
        let (store, volume, key) = (self.store, volume.clone(), self.look.key.clone());
        self.waiting.push(Box::pin(async move {
            let answer = store
                .ask(&volume, |asked| {
                    let key = key.clone();
                    async move { asked.head(&key).await }
                })
                .await;
            (volume, answer)
        }));
    }

    /// Takes answers until all are there, `enough` says so, or the time is over.
    async fn hear(&mut self, time: std::time::Duration, enough: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + time;
        while !self.waiting.is_empty() && !enough(self) {
            match timeout_at(deadline, self.waiting.next()).await {
                Ok(Some((volume, answer))) => self.note(volume, answer),
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn note(&mut self, volume: VolumeId, answer: Result<Head, VolumeError>) {
        let head = match answer {
            Ok(head) => head,
            Err(error) => {
                self.look.doubts.push(error.to_string());
                self.look.failed.push(volume);
                return;
            }
        };
        if head.complete {
            self.places.remove(&volume);
            self.unknown.remove(&volume);
        } else {
            self.look.doubts.push(format!("volume {volume} is being rebuilt"));
        }
        let Some(held) = head.found else { return };
        let newest = self.look.newest.as_ref().map(|meta| meta.version);
        if newest > Some(held.meta.version) {
            return;
        }
        if newest < Some(held.meta.version) {
            self.look.newest = Some(held.meta);
            self.look.good.clear();
            self.look.bad.clear();
        }
        match held.state {
            ReplicaState::Good => self.look.good.push(volume),
            ReplicaState::Bad(_) => self.look.bad.push(volume),
        }
    }

    fn is_certain(&self) -> bool {
        let unknown = self.view.domains.width(&self.unknown);
        self.sure.volumes > 0 && (self.places.is_empty() || self.sure.is_seen_without(&unknown))
    }

    fn end(mut self) -> Look {
        self.look.certain = self.is_certain();
        if self.look.doubts.is_empty() && !self.look.certain {
            let late: Vec<_> = self.unknown.iter().map(ToString::to_string).collect();
            self.look.doubts.push(match self.sure.volumes {
                0 => "the layout has no volumes".to_owned(),
                _ => format!("no answer yet from {}", late.join(", ")),
            });
        }
        self.look
    }
}
