//! Deciding: every write of a key - plain, conditional, deletion, completion, copy - is decided in one place, one after
//! the other.
//!
//! The place is the first node of [`View::deciders`](crate::cluster::View::deciders) that answers. Under the key's lock
//! and in its seat's term ([`super::seats`]) it looks at the key on nodes that have promised the term, compares the
//! condition, has the version prepared on safe volumes - from then on it is **chosen** - and makes it visible on them.
//! Only then it answers.
//!
//! Why this is safe whoever dies, stands still or is cut off, and whatever clocks say:
//!  - A version is visible only if it was chosen; a chosen one lies on a node of every look, prepared or visible, and what
//!    is prepared is not given up by crashes. So a look sees the newest chosen version, or something later.
//!  - What a look finds prepared above everything visible is in doubt: chosen or not, visible where nobody was heard or
//!    not. It is prepared anew in the term of who looks, and made visible, before anything is decided or read. So it comes
//!    about before whatever is decided next, or never: versions order by their terms first.
//!  - Two deciders: the nodes that have promised the later term take nothing of the earlier one any more, so the earlier
//!    decider chooses nothing after the later one has looked; it finds out and leaves what it had prepared to be found.
//!  - A request names its write and the newest version that the asker knows of. If the newest version is of that write, it
//!    has happened; if it is neither that nor the one seen, nothing is done: so a request that arrives late or twice does
//!    nothing. When an answer was lost and the newest version is neither, nobody knows, and the client is told so.
//!  - A decision is made under one layout, from its look to the last preparation: volumes refuse what is asked under
//!    another, and a look under a newer one reaches a node of every safe set under the older.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use contract::{Cause, Change, Draft, Finish, Key, Meta, NodeError, NodeId, Seen, Term, VolumeId, WriteId};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep, timeout};

use super::current::Look;
use super::digest::digest_now;
use super::seats::Seat;
use super::spread::{Content, Expected, Short, Spread, Stop};
use super::stages::Stages;
use super::write::{Write, unavailable};
use super::{Store, StoreError};
use crate::cluster::View;

/// Locks for all keys; keys that share one wait for each other needlessly, no more.
const LOCKS: usize = 1024;

/// How often one decision is begun anew: for a write in doubt, a lost seat, a layout, each of them once or twice.
const TURNS: u32 = 12;

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

/// A change of a key, with what it takes to ask for it.
pub(super) struct Order {
    finish: Finish,
    content: Content,
    /// The content, staged.
    staged: Stages,
    /// Volumes that did not answer when the key was looked up.
    failed: Vec<VolumeId>,
    /// It was asked for, and nobody knows what became of it.
    again: bool,
}

/// A decision on its way at the decider.
struct Deciding {
    store: Store,
    finish: Finish,
    content: Content,
    /// The seat must be of this term or a later one.
    least: Term,
    /// Something of it may have been prepared: from now on others may have brought it to its end.
    begun: bool,
    /// The seat was claimed anew because nodes answered that had not promised, or too few that had.
    renewed: bool,
}

/// How a turn at a decision ends.
enum Turn {
    Done(Result<Option<Meta>, NodeError>),
    /// Once more, at once or after a while.
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
            staged: Stages::new(store),
            failed: look.failed.clone(),
            again: false,
        }
    }

    /// The same, of content that lies staged.
    pub(super) fn staged(mut self, stages: &mut Stages) -> Self {
        for (volume, stage) in stages.take() {
            self.staged.push(volume, stage);
        }
        self
    }

    /// What is asked of a decider.
    fn asked(&self) -> Finish {
        let mut finish = self.finish.clone();
        if let Change::Put { stages, .. } = &mut finish.change {
            *stages = self.staged.list().to_vec();
        }
        finish
    }

    /// What content must prove to be, if there is any.
    fn expected(&self) -> Option<Expected> {
        match &self.finish.change {
            Change::Put { draft, .. } => Some(Expected {
                size: draft.size,
                blake3: draft.digests.blake3,
            }),
            Change::Delete { .. } | Change::Settle => None,
        }
    }
}

/// A pause by chance, longer each time: two that take each other's turn must not meet again and again.
pub(super) async fn back_off(tries: u32) {
    let most = 20_u64.saturating_mul(u64::from(tries.clamp(1, 10)));
    sleep(Duration::from_millis(rand::random_range(most / 2..=most))).await;
}

