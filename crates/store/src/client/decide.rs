//! Decides every write of a key (put, conditional put, deletion, completion, copy) in one place.
//!
//! The first node of [`Topology::deciders`](crate::cluster::Topology::deciders) that answers
//! decides, under the key's lock and in its seat's term ([`super::seats`]). It looks at the key on
//! nodes that have promised the term and checks the condition and the object's protection. Then it
//! prepares the version on safe volumes, which makes it **chosen**, and makes it visible.
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
    Cause, Change, Condition, Draft, Finish, Key, Meta, NodeError, NodeId, Protect, Protection, Seen, Term,
    VolumeId, WriteId,
};
use tokio::time::{Instant, timeout};

use super::current::Look;
use super::digest::digest_now;
use super::error::{StoreError, unavailable};
use super::seats::{Seat, back_off};
use super::spread::{Content, Expected, Short, Spread, Stop};
use super::store::{Reading, Store};
use super::uploads::Uploads;
use super::write::Write;

use crate::cluster::Topology;

/// How often one decision is restarted. A write in doubt, a lost seat and a new layout each cause
/// one or two restarts.
const TURNS: u32 = 12;

/// A change of a key, with everything needed to request it.
pub(super) struct Order {
    finish: Finish,
    content: Content,
    /// The uploads of the content.
    uploads: Uploads,
    /// Volumes that did not answer when the key was looked up.
    failed: Vec<VolumeId>,
    /// It was requested before, with an unknown outcome.
    again: bool,
}

/// A decision in progress at the decider.
struct Deciding {
    store: Store,
    finish: Finish,
    content: Content,
    /// The kept copy of the current version that the condition names, read before the key was
    /// locked.
    kept: Option<Meta>,
    /// The seat must be of this term or a later one.
    least: Term,
    /// A version may have been prepared, so another decider may finish it from now on.
    begun: bool,
    /// The seat was claimed again, because a node that had not promised answered, or too few that
    /// had.
    renewed: bool,
}

/// How one attempt at a decision ends.
enum Turn {
    Done(Result<Option<Meta>, NodeError>),
    /// Try again, at once or after a pause.
    Again {
        wait: bool,
    },
}

impl Order {
    pub(super) fn new(store: &Store, key: &Key, change: Change, content: Content, look: &Look) -> Self {
        Self {
            finish: Finish {
                key: key.clone(),
                change,
                write: WriteId::random(),
                seen: look.seen(),
                relayed: false,
            },
            content,
            uploads: Uploads::new(store),
            failed: look.failed.clone(),
            again: false,
        }
    }

    /// Adds content that is already uploaded.
    pub(super) fn uploaded(mut self, uploads: &mut Uploads) -> Self {
        for (volume, upload) in uploads.take() {
            self.uploads.push(volume, upload);
        }
        self
    }

    /// Prepares the order for another try under another condition, after a refusal. Deciders see a
    /// new request.
    pub(super) fn renew(&mut self, condition: Condition, current: Option<&Meta>) {
        self.finish.write = WriteId::random();
        // The number of a current version is known; for a deleted one, the decider reports it.
        self.finish.seen = current.map(|meta| Seen {
            version: Some(meta.version),
        });
        if let Some(place) = self.finish.change.condition_mut() {
            *place = condition;
        }
    }

    /// Takes the condition out, to be replaced with [`Order::renew`].
    pub(super) fn take_condition(&mut self) -> Condition {
        let condition = self.finish.change.condition_mut();
        condition.map(std::mem::take).unwrap_or_default()
    }

    /// Returns whether it was requested before, with an unknown outcome.
    pub(super) fn is_again(&self) -> bool {
        self.again
    }

    /// Ends the order and discards uploads that are no longer needed.
    pub(super) async fn close(&mut self, is_written: bool) {
        if is_written && !self.again {
            self.uploads.take();
        } else {
            self.uploads.abort().await;
        }
    }

