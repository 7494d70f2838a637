//! The current version of a key: the newest that any volume holds.
//!
//! Why asking a few volumes is enough. Every acknowledged version was on R different volumes when it was answered, of as
//! many nodes and zones as [`View::sure`](crate::cluster::View::sure) says, at least one of them of the partition's home in a layout that is still in
//! force, that is, one of its **places**; and copies go away only after R others of the same or a newer version were
//! verified, which lie as wide. So:
//!
//!  1. When every place has answered, and none of them is being rebuilt, the newest version among the answers is the
//!     current one: the acknowledged version has a copy there, or a newer one has replaced it. Hand-offs on other
//!     volumes need not be looked for.
//!  2. When a place is unknown (did not answer, or is being rebuilt), the copy there may be the only one at home, the
//!     others being hand-offs. Then all other volumes are asked too. One of the copies has answered as soon as the
//!     volumes that are unknown are too few, or of too few nodes or zones, to hold them all.
//!  3. Otherwise nothing is certain, and nothing is answered; unless every volume has answered, though some are being
//!     rebuilt: then a version found may be read, as there is none newer, but "there is none" cannot be said and nothing
//!     can be decided.
//!
//! What lies **prepared** counts like what is visible, for it may be visible where nobody was heard: such a version is in
//! doubt until whoever decides for the key has brought it to its end ([`super::decide`]). While a key is being written
//! that is the rule for a moment, after a decider was broken off until somebody asks for the key.
//!
//! A volume that is only late counts as unknown while the answer can be had without it; nobody waits for it longer
//! than [`Patience::hedge`](super::Patience::hedge), but that long everyone is waited for, because more answers
//! than needed are the best protection against a volume that has forgotten something.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::{Head, Key, Meta, Pending, ReplicaState, Seen, Term, Version, VolumeError, VolumeId};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, timeout_at};

use super::seats::Seat;
use super::volumes::LAYOUT_TRIES;
use super::{Reading, Store, StoreError};
use crate::cluster::View;

/// How often a reader has a key settled that is written all the time.
const SETTLE_TRIES: usize = 4;

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
    /// The newest version prepared on each volume that has one.
    pub(super) pending: Vec<(VolumeId, Pending)>,
    /// Somebody knows another layout: what was heard may not go together.
    pub(super) other_layout: bool,
    /// A node has answered whose word does not count for the decider who asks.
    pub(super) has_strangers: bool,
    /// Whether `newest` is the current version beyond doubt.
    certain: bool,
    /// Everybody has answered: there is nothing newer than `newest` anywhere, though something may have been lost.
    has_heard_all: bool,
    /// Who is unknown and why, in words.
    doubts: Vec<String>,
}

impl Look {
    /// The current version's entity tag if it is live.
    ///
    /// # Errors
    /// `Unavailable` when it is not certain which version is the current one.
    pub(super) fn decided(&self) -> Result<Option<&Meta>, StoreError> {
        if !self.certain || self.in_doubt().is_some() {
            return Err(self.unavailable());
        }
        Ok(self.newest.as_ref().filter(|meta| !meta.deleted))
    }

    /// Whether `newest` is the current version beyond doubt, but for what is prepared.
    pub(super) fn is_certain(&self) -> bool {
        self.certain
    }

    /// The newest version prepared, if it is newer than all that are visible.
    pub(super) fn in_doubt(&self) -> Option<&Meta> {
        let pending = self.pending.iter().map(|(_, pending)| &pending.meta);
        let newest = pending.max_by_key(|meta| meta.version)?;
        (self.version() < Some(newest.version)).then_some(newest)
    }

    /// The newest version that is visible.
    pub(super) fn version(&self) -> Option<Version> {
        self.newest.as_ref().map(|meta| meta.version)
    }

    /// What a writer notes before it asks for a change: the newest version, if that is certain.
    pub(super) fn seen(&self) -> Option<Seen> {
        (self.certain && self.in_doubt().is_none()).then(|| Seen {
            version: self.version(),
        })
    }

    /// The latest term of all versions heard of.
    pub(super) fn latest_term(&self) -> Term {
        let pending = self.pending.iter().map(|(_, pending)| pending.meta.version.term);
        let visible = self.version().map(|version| version.term);
        pending.chain(visible).max().unwrap_or_default()
    }

    /// The version to read: the current one, or while volumes are being rebuilt the newest there is, or if any will do the newest among the volumes that can be reached.
    ///
    /// # Errors
    /// `NotFound` for certain, or `Unavailable`.
    pub(super) fn live(&self, reading: Reading) -> Result<&Meta, StoreError> {
        let will_do = self.certain || self.has_heard_all || reading == Reading::Any;
        match &self.newest {
            Some(meta) if !meta.deleted && will_do => Ok(meta),
            _ if self.certain => Err(StoreError::NotFound(self.key.to_string())),
            _ => Err(self.unavailable()),
        }
    }

    fn unavailable(&self) -> StoreError {
        StoreError::Unavailable {
            key: self.key.to_string(),
            detail: self.doubts(),
        }
    }

    /// Who is unknown and why, in words.
    pub(super) fn doubts(&self) -> String {
        if self.doubts.is_empty() {
            return "it is being written".to_owned();
        }
        self.doubts.join("; ")
    }
}

