//! Decides every write of a key (put, conditional put, deletion, completion, copy) in one place.
//!
//! The first node of [`Topology::deciders`](crate::cluster::Topology::deciders) that answers
//! decides, under the key's lock and in its promised term ([`super::promised_terms`]). It looks at
//! the key on nodes that have promised the term and checks the condition and the object's
//! protection. Then it prepares the version on safe volumes, which makes it **chosen**, and makes
//! it visible.
//!
//! Why this is safe under any crash, hang, partition or clock error:
//!  - only a chosen version becomes visible; a crash undoes no preparation, so every look finds it;
//!  - the next decider prepares a version in doubt (prepared above everything visible) again in its
//!    own term and makes it visible first: it takes effect before the next decision, or never;
//!  - nodes that promised a later term refuse earlier ones: earlier deciders choose nothing more;
//!  - a request names its write and the newest version its sender knew. If the newest version is
//!    neither, it does nothing, so a late or repeated request has no effect;
//!  - a decision uses one layout; volumes refuse requests under another.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use store_protocol::{
    Cause, Change, ChangeRequest, Condition, Draft, Meta, NewestVersion, NodeError, Protect, Protection,
    Term, UploadId, VolumeId,
};
use tokio::time::timeout;

use super::commit::Commit;
use super::digest::digest_now;
use super::error::StoreError;
use super::key_state::KeyState;
use super::promised_terms::{PromisedTerm, back_off};
use super::staging::{ContentSource, Staging, StagingError, StopReason};
use super::store::{ReadMode, Store};
use super::uploads::Uploads;

use crate::cluster::Topology;

/// How often one decision is restarted. A write in doubt, a lost term and a new layout each cause
/// one or two restarts.
const ATTEMPTS_MAX: u32 = 12;

/// A decision in progress at the decider.
struct Decision {
    store: Store,
    request: ChangeRequest,
    content: ContentSource,
    /// The copy of the current version that the condition names, read before the key was locked.
    version_copy: Option<Meta>,
    /// The promised term must be this one or a later one.
    term_min: Term,
    /// A version may have been prepared, so another decider may finish it from now on.
    begun: bool,
    /// A term was claimed again, because a node that had not promised answered, or too few that
    /// had.
    reclaimed: bool,
}

/// How one attempt at a decision ends.
enum AttemptOutcome {
    Done(Result<Option<Meta>, NodeError>),
    /// Try again, at once or after a pause.
    Retry {
        wait: bool,
    },
}

impl Store {
    /// Decides a change and makes it visible, for [`store_protocol::Node::decide`] of this
    /// process's node. If a node earlier in the order of deciders answers, that node decides.
    ///
    /// # Errors
    /// [`NodeError`] if this node cannot decide or the change is refused.
    pub async fn decide_or_relay(&self, mut request: ChangeRequest) -> Result<Option<Meta>, NodeError> {
        if request.relayed {
            return self.decide(request, ContentSource::Staged).await;
        }
        request.relayed = true;
        let mut was_asked = false;
        let topology = self.cluster().topology();
        for id in topology.deciders(request.key.partition()) {
            if Some(&id) == self.cluster().me() {
                break;
            }
            let Some(node) = topology.nodes.get(&id) else {
                continue;
            };
            // The sender could not reach that node, but the fault may be the sender's alone.
            if !matches!(timeout(self.timeouts().probe, node.layouts()).await, Ok(Ok(_))) {
                continue;
            }
            match node.decide(request.clone()).await {
                // If the change took effect there, the version seen is no longer the newest, which
                // shows below.
                Err(NodeError::Unreachable { asked, .. }) => was_asked |= asked,
                Err(NodeError::Undecided { begun, .. }) => was_asked |= begun,
                ended => return ended,
            }
        }
        match self.decide(request, ContentSource::Staged).await {
            Err(NodeError::Changed { .. }) if was_asked => {
                let detail =
                    "the response of the deciding node was lost, and the object was changed since".to_owned();
                Err(NodeError::Unknown(detail))
            }
            Err(NodeError::Undecided { detail, begun }) => {
                let begun = begun || was_asked;
                Err(NodeError::Undecided { detail, begun })
            }
            ended => ended,
        }
    }