    /// Returns the request for a decider.
    fn asked(&self) -> Finish {
        let mut finish = self.finish.clone();
        if let Some(uploads) = finish.change.uploads_mut() {
            *uploads = self.uploads.list().to_vec();
        }
        finish
    }

    /// Returns the length and digest that the content must have, if there is content.
    fn expected(&self) -> Option<Expected> {
        self.finish.change.draft().map(|draft| Expected {
            size: draft.size,
            blake3: draft.digests.blake3,
        })
    }
}

impl Store {
    /// Finishes an interrupted write of a key and returns the key's newest version.
    pub(super) async fn settle(&self, key: &Key) -> Result<Option<Meta>, StoreError> {
        let finish = Finish {
            key: key.clone(),
            change: Change::Settle,
            write: WriteId::random(),
            seen: None,
            relayed: false,
        };
        let order = Order {
            finish,
            content: Content::None,
            uploads: Uploads::new(self),
            failed: Vec::new(),
            again: false,
        };
        self.finish(order).await
    }

    /// Has a change decided by the key's decider. Waits up to
    /// [`Patience::decide`](super::Patience::decide) for a node that can decide.
    pub(super) async fn finish(&self, mut order: Order) -> Result<Option<Meta>, StoreError> {
        let ended = self.finish_somewhere(&mut order).await;
        order.close(ended.is_ok()).await;
        ended
    }

    pub(super) async fn finish_somewhere(&self, order: &mut Order) -> Result<Option<Meta>, StoreError> {
        let key = order.finish.key.clone();
        let deadline = Instant::now() + self.patience().decide;
        let mut rounds = 0;
        loop {
            let topology = self.cluster().topology();
            let (mut reasons, mut was_changed) = (Vec::new(), false);
            order.finish.relayed = false;
            for node in topology.deciders(key.partition()) {
                let asked = self.ask_decider(&topology, &node, order).await?;
                let error = match asked {
                    Ok(ended) => return Ok(ended),
                    Err(error) => error,
                };
                reasons.push(error.to_string());
                match error {
                    NodeError::Condition { current } => {
                        let key = key.to_string();
                        return Err(StoreError::Condition { key, current });
                    }
                    NodeError::Protected(protection) => {
                        let key = key.to_string();
                        return Err(StoreError::Protected { key, protection });
                    }
                    NodeError::Full(detail) => {
                        let key = key.to_string();
                        return Err(StoreError::Full { key, detail });
                    }
                    NodeError::Unreachable { asked, .. } => order.again |= asked,
                    NodeError::Changed { newest } if !order.again => {
                        order.finish.seen = Some(newest);
                        was_changed = true;
                        break;
                    }
                    NodeError::Changed { .. } => {
                        let detail =
                            "the response of the deciding node was lost, and the object was changed since";
                        return Err(unavailable(&key, detail));
                    }
                    // This node answers but cannot decide: try the next one without waiting.
                    NodeError::Undecided { begun, .. } => {
                        order.finish.relayed = true;
                        order.again |= begun;
                    }
                    NodeError::OtherLayout { .. } => break,
                    NodeError::Superseded { .. } => {
                        order.again = true;
                        break;
                    }
                    error => return Err(unavailable(&key, error)),
                }
            }
            rounds += 1;
            if Instant::now() >= deadline || reasons.is_empty() {
                let none = "the layout has no nodes".to_owned();
                return Err(unavailable(
                    &key,
                    if reasons.is_empty() {
                        none
                    } else {
                        reasons.join("; ")
                    },
                ));
            }
            if !was_changed {
                back_off(rounds).await;
            }
        }
    }

