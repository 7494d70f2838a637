//! Finds the current version of a key: the newest that any volume holds.
//!
//! Why asking a few volumes is enough: every acknowledged version was on R different volumes when
//! it was acknowledged, on as many nodes and zones as
//! [`Topology::guaranteed_width`](crate::cluster::Topology::guaranteed_width) requires. At least
//! one of them was a **place**: a home volume of the partition in a layout still in force. Copies
//! are dropped only after R others of the same or a newer version, spread as widely, were verified.
//! So:
//!  1. Once every place has answered and none is being rebuilt, the newest version found is
//!     current.
//!  2. If a place is unknown (no answer, or being rebuilt), all other volumes are asked too. The
//!     answer is certain once the unknown volumes are too few, or on too few nodes or zones, to
//!     hold all copies.
//!  3. Otherwise nothing is certain. One exception: if every volume has answered but some are being
//!     rebuilt, a version found may be read, but absence is unproved and no decision is possible.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use store_protocol::{
    Head, Key, Meta, NewestVersion, Pending, ReplicaState, Term, Version, VolumeError, VolumeId,
};
use tokio::time::{Instant, timeout_at};

use super::error::StoreError;
use super::promised_terms::PromisedTerm;
use super::store::{ReadMode, Store};
use super::volumes::LAYOUT_TRIES;
use crate::cluster::Topology;

/// How often a reader finishes a write in doubt of a key that is written continuously, before the
/// reader fails. Each try decides
/// another client's write: fewer would refuse reads of a key with one busy writer, more would let a
/// reader decide that writer's writes for seconds.
const FINISH_TRIES: usize = 4;

/// The answers of the volumes about one key. A **prepared** version counts like a visible one; it
/// is in doubt until its decider finishes it ([`super::decide`]). A volume that is late after
/// [`Timeouts::hedge`](super::Timeouts::hedge) counts as unknown if possible.
#[derive(Debug)]
pub(super) struct KeyState {
    key: Key,
    /// The newest version found, live or tombstone.
    pub(super) newest: Option<Meta>,
    /// Volumes that answered that they hold it.
    pub(super) good: Vec<VolumeId>,
    /// Volumes that hold it and know that their copy is bad.
    pub(super) bad: Vec<VolumeId>,
    /// Volumes that did not answer.
    pub(super) failed: Vec<VolumeId>,
    /// The newest version prepared on each volume that has one.
    pub(super) pending: Vec<(VolumeId, Pending)>,
    /// A node knows another layout. The answers may belong to different layouts and must not be
    /// combined.
    pub(super) other_layout: bool,
    /// A node answered that has not promised the term of the asking decider, so its answer does not
    /// count.
    pub(super) has_unpromised: bool,
    /// Whether `newest` is certainly the current version.
    certain: bool,
    /// Every volume answered: no version newer than `newest` exists anywhere, but one may have been
    /// lost.
    all_answered: bool,
    /// Unknown volumes with the reason, for error messages.
    doubts: Vec<String>,
}

impl KeyState {
    /// Returns the current version if it is live, otherwise `None`.
    ///
    /// # Errors
    /// `Unavailable` if it is not certain which version is current.
    pub(super) fn decided(&self) -> Result<Option<&Meta>, StoreError> {
        if !self.certain || self.in_doubt().is_some() {
            return Err(self.unavailable());
        }
        Ok(self.newest.as_ref().filter(|meta| !meta.deleted))
    }

    /// Returns whether `newest` is certainly the current version, ignoring prepared versions.
    pub(super) fn is_certain(&self) -> bool {
        self.certain
    }

    /// Returns the newest prepared version if it is newer than every visible one.
    pub(super) fn in_doubt(&self) -> Option<&Meta> {
        let pending = self.pending.iter().map(|(_, pending)| &pending.meta);
        let newest = pending.max_by_key(|meta| meta.version)?;
        (self.version() < Some(newest.version)).then_some(newest)
    }

    /// Returns the newest visible version.
    pub(super) fn version(&self) -> Option<Version> {
        self.newest.as_ref().map(|meta| meta.version)
    }