    /// Decides in this process.
    pub(super) async fn decide(
        &self,
        request: ChangeRequest,
        content: ContentSource,
    ) -> Result<Option<Meta>, NodeError> {
        let version_copy = self.version_copy(&request.change).await?;
        let decision = Decision {
            store: self.clone(),
            request,
            content,
            version_copy,
            term_min: Term::NONE,
            begun: false,
            reclaimed: false,
        };
        // Runs in a separate task, so that the decision is finished even if the caller goes away.
        let ended = tokio::spawn(async move {
            let store = decision.store.clone();
            let _ordered = store.locks().lock(&decision.request.key).await;
            decision.run().await
        });
        ended
            .await
            .unwrap_or_else(|error| Err(NodeError::Unknown(error.to_string())))
    }
}

impl Store {
    /// Returns the kept copy that the condition names. It is read before the key is locked: reading
    /// may decide about the copy's key, which may share the lock. A protected copy cannot disappear
    /// in between.
    fn version_copy(&self, change: &Change) -> BoxFuture<'static, Result<Option<Meta>, NodeError>> {
        let kept = match change.condition() {
            Some(Condition::Version { kept, .. }) => kept.clone(),
            _ => None,
        };
        let store = self.with_read_mode(ReadMode::Current);
        async move {
            let Some(at) = kept else { return Ok(None) };
            match store.head(&at).await {
                Ok(meta) => Ok(Some(meta)),
                Err(StoreError::NotFound(_)) => Ok(None),
                Err(error) => Err(NodeError::Undecided {
                    detail: error.to_string(),
                    begun: false,
                }),
            }
        }
        .boxed()
    }
}

impl Decision {
    async fn run(mut self) -> Result<Option<Meta>, NodeError> {
        for attempt in 1..=ATTEMPTS_MAX {
            match self.attempt().await {
                AttemptOutcome::Done(ended) => {
                    if attempt > 1 && ended.is_ok() {
                        self.discard_uploads().await;
                    }
                    return ended;
                }
                AttemptOutcome::Retry { wait: true } => back_off(attempt).await,
                AttemptOutcome::Retry { wait: false } => {}
            }
        }
        Err(NodeError::Superseded { term: self.term_min })
    }

    /// Discards uploaded content that was not needed, because the decision used copies of it.
    async fn discard_uploads(&self) {
        if let Change::Put { uploads, .. } | Change::Protect { uploads, .. } = &self.request.change {
            Uploads::of(&self.store, uploads.clone()).abort().await;
        }
    }

    async fn attempt(&mut self) -> AttemptOutcome {
        let store = self.store.clone();
        let topology = store.cluster().topology();
        let key = self.request.key.clone();
        let promised = match store
            .promised_term(&topology, key.partition(), self.term_min)
            .await
        {
            Ok(promised) => promised,
            Err(NodeError::OtherLayout { .. }) => return AttemptOutcome::Retry { wait: false },
            Err(NodeError::Undecided { detail, .. }) => return self.undecided(detail),
            Err(error) => return AttemptOutcome::Done(Err(error)),
        };
        let state = store.key_state_under(&topology, &key, Some(&promised)).await;
        if state.other_layout {
            return AttemptOutcome::Retry { wait: false };
        }
        if (state.has_unpromised || !state.is_certain()) && !promised.is_only_node() && !self.reclaimed {
            self.reclaimed = true;
            self.term_min = promised.term.after();
            return AttemptOutcome::Retry { wait: false };
        }
        if !state.is_certain() {
            return self.undecided(state.doubts());
        }
        if state.latest_term() > promised.term {
            // Versions written in the promised term would sort before the newest one.
            self.term_min = if promised.is_only_node() {
                state.latest_term()
            } else {
                state.latest_term().after()
            };
            return AttemptOutcome::Retry { wait: false };
        }
        match state.in_doubt().cloned() {
            Some(meta) => self.finish_in_doubt(&topology, &promised, &state, meta).await,
            None => self.decide_change(&topology, &promised, &state).await,
        }
    }