    /// Asks one node, or decides in this process. Content for another node is uploaded first.
    ///
    /// # Errors
    /// The reason why the content could not be uploaded.
    async fn ask_decider(
        &self,
        topology: &Arc<Topology>,
        id: &NodeId,
        order: &mut Order,
    ) -> Result<Result<Option<Meta>, NodeError>, StoreError> {
        if order.again && order.finish.seen.is_none() && !matches!(order.finish.change, Change::Settle) {
            let detail = "a response was lost, and the version before the write is uncertain".to_owned();
            return Ok(Err(NodeError::Unknown(detail)));
        }
        if Some(id) == self.cluster().me() {
            let mut finish = order.asked();
            // A request within the process arrives at once and exactly once, so the version seen
            // matters only for a repeated one.
            finish.seen = finish.seen.filter(|_| order.again);
            return Ok(self.decide(finish, order.content.clone()).await);
        }
        let Some(node) = topology.nodes.get(id) else {
            return Ok(Err(NodeError::Unreachable {
                node: id.clone(),
                detail: "no layout in force contains it".to_owned(),
                asked: false,
            }));
        };
        if let (Some(expected), Content::Whole(_)) = (order.expected(), &order.content)
            && order.uploads.list().is_empty()
        {
            let content = order.content.clone();
            let mut spread = Spread::new(self, &order.finish.key, expected, content, &order.failed);
            spread
                .fill()
                .await
                .map_err(|short| short.refused(&order.finish.key))?;
            order.uploads = Uploads::of(self, spread.uploads().take());
        }
        if order.finish.seen.is_none() && !matches!(order.finish.change, Change::Settle) {
            let settle = Finish {
                change: Change::Settle,
                ..order.finish.clone()
            };
            match node.finish(settle).await {
                Ok(newest) => {
                    order.finish.seen = Some(Seen {
                        version: newest.map(|meta| meta.version),
                    })
                }
                // Whatever the outcome, this change has not begun.
                Err(NodeError::Unreachable { node, detail, .. }) => {
                    let asked = false;
                    return Ok(Err(NodeError::Unreachable { node, detail, asked }));
                }
                Err(error @ (NodeError::Undecided { .. } | NodeError::Superseded { .. })) => {
                    let (detail, begun) = (error.to_string(), false);
                    return Ok(Err(NodeError::Undecided { detail, begun }));
                }
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(node.finish(order.asked()).await)
    }

    /// Decides and finishes a change for [`store_protocol::Node::finish`] of this process's node. If a
    /// node earlier in the order of deciders answers, that node decides.
    ///
    /// # Errors
    /// [`NodeError`] if this node cannot decide or the change is refused.
    pub async fn finish_here(&self, mut finish: Finish) -> Result<Option<Meta>, NodeError> {
        if finish.relayed {
            return self.decide(finish, Content::Passed).await;
        }
        finish.relayed = true;
        let mut was_asked = false;
        let topology = self.cluster().topology();
        for id in topology.deciders(finish.key.partition()) {
            if Some(&id) == self.cluster().me() {
                break;
            }
            let Some(node) = topology.nodes.get(&id) else {
                continue;
            };
            // The sender could not reach that node, but the fault may be the sender's alone.
            if !matches!(timeout(self.patience().probe, node.layouts()).await, Ok(Ok(_))) {
                continue;
            }
            match node.finish(finish.clone()).await {
                // If the change took effect there, the version seen is no longer the newest, which
                // shows below.
                Err(NodeError::Unreachable { asked, .. }) => was_asked |= asked,
                Err(NodeError::Undecided { begun, .. }) => was_asked |= begun,
                ended => return ended,
            }
        }
        match self.decide(finish, Content::Passed).await {
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
    pub(super) async fn decide(&self, finish: Finish, content: Content) -> Result<Option<Meta>, NodeError> {
        let kept = self.kept_copy(&finish.change).await?;
        let deciding = Deciding {
            store: self.clone(),
            finish,
            content,
            kept,
            least: Term::NONE,
            begun: false,
            renewed: false,
        };
        // Runs in a separate task, so that the decision is finished even if the caller goes away.
        let ended = tokio::spawn(async move {
            let store = deciding.store.clone();
            let _ordered = store.locks().lock(&deciding.finish.key).await;
            deciding.run().await
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
    fn kept_copy(&self, change: &Change) -> BoxFuture<'static, Result<Option<Meta>, NodeError>> {
        let kept = match change.condition() {
            Some(Condition::Version { kept, .. }) => kept.clone(),
            _ => None,
        };
        let store = self.reading_as(Reading::Current);
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

impl Deciding {
    async fn run(mut self) -> Result<Option<Meta>, NodeError> {
        for turn in 1..=TURNS {
            match self.turn().await {
                Turn::Done(ended) => {
                    if turn > 1 && ended.is_ok() {
                        self.clear_away().await;
                    }
                    return ended;
                }
                Turn::Again { wait: true } => back_off(turn).await,
                Turn::Again { wait: false } => {}
            }
        }
        Err(NodeError::Superseded { term: self.least })
    }

    /// Discards uploaded content that was not needed, because the decision used copies of it.
    async fn clear_away(&self) {
        if let Change::Put { uploads, .. } | Change::Protect { uploads, .. } = &self.finish.change {
            Uploads::of(&self.store, uploads.clone()).abort().await;
        }
    }

    async fn turn(&mut self) -> Turn {
        let store = self.store.clone();
        let topology = store.cluster().topology();
        let key = self.finish.key.clone();
        let seat = match store.seat(&topology, key.partition(), self.least).await {
            Ok(seat) => seat,
            Err(NodeError::OtherLayout { .. }) => return Turn::Again { wait: false },
            Err(NodeError::Undecided { detail, .. }) => return self.undecided(detail),
            Err(error) => return Turn::Done(Err(error)),
        };
        let look = store.look_under(&topology, &key, Some(&seat)).await;
        if look.other_layout {
            return Turn::Again { wait: false };
        }
        if (look.has_strangers || !look.is_certain()) && !seat.is_alone() && !self.renewed {
            self.renewed = true;
            self.least = seat.term.after();
            return Turn::Again { wait: false };
        }
        if !look.is_certain() {
            return self.undecided(look.doubts());
        }
        if look.latest_term() > seat.term {
            // Versions written in this seat's term would sort before the newest one.
            self.least = if seat.is_alone() {
                look.latest_term()
            } else {
                look.latest_term().after()
            };
            return Turn::Again { wait: false };
        }
        match look.in_doubt().cloned() {
            Some(meta) => self.bring_to_its_end(&topology, &seat, &look, meta).await,
            None => self.settled(&topology, &seat, &look).await,
        }
    }

    /// Prepares a version in doubt again, in this seat's term, and makes it visible.
    async fn bring_to_its_end(
        &mut self,
        topology: &Arc<Topology>,
        seat: &Seat,
        look: &Look,
        meta: Meta,
    ) -> Turn {
        let of_it = look
            .pending
            .iter()
            .filter(|(_, pending)| pending.meta.version == meta.version);
        let prepared: Vec<_> = of_it
            .map(|(volume, pending)| (volume.clone(), pending.upload))
            .collect();
        let content = if meta.deleted {
            Content::None
        } else {
            Content::Prepared(prepared.clone())
        };
        // The number comes from this process's clock, as for all versions of this term. A version
        // that was abandoned in this term and turns up later must sort before later decisions.
        let clock = &self.store.cluster().clock;
        let version = clock.after(Some(meta.version), seat.term);
        let again = Meta { version, ..meta };
        tracing::info!(key = %again.key, version = %again.version, "completing an interrupted write");
        let spread = Spread::of_version(&self.store, topology, &again, content, &look.failed);
        match Write::new(&self.store, again, spread).complete().await {
            Ok(_) => {
                // The earlier preparation is no longer needed.
                Uploads::of(&self.store, prepared)
                    .prepared_as(meta.version)
                    .abort()
                    .await;
                Turn::Again { wait: false }
            }
            Err(short) => self.fell_short(short),
        }
    }

    /// Completes what an earlier decider left unfinished: makes the current version visible where
    /// it is only prepared, and discards older preparations. A failure here is left to the key's
    /// next decider.
    async fn tidy(&self, look: &Look) {
        for (volume, pending) in &look.pending {
            let (upload, version) = (pending.upload, pending.meta.version);
            if Some(version) == look.version() {
                let committing = self.store.ask(volume, |asked| async move {
                    asked.commit(upload, Cause::Write, "").await
                });
                if let Err(error) = committing.await {
                    tracing::debug!(key = %self.finish.key, %volume, %error, "a prepared version could not be made visible");
                }
            } else if Some(version) < look.version() {
                let older = vec![(volume.clone(), upload)];
                Uploads::of(&self.store, older).prepared_as(version).abort().await;
            }
        }
    }

    /// Decides, once the current version is certain.
    async fn settled(&mut self, topology: &Arc<Topology>, seat: &Seat, look: &Look) -> Turn {
        self.tidy(look).await;
        let newest = look.newest.as_ref();
        if let (Some(seen), false) = (self.finish.seen, matches!(self.finish.change, Change::Settle)) {
            if newest.is_some_and(|meta| meta.write == Some(self.finish.write)) {
                return Turn::Done(Ok(newest.cloned()));
            }
            let newest = Seen {
                version: look.version(),
            };
            if seen != newest && self.begun {
                let detail =
                    "another node has decided in the meantime, and the object was changed".to_owned();
                return Turn::Done(Err(NodeError::Unknown(detail)));
            }
            if seen != newest {
                return Turn::Done(Err(NodeError::Changed { newest }));
            }
        }
        let current = newest.filter(|meta| !meta.deleted);
        let (condition, mut draft, uploads, protect) = match self.finish.change.clone() {
            Change::Settle => return Turn::Done(Ok(newest.cloned())),
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
            return Turn::Done(Err(NodeError::Condition { current }));
        }
        if draft.deleted && current.is_none() {
            return Turn::Done(Ok(None));
        }
        // Uses this node's wall clock. The version clock is unsuitable: other nodes move it
        // forward.
        let now_ms = system::wall_ms();
        let is_kept = |current: &&Meta| {
            let copy = self.kept.as_ref();
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
            Err(protection) => return Turn::Done(Err(NodeError::Protected(protection))),
        }
        // From here on other nodes may find a version prepared for this request.
        self.finish.seen = Some(Seen {
            version: look.version(),
        });
        self.begun = true;
        let version = self.store.cluster().clock.after(look.version(), seat.term);
        let mut meta = draft.into_meta(&self.finish.key, version);
        meta.write = (!seat.is_alone()).then_some(self.finish.write);
        let content = if meta.deleted {
            Content::None
        } else {
            self.content.clone()
        };
        let mut spread = Spread::of_version(&self.store, topology, &meta, content, &look.failed);
        if !meta.deleted {
            spread.adopt(&mut Uploads::of(&self.store, uploads));
        }
        let mut write = Write::new(&self.store, meta, spread);
        write.prepare().await;
        match write.complete().await {
            Ok(meta) => Turn::Done(Ok(Some(meta))),
            Err(short) => self.fell_short(short),
        }
    }

    fn undecided(&self, detail: String) -> Turn {
        let begun = self.begun;
        Turn::Done(Err(NodeError::Undecided { detail, begun }))
    }

    fn fell_short(&mut self, short: Short) -> Turn {
        match short {
            Short::Stopped(Stop::OtherLayout) => Turn::Again { wait: false },
            Short::Stopped(Stop::Superseded(term)) => {
                // It may be a later term of this node.
                self.least = term;
                Turn::Again { wait: true }
            }
            Short::Refused(StoreError::Full { detail, .. }) => Turn::Done(Err(NodeError::Full(detail))),
            Short::Refused(error) => Turn::Done(Err(NodeError::Failed(error.to_string()))),
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