    /// Returns the newest version, if it is certain. A writer notes it before it requests a change.
    pub(super) fn certain_newest(&self) -> Option<NewestVersion> {
        (self.certain && self.in_doubt().is_none()).then(|| NewestVersion {
            version: self.version(),
        })
    }

    /// Returns the latest term of all versions in the answers.
    pub(super) fn latest_term(&self) -> Term {
        let pending = self.pending.iter().map(|(_, pending)| pending.meta.version.term);
        let visible = self.version().map(|version| version.term);
        pending.chain(visible).max().unwrap_or_default()
    }

    /// Returns the version to read: the current one; while volumes are being rebuilt, the newest
    /// that exists; with [`ReadMode::Any`], the newest on reachable volumes.
    ///
    /// # Errors
    /// `NotFound` if the key certainly has no live version, otherwise `Unavailable`.
    pub(super) fn live(&self, reading: ReadMode) -> Result<&Meta, StoreError> {
        let will_do = self.certain || self.all_answered || reading == ReadMode::Any;
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

    /// Returns the unknown volumes with the reason, for error messages.
    pub(super) fn doubts(&self) -> String {
        if self.doubts.is_empty() {
            return "it is being written".to_owned();
        }
        self.doubts.join("; ")
    }
}

/// Requests in flight and the answers so far.
struct KeyQuery<'a> {
    promised: Option<&'a PromisedTerm>,
    state: KeyState,
    /// Places that have not given a complete answer.
    places: BTreeSet<VolumeId>,
    /// Volumes of the topology that have not given a complete answer.
    unknown: BTreeSet<VolumeId>,
    topology: Arc<Topology>,
    /// Number of volumes that have answered, complete or not.
    answered: usize,
    waiting: FuturesUnordered<BoxFuture<'static, (VolumeId, Result<Head, VolumeError>)>>,
}

impl Store {
    /// Looks for the current version of a key.
    pub(super) async fn key_state(&self, key: &Key) -> KeyState {
        let state = self.key_state_once(key).await;
        if state.certain || !self.ask_for_layouts().await {
            return state;
        }
        self.key_state_once(key).await
    }

    /// Looks for a version to read. A version in doubt is finished first, so that no later reader
    /// reads an older one.
    ///
    /// # Errors
    /// `Unavailable` if the doubt cannot be finished now.
    pub(super) async fn readable_key_state(&self, key: &Key) -> Result<KeyState, StoreError> {
        let mut state = self.key_state(key).await;
        if self.reading() == ReadMode::Any {
            return Ok(state);
        }
        for _ in 0..FINISH_TRIES {
            let is_known = state.certain || state.all_answered;
            if !is_known || state.in_doubt().is_none() {
                return Ok(state);
            }
            // The version that this returned is recent enough: any newer one was decided after
            // this read began.
            let finished = self.finish_in_doubt(key).await?.map(|meta| meta.version);
            state = self.key_state(key).await;
            if state.version() >= finished {
                return Ok(state);
            }
        }
        Err(state.unavailable())
    }

    /// Returns the newest reachable version, tombstones included. A prepared version counts,
    /// because it may be visible on another volume.
    pub(crate) async fn newest_reachable(&self, key: &Key) -> Option<Meta> {
        let state = self.key_state(key).await;
        state.in_doubt().or(state.newest.as_ref()).cloned()
    }

    /// Looks once, and again with a fresh topology if the layout has changed.
    async fn key_state_once(&self, key: &Key) -> KeyState {
        let mut tries = 1;
        loop {
            let topology = self.cluster().topology();
            let state = self.key_state_under(&topology, key, None).await;
            if !state.other_layout || tries == LAYOUT_TRIES {
                return state;
            }
            tries += 1;
        }
    }