    /// Prepares a version in doubt again, in the promised term, and makes it visible.
    async fn finish_in_doubt(
        &mut self,
        topology: &Arc<Topology>,
        promised: &PromisedTerm,
        state: &KeyState,
        meta: Meta,
    ) -> AttemptOutcome {
        let of_it = state
            .pending
            .iter()
            .filter(|(_, pending)| pending.meta.version == meta.version);
        let prepared: Vec<_> = of_it
            .map(|(volume, pending)| (volume.clone(), pending.upload))
            .collect();
        let content = if meta.deleted {
            ContentSource::None
        } else {
            ContentSource::Prepared(prepared.clone())
        };
        // The number comes from this process's clock, as for all versions of this term. A version
        // that was abandoned in this term and turns up later must sort before later decisions.
        let clock = &self.store.cluster().clock;
        let version = clock.after(Some(meta.version), promised.term);
        let again = Meta { version, ..meta };
        tracing::info!(key = %again.key, version = %again.version, "completing an interrupted write");
        let staging = Staging::for_version(&self.store, topology, &again, content, &state.failed);
        match Commit::new(&self.store, again, staging).run().await {
            Ok(_) => {
                // The earlier preparation is no longer needed.
                Uploads::of(&self.store, prepared)
                    .prepared_as(meta.version)
                    .abort()
                    .await;
                AttemptOutcome::Retry { wait: false }
            }
            Err(error) => self.after_failure(error),
        }
    }

    /// Completes what an earlier decider left unfinished: makes the current version visible where
    /// it is only prepared, and discards older preparations. A failure here is left to the key's
    /// next decider.
    async fn clean_up_preparations(&self, state: &KeyState) {
        for (volume, pending) in &state.pending {
            let (upload, version) = (pending.upload, pending.meta.version);
            if Some(version) == state.version() {
                let committing = self.store.ask(volume, |asked| async move {
                    asked.commit(upload, Cause::Write, "").await
                });
                if let Err(error) = committing.await {
                    tracing::debug!(key = %self.request.key, %volume, %error, "a prepared version could not be made visible");
                }
            } else if Some(version) < state.version() {
                let older = vec![(volume.clone(), upload)];
                Uploads::of(&self.store, older).prepared_as(version).abort().await;
            }
        }
    }

    /// Returns the outcome if the request is already done, or expects another newest version.
    fn check_expected(&self, state: &KeyState) -> Option<AttemptOutcome> {
        if matches!(self.request.change, Change::FinishInDoubt) {
            return None;
        }
        let seen = self.request.expected_newest?;
        let newest = state.newest.as_ref();
        if newest.is_some_and(|meta| meta.write == Some(self.request.write)) {
            return Some(AttemptOutcome::Done(Ok(newest.cloned())));
        }
        let newest = NewestVersion {
            version: state.version(),
        };
        if seen == newest {
            return None;
        }
        Some(AttemptOutcome::Done(Err(if self.begun {
            let detail = "another node has decided in the meantime, and the object was changed".to_owned();
            NodeError::Unknown(detail)
        } else {
            NodeError::Changed { newest }
        })))
    }