impl Store {
    /// Has a key's write that was broken off brought to its end, and answers its newest version.
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
            staged: Stages::new(self),
            failed: Vec::new(),
            again: false,
        };
        self.finish(order).await
    }

    /// Has a change decided, by whoever decides for the key. Waits some seconds for somebody who can.
    pub(super) async fn finish(&self, mut order: Order) -> Result<Option<Meta>, StoreError> {
        let ended = self.finish_somewhere(&mut order).await;
        if ended.is_ok() && !order.again {
            order.staged.take();
        } else {
            order.staged.abort().await;
        }
        ended
    }

    async fn finish_somewhere(&self, order: &mut Order) -> Result<Option<Meta>, StoreError> {
        let key = order.finish.key.clone();
        let deadline = Instant::now() + self.patience().decide;
        let mut rounds = 0;
        loop {
            let view = self.cluster().view();
            let (mut reasons, mut was_changed) = (Vec::new(), false);
            order.finish.relayed = false;
            for node in view.deciders(key.partition()) {
                let asked = self.ask_decider(&view, &node, order).await?;
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
                        let detail = "the answer of who decided was lost, and the object was written since";
                        return Err(unavailable(&key, detail));
                    }
                    // It answers, but cannot decide: the next one need not wait for it.
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

    /// Asks one node; this one directly. What another one is to make visible must lie staged.
    ///
    /// # Errors
    /// Why the content could not be staged.
    async fn ask_decider(
        &self,
        view: &Arc<View>,
        id: &NodeId,
        order: &mut Order,
    ) -> Result<Result<Option<Meta>, NodeError>, StoreError> {
        if order.again && order.finish.seen.is_none() && !matches!(order.finish.change, Change::Settle) {
            let detail = "an answer was lost, and what there was before was not certain".to_owned();
            return Ok(Err(NodeError::Unknown(detail)));
        }
        if Some(id) == self.cluster().me() {
            let mut finish = order.asked();
            // A question within the process arrives at once and once.
            finish.seen = finish.seen.filter(|_| order.again);
            return Ok(self.decide(finish, order.content.clone()).await);
        }
        let Some(node) = view.nodes.get(id) else {
            return Ok(Err(NodeError::Unreachable {
                node: id.clone(),
                detail: "no layout in force names it".to_owned(),
                asked: false,
            }));
        };
        if let (Some(expected), Content::Whole(_)) = (order.expected(), &order.content)
            && order.staged.list().is_empty()
        {
            let content = order.content.clone();
            let mut spread = Spread::new(self, &order.finish.key, expected, content, &order.failed);
            spread
                .fill()
                .await
                .map_err(|short| short.refused(&order.finish.key))?;
            order.staged = Stages::of(self, spread.stages().take());
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
                // Whatever became of that: nothing of this change has begun.
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

    /// Decides here, or at a node whose turn comes before this one's if it answers.
    pub(super) async fn decide_or_relay(&self, mut finish: Finish) -> Result<Option<Meta>, NodeError> {
        if finish.relayed {
            return self.decide(finish, Content::Passed).await;
        }
        finish.relayed = true;
        let mut was_asked = false;
        let view = self.cluster().view();
        for id in view.deciders(finish.key.partition()) {
            if Some(&id) == self.cluster().me() {
                break;
            }
            let Some(node) = view.nodes.get(&id) else { continue };
            // Who asked us did not reach it; that may be their trouble alone.
            if !matches!(timeout(self.patience().probe, node.layouts()).await, Ok(Ok(_))) {
                continue;
            }
            match node.finish(finish.clone()).await {
                // If it has happened there, that shows: the version seen is not the newest any more.
                Err(NodeError::Unreachable { asked, .. }) => was_asked |= asked,
                Err(NodeError::Undecided { begun, .. }) => was_asked |= begun,
                ended => return ended,
            }
        }
        match self.decide(finish, Content::Passed).await {
            Err(NodeError::Changed { .. }) if was_asked => {
                let detail =
                    "the answer of who decided was lost, and the object was written since".to_owned();
                Err(NodeError::Unknown(detail))
            }
            Err(NodeError::Undecided { detail, begun }) => {
                let begun = begun || was_asked;
                Err(NodeError::Undecided { detail, begun })
            }
            ended => ended,
        }
    }

    /// Decides here.
    pub(super) async fn decide(&self, finish: Finish, content: Content) -> Result<Option<Meta>, NodeError> {
        let deciding = Deciding {
            store: self.clone(),
            finish,
            content,
            least: Term::NONE,
            begun: false,
            renewed: false,
        };
        // To its end, even if whoever asked has gone.
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

    /// Gives up content that was staged for a decision which was then made with copies of it.
    async fn clear_away(&self) {
        if let Change::Put { stages, .. } = &self.finish.change {
            Stages::of(&self.store, stages.clone()).abort().await;
        }
    }

    async fn turn(&mut self) -> Turn {
        let store = self.store.clone();
        let view = store.cluster().view();
        let key = self.finish.key.clone();
        let seat = match store.seat(&view, key.partition(), self.least).await {
            Ok(seat) => seat,
            Err(NodeError::OtherLayout { .. }) => return Turn::Again { wait: false },
            Err(NodeError::Undecided { detail, .. }) => return self.undecided(detail),
            Err(error) => return Turn::Done(Err(error)),
        };
        let look = store.look_under(&view, &key, Some(&seat)).await;
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
            // Versions of this seat would be earlier than what is there.
            self.least = if seat.is_alone() {
                look.latest_term()
            } else {
                look.latest_term().after()
            };
            return Turn::Again { wait: false };
        }
        match look.in_doubt().cloned() {
            Some(meta) => self.bring_to_its_end(&view, &seat, &look, meta).await,
            None => self.settled(&view, &seat, &look).await,
        }
    }

    /// Prepares a version in doubt anew, in this seat's term, and makes it visible.
    async fn bring_to_its_end(&mut self, view: &Arc<View>, seat: &Seat, look: &Look, meta: Meta) -> Turn {
        let of_it = look
            .pending
            .iter()
            .filter(|(_, pending)| pending.meta.version == meta.version);
        let prepared: Vec<_> = of_it
            .map(|(volume, pending)| (volume.clone(), pending.stage))
            .collect();
        let content = if meta.deleted {
            Content::None
        } else {
            Content::Prepared(prepared.clone())
        };
        // With a number of this process's own clock, as all of this term have: one that was given up in this term, and
        // still turns up somewhere, must be earlier than what is decided after it.
        let clock = &self.store.cluster().clock;
        let version = clock.after(Some(meta.version), seat.term);
        let again = Meta { version, ..meta };
        tracing::info!(key = %again.key, version = %again.version, "a write that was broken off is brought to its end");
        let spread = Spread::of_version(&self.store, view, &again, content, &look.failed);
        match Write::new(&self.store, again, spread).complete().await {
            Ok(_) => {
                // What it was prepared as before is not needed by anybody any more.
                Stages::of(&self.store, prepared)
                    .prepared_as(meta.version)
                    .abort()
                    .await;
                Turn::Again { wait: false }
            }
            Err(short) => self.fell_short(short),
        }
    }

    /// Brings to its end what an earlier decider left half done of the version that is current: where it lies prepared it
    /// becomes visible, and what is older and prepared is given up. Whoever fails has it tried again by the next one.
    async fn tidy(&self, look: &Look) {
        for (volume, pending) in &look.pending {
            let (stage, version) = (pending.stage, pending.meta.version);
            if Some(version) == look.version() {
                let committing = self.store.ask(volume, |asked| async move {
                    asked.commit(stage, Cause::Write, "").await
                });
                if let Err(error) = committing.await {
                    tracing::debug!(key = %self.finish.key, %volume, %error, "a version stays prepared");
                }
            } else if Some(version) < look.version() {
                let older = vec![(volume.clone(), stage)];
                Stages::of(&self.store, older).prepared_as(version).abort().await;
            }
        }
    }

    /// Decides on what is beyond doubt the current version.
    async fn settled(&mut self, view: &Arc<View>, seat: &Seat, look: &Look) -> Turn {
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
                    "another node has decided meanwhile, and the object was written since".to_owned();
                return Turn::Done(Err(NodeError::Unknown(detail)));
            }
            if seen != newest {
                return Turn::Done(Err(NodeError::Changed { newest }));
            }
        }
        let current = newest.filter(|meta| !meta.deleted);
        let (condition, draft, stages) = match self.finish.change.clone() {
            Change::Settle => return Turn::Done(Ok(newest.cloned())),
            Change::Delete { condition } => (condition, tombstone(), Vec::new()),
            Change::Put {
                condition,
                draft,
                stages,
            } => (condition, *draft, stages),
        };
        if !condition.holds(current) {
            let current = current.map(|meta| meta.etag.clone());
            return Turn::Done(Err(NodeError::Condition { current }));
        }
        if draft.deleted && current.is_none() {
            return Turn::Done(Ok(None));
        }
        // From here on something of this request may be found by whoever looks.
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
        let mut spread = Spread::of_version(&self.store, view, &meta, content, &look.failed);
        if !meta.deleted {
            spread.adopt(&mut Stages::of(&self.store, stages));
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
                // It may be this node's own later turn.
                self.least = term;
                Turn::Again { wait: true }
            }
            Short::Refused(StoreError::Full { detail, .. }) => Turn::Done(Err(NodeError::Full(detail))),
            Short::Refused(error) => Turn::Done(Err(NodeError::Failed(error.to_string()))),
        }
    }
}

/// What a deletion writes.
fn tombstone() -> Draft {
    Draft {
        deleted: true,
        size: 0,
        etag: String::new(),
        attributes: BTreeMap::new(),
        digests: digest_now(&[]),
    }
}