    /// Looks once under a topology. For a decider, `promised` says which nodes' answers count.
    pub(super) async fn key_state_under(
        &self,
        topology: &Arc<Topology>,
        key: &Key,
        promised: Option<&PromisedTerm>,
    ) -> KeyState {
        let mut asking = KeyQuery::new(topology, key, promised);
        let places = topology.places(key.partition());
        places.iter().for_each(|place| asking.ask(place));
        asking.collect(self.timeouts().hedge, |_| false).await;
        if !asking.is_done() {
            let others: Vec<_> = topology
                .volumes
                .keys()
                .filter(|id| !places.contains(id))
                .collect();
            others.into_iter().for_each(|other| asking.ask(other));
            asking.collect(self.timeouts().hedge, |_| false).await;
            asking.collect(self.timeouts().answer, KeyQuery::is_certain).await;
        }
        asking.end()
    }
}

impl<'a> KeyQuery<'a> {
    fn new(topology: &Arc<Topology>, key: &Key, promised: Option<&'a PromisedTerm>) -> Self {
        let partition = key.partition();
        Self {
            promised,
            state: KeyState {
                key: key.clone(),
                newest: None,
                good: Vec::new(),
                bad: Vec::new(),
                failed: Vec::new(),
                pending: Vec::new(),
                other_layout: false,
                has_unpromised: false,
                certain: false,
                all_answered: false,
                doubts: Vec::new(),
            },
            places: topology.places(partition).into_iter().collect(),
            unknown: topology.volumes.keys().cloned().collect(),
            topology: topology.clone(),
            answered: 0,
            waiting: FuturesUnordered::new(),
        }
    }

    fn ask(&mut self, volume: &VolumeId) {
        let (id, key) = (volume.clone(), self.state.key.clone());
        let Some(volume) = self.topology.volumes.get(volume).cloned() else {
            return;
        };
        self.waiting.push(Box::pin(async move {
            let answer = volume.head(&key).await;
            (id, answer)
        }));
    }

    /// Collects answers until all have arrived, `enough` returns true, or `time` has passed.
    async fn collect(&mut self, time: std::time::Duration, enough: impl Fn(&Self) -> bool) {
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
                self.state.doubts.push(error.to_string());
                if matches!(error, VolumeError::OtherLayout { .. }) {
                    self.state.other_layout = true;
                } else {
                    self.state.failed.push(volume);
                }
                return;
            }
        };
        self.answered += 1;
        let counts = |promised: &PromisedTerm| promised.counts(self.topology.domains.node(&volume));
        if !self.promised.is_none_or(counts) {
            self.state.has_unpromised = true;
            self.state
                .doubts
                .push(format!("the node of volume {volume} has not promised this term"));
        } else if head.complete {
            self.places.remove(&volume);
            self.unknown.remove(&volume);
        } else {
            self.state
                .doubts
                .push(format!("volume {volume} is being rebuilt"));
        }
        if let Some(pending) = head.pending {
            self.state.pending.push((volume.clone(), pending));
        }
        let Some(held) = head.found else { return };
        let newest = self.state.newest.as_ref().map(|meta| meta.version);
        if newest > Some(held.meta.version) {
            return;
        }
        if newest < Some(held.meta.version) {
            self.state.newest = Some(held.meta);
            self.state.good.clear();
            self.state.bad.clear();
        }
        match held.state {
            ReplicaState::Good => self.state.good.push(volume),
            ReplicaState::Bad(_) => self.state.bad.push(volume),
        }
    }

    /// Returns whether all places have answered.
    fn is_done(&self) -> bool {
        self.places.is_empty()
    }

    fn is_certain(&self) -> bool {
        self.topology
            .is_visible_without(self.state.key.partition(), &self.unknown)
    }

    fn end(mut self) -> KeyState {
        let all = self.topology.volumes.len();
        self.state.all_answered = self.answered == all && !self.state.has_unpromised;
        self.state.certain = self.is_certain();
        if self.state.doubts.is_empty() && !self.state.certain {
            let late: Vec<_> = self.unknown.iter().map(ToString::to_string).collect();
            self.state.doubts.push(
                match self.topology.guaranteed_width(self.state.key.partition()).volumes {
                    0 => "the layout has no volumes".to_owned(),
                    _ => format!("no answer yet from {}", late.join(", ")),
                },
            );
        }
        self.state
    }
}