    /// Decides, once the current version is certain.
    async fn decide_change(
        &mut self,
        topology: &Arc<Topology>,
        promised: &PromisedTerm,
        state: &KeyState,
    ) -> AttemptOutcome {
        self.clean_up_preparations(state).await;
        if let Some(ended) = self.check_expected(state) {
            return ended;
        }
        let newest = state.newest.as_ref();
        let current = newest.filter(|meta| !meta.deleted);
        let (condition, mut draft, uploads, protect) = match self.request.change.clone() {
            Change::FinishInDoubt => return AttemptOutcome::Done(Ok(newest.cloned())),
            Change::Delete { condition } => (condition, tombstone(), Vec::new(), Protect::default()),
            Change::Put {
                condition,
                draft,
                uploads,
            } => (condition, *draft, uploads, Protect::default()),
            Change::Protect {
                condition,
                draft,
                uploads,
                protect,
            } => (condition, *draft, uploads, protect),
        };
        if !condition.holds(current) {
            let current = current.map(|meta| meta.etag.clone());
            return AttemptOutcome::Done(Err(NodeError::Condition { current }));
        }
        if draft.deleted && current.is_none() {
            return AttemptOutcome::Done(Ok(None));
        }
        // Uses this node's wall clock. The version clock is unsuitable: other nodes move it
        // forward.
        let now_ms = system::wall_ms();
        let is_kept = |current: &&Meta| {
            let copy = self.version_copy.as_ref();
            copy.is_some_and(|copy| Protection::is_covered_by(current, copy, now_ms))
        };
        match Protection::after(
            current.filter(|current| !is_kept(current)),
            &draft,
            &protect,
            now_ms,
        ) {
            // Overwrites any protection that the client's attributes claim.
            Ok(protection) => protection.write_to(&mut draft.attributes),
            Err(protection) => return AttemptOutcome::Done(Err(NodeError::Protected(protection))),
        }
        let version = self.store.cluster().clock.after(state.version(), promised.term);
        let mut meta = draft.into_meta(&self.request.key, version);
        meta.write = (!promised.is_only_node()).then_some(self.request.write);
        self.write(topology, meta, uploads, state).await
    }

    /// Prepares a version on safe volumes and makes it visible.
    async fn write(
        &mut self,
        topology: &Arc<Topology>,
        meta: Meta,
        uploads: Vec<(VolumeId, UploadId)>,
        state: &KeyState,
    ) -> AttemptOutcome {
        // From here on other nodes may find a version prepared for this request.
        self.request.expected_newest = Some(NewestVersion {
            version: state.version(),
        });
        self.begun = true;
        let content = if meta.deleted {
            ContentSource::None
        } else {
            self.content.clone()
        };
        let mut staging = Staging::for_version(&self.store, topology, &meta, content, &state.failed);
        if !meta.deleted {
            staging.add_uploads(&mut Uploads::of(&self.store, uploads));
        }
        staging.prepare().await;
        match Commit::new(&self.store, meta, staging).run().await {
            Ok(meta) => AttemptOutcome::Done(Ok(Some(meta))),
            Err(error) => self.after_failure(error),
        }
    }

    fn undecided(&self, detail: String) -> AttemptOutcome {
        let begun = self.begun;
        AttemptOutcome::Done(Err(NodeError::Undecided { detail, begun }))
    }

    fn after_failure(&mut self, short: StagingError) -> AttemptOutcome {
        match short {
            StagingError::Stopped(StopReason::OtherLayout) => AttemptOutcome::Retry { wait: false },
            StagingError::Stopped(StopReason::Superseded(term)) => {
                // It may be a later term of this node.
                self.term_min = term;
                AttemptOutcome::Retry { wait: true }
            }
            StagingError::Failed(StoreError::Full { detail, .. }) => {
                AttemptOutcome::Done(Err(NodeError::Full(detail)))
            }
            StagingError::Failed(error) => AttemptOutcome::Done(Err(NodeError::Failed(error.to_string()))),
        }
    }
}

/// Returns the draft of a deletion.
fn tombstone() -> Draft {
    Draft {
        deleted: true,
        size: 0,
        etag: String::new(),
        attributes: BTreeMap::new(),
        digests: digest_now(&[]),
    }
}