/// Questions under way and answers so far.
struct Asking<'a> {
    seat: Option<&'a Seat>,
    look: Look,
    /// Places that have not given a complete answer.
    places: BTreeSet<VolumeId>,
    /// Volumes of the view that have not given a complete answer.
    unknown: BTreeSet<VolumeId>,
    view: Arc<View>,
    /// Volumes that have answered, whole or not.
    heard: usize,
    waiting: FuturesUnordered<BoxFuture<'static, (VolumeId, Result<Head, VolumeError>)>>,
}

impl Store {
    /// Looks for the current version of a key.
    pub(super) async fn look(&self, key: &Key) -> Look {
        let look = self.look_now(key).await;
        if look.certain || !self.ask_for_layouts().await {
            return look;
        }
        self.look_now(key).await
    }

    /// Looks for a version to read. One in doubt is brought to its end first, so that whoever reads later does not read
    /// something older.
    ///
    /// # Errors
    /// `Unavailable` when that is not possible now.
    pub(super) async fn look_to_read(&self, key: &Key) -> Result<Look, StoreError> {
        let mut look = self.look(key).await;
        if self.reading() == Reading::Any {
            return Ok(look);
        }
        for _ in 0..SETTLE_TRIES {
            let is_told = look.certain || look.has_heard_all;
            if !is_told || look.in_doubt().is_none() {
                return Ok(look);
            }
            // What it had come to when it was settled is old enough: anything newer was decided since we asked.
            let settled = self.settle(key).await?.map(|meta| meta.version);
            look = self.look(key).await;
            if look.version() >= settled {
                return Ok(look);
            }
        }
        Err(look.unavailable())
    }

    /// The newest version that can be reached, tombstones too; what is only prepared counts, as it may be visible elsewhere.
    pub(crate) async fn newest_reached(&self, key: &Key) -> Option<Meta> {
        let look = self.look(key).await;
        look.in_doubt().or(look.newest.as_ref()).cloned()
    }

    /// A look on a fresh view if the layout had changed.
    async fn look_now(&self, key: &Key) -> Look {
        let mut tries = 1;
        loop {
            let view = self.cluster().view();
            let look = self.look_under(&view, key, None).await;
            if !look.other_layout || tries == LAYOUT_TRIES {
                return look;
            }
            tries += 1;
        }
    }

    /// One look under a view; for a decider, whose seat says whose word counts.
    pub(super) async fn look_under(&self, view: &Arc<View>, key: &Key, seat: Option<&Seat>) -> Look {
        let mut asking = Asking::new(view, key, seat);
        let places = view.places(key.partition());
        places.iter().for_each(|place| asking.ask(place));
        asking.hear(self.patience().hedge, |_| false).await;
        if !asking.is_done() {
            let others: Vec<_> = view.volumes.keys().filter(|id| !places.contains(id)).collect();
            others.into_iter().for_each(|other| asking.ask(other));
            asking.hear(self.patience().hedge, |_| false).await;
            asking.hear(self.patience().answer, Asking::is_certain).await;
        }
        asking.end()
    }
}

impl<'a> Asking<'a> {
    fn new(view: &Arc<View>, key: &Key, seat: Option<&'a Seat>) -> Self {
        let partition = key.partition();
        Self {
            seat,
            look: Look {
                key: key.clone(),
                newest: None,
                good: Vec::new(),
                bad: Vec::new(),
                failed: Vec::new(),
                pending: Vec::new(),
                other_layout: false,
                has_strangers: false,
                certain: false,
                has_heard_all: false,
                doubts: Vec::new(),
            },
            places: view.places(partition).into_iter().collect(),
            unknown: view.volumes.keys().cloned().collect(),
            view: view.clone(),
            heard: 0,
            waiting: FuturesUnordered::new(),
        }
    }

    fn ask(&mut self, volume: &VolumeId) {
        let (id, key) = (volume.clone(), self.look.key.clone());
        let Some(volume) = self.view.volumes.get(volume).cloned() else {
            return;
        };
        self.waiting.push(Box::pin(async move {
            let answer = volume.head(&key).await;
            (id, answer)
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
                if matches!(error, VolumeError::OtherLayout { .. }) {
                    self.look.other_layout = true;
                } else {
                    self.look.failed.push(volume);
                }
                return;
            }
        };
        self.heard += 1;
        let counts = |seat: &Seat| seat.counts(self.view.domains.node(&volume));
        if !self.seat.is_none_or(counts) {
            self.look.has_strangers = true;
            self.look
                .doubts
                .push(format!("the node of {volume} has not promised"));
        } else if head.complete {
            self.places.remove(&volume);
            self.unknown.remove(&volume);
        } else {
            self.look.doubts.push(format!("volume {volume} is being rebuilt"));
        }
        if let Some(pending) = head.pending {
            self.look.pending.push((volume.clone(), pending));
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

    /// All places have answered.
    fn is_done(&self) -> bool {
        self.places.is_empty()
    }

    fn is_certain(&self) -> bool {
        self.view.is_heard(self.look.key.partition(), &self.unknown)
    }

    fn end(mut self) -> Look {
        let all = self.view.volumes.len();
        self.look.has_heard_all = self.heard == all && !self.look.has_strangers;
        self.look.certain = self.is_certain();
        if self.look.doubts.is_empty() && !self.look.certain {
            let late: Vec<_> = self.unknown.iter().map(ToString::to_string).collect();
            self.look
                .doubts
                .push(match self.view.sure(self.look.key.partition()).volumes {
                    0 => "the layout has no volumes".to_owned(),
                    _ => format!("no answer yet from {}", late.join(", ")),
                });
        }
        self.look
    }
}
