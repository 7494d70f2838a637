//! Turns: in which term this process decides for which partitions, and which nodes have promised to keep to it.
//!
//! Why never two decide at once. A version counts as chosen when it lies prepared on volumes that are safe
//! ([`View::is_safe`]), and a node prepares nothing of an earlier term than it has promised. A **seat** is a term that so
//! many nodes have promised that every safe set of volumes has one of theirs ([`View::is_heard`]). So from the moment
//! that somebody else has a seat of a later term, nothing more of ours is chosen; and what was chosen before lies on a
//! node that has promised, where the other one finds it ([`super::decide`]).
//!
//! A seat is claimed when it is needed: by the node whose turn it is when a request comes, for all partitions that it is
//! the first to answer for, so that a node that begins or takes over asks once. Nobody holds an election, and no clock
//! is looked at. A process never goes on with the seats of one before: it claims later ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use contract::{Claim, NodeError, NodeId, PARTITIONS, Partition, Term};
use futures_util::stream::{FuturesUnordered, StreamExt};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use super::Store;
use super::decide::back_off;
use crate::cluster::View;

/// How often a claim is made again because somebody else's was later.
const CLAIM_TRIES: u32 = 6;

/// The right to decide for a partition.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    /// The turn.
    pub(super) term: Term,
    /// Who has promised it; `None` where there are no others.
    promised: Option<Arc<BTreeSet<NodeId>>>,
}

/// All seats of a process.
#[derive(Default)]
pub(super) struct Seats {
    held: Mutex<HashMap<Partition, Seat>>,
    /// Held while one is claimed: others may be claimed along with it.
    claiming: tokio::sync::Mutex<()>,
}

/// What nodes answered to a claim.
struct Answers {
    /// What each node that answered has promised otherwise.
    refused: BTreeMap<NodeId, Vec<Claim>>,
    failures: Vec<String>,
    /// Somebody knows another layout.
    other_layout: Option<NodeError>,
}

impl Seat {
    /// Whether a node's answers count: it has promised.
    pub(super) fn counts(&self, node: Option<&NodeId>) -> bool {
        match &self.promised {
            None => true,
            Some(promised) => node.is_some_and(|node| promised.contains(node)),
        }
    }

    /// There is nobody to take turns with.
    pub(super) fn is_alone(&self) -> bool {
        self.promised.is_none()
    }
}

impl Seats {
    fn sufficient(&self, view: &View, partition: Partition, least: Term) -> Option<Seat> {
        let seat = self.held.lock().get(&partition).cloned()?;
        let promised = seat.promised.as_ref()?;
        (seat.term >= least && covers(view, partition, promised)).then_some(seat)
    }
}

impl Store {
    /// The seat of a partition, of this term or a later one: as it is held, or claimed.
    ///
    /// # Errors
    /// `Undecided` when too few nodes answer, `Superseded`, `OtherLayout`.
    pub(super) async fn seat(
        &self,
        view: &Arc<View>,
        partition: Partition,
        least: Term,
    ) -> Result<Seat, NodeError> {
        let me = self.cluster().me();
        let me =
            me.ok_or_else(|| NodeError::Failed("this process is no node: it decides nothing".to_owned()))?;
        if view.nodes.keys().all(|node| node == me) {
            return Ok(Seat {
                term: least,
                promised: None,
            });
        }
        if let Some(seat) = self.seats().sufficient(view, partition, least) {
            return Ok(seat);
        }
        let _one = self.seats().claiming.lock().await;
        if let Some(seat) = self.seats().sufficient(view, partition, least) {
            return Ok(seat);
        }
        self.claim(view, me, partition, least).await
    }

    async fn claim(
        &self,
        view: &Arc<View>,
        me: &NodeId,
        partition: Partition,
        least: Term,
    ) -> Result<Seat, NodeError> {
        let batch = self.batch(view, me, partition);
        let mut latest = least;
        let mut tries = 0;
        loop {
            let term = self.cluster().clock.term(latest.number().saturating_add(1));
            let claims = batch.iter().map(|partition| Claim {
                partition: *partition,
                term,
            });
            let claims: Vec<_> = claims.collect();
            // First, and durably, by this node itself: so no later process of it claims the same term.
            let own = self.own_promise(view, me, &claims).await?;
            if let Some(later) = own.iter().map(|claim| claim.term).max() {
                latest = later;
                continue;
            }
            let answers = self.ask_promises(view, me, partition, &claims).await;
            if let Some(error) = answers.other_layout {
                return Err(error);
            }
            if covers(view, partition, &answers.promised(partition)) {
                return Ok(self.take_seats(term, &batch, &answers, partition));
            }
            match answers.latest_refused() {
                Some(later) if tries < CLAIM_TRIES => latest = later,
                Some(later) => return Err(NodeError::Superseded { term: later }),
                None => {
                    let detail = answers.failures.join("; ");
                    let begun = false;
                    return Err(NodeError::Undecided { detail, begun });
                }
            }
            tries += 1;
            back_off(tries).await;
        }
    }

    /// The partitions to be claimed with this one: those that nobody answers for before this node but those who do
    /// not answer for this one either, unless a seat of them is held that is no part of the one to be replaced.
    fn batch(&self, view: &View, me: &NodeId, partition: Partition) -> Vec<Partition> {
        let before = |partition| view.deciders(partition).into_iter().take_while(|node| node != me);
        let gone: BTreeSet<_> = before(partition).collect();
        let held = self.seats().held.lock();
        let replaced = held.get(&partition).and_then(|seat| seat.promised.clone());
        let is_free = |other: &Partition| match held.get(other).and_then(|seat| seat.promised.as_ref()) {
            None => true,
            Some(promised) => replaced
                .as_ref()
                .is_some_and(|replaced| Arc::ptr_eq(promised, replaced)),
        };
        let is_next = |other: Partition| match view.home(other).first() {
            Some(first) if view.domains.node(first) == Some(me) => true,
            _ => !gone.is_empty() && before(other).all(|node| gone.contains(&node)),
        };
        let all = (0..PARTITIONS).map(Partition);
        all.filter(|other| *other == partition || (is_free(other) && is_next(*other)))
            .collect()
    }

    async fn own_promise(&self, view: &View, me: &NodeId, claims: &[Claim]) -> Result<Vec<Claim>, NodeError> {
        match view.nodes.get(me) {
            Some(node) => node.promise(claims).await,
            None => Err(NodeError::Failed(format!("no layout in force names node {me}"))),
        }
    }

    /// Asks all others. Once enough have promised, the rest is waited for only a little longer.
    async fn ask_promises(
        &self,
        view: &Arc<View>,
        me: &NodeId,
        partition: Partition,
        claims: &[Claim],
    ) -> Answers {
        let others = view.nodes.iter().filter(|(node, _)| *node != me);
        let mut waiting: FuturesUnordered<_> = others
            .map(|(id, node)| async move { (id.clone(), node.promise(claims).await) })
            .collect();
        let mut answers = Answers {
            refused: [(me.clone(), Vec::new())].into(),
            failures: Vec::new(),
            other_layout: None,
        };
        let mut deadline = Instant::now() + self.patience().answer;
        let mut late: BTreeSet<_> = view.nodes.keys().filter(|node| *node != me).cloned().collect();
        while let Ok(Some((node, answer))) = timeout_at(deadline, waiting.next()).await {
            late.remove(&node);
            match answer {
                Ok(refused) => drop(answers.refused.insert(node, refused)),
                Err(error @ NodeError::OtherLayout { .. }) => answers.other_layout = Some(error),
                Err(error) => answers.failures.push(error.to_string()),
            }
            if covers(view, partition, &answers.promised(partition)) {
                deadline = deadline.min(Instant::now() + self.patience().hedge);
            }
        }
        let silent = late
            .iter()
            .map(|node| format!("node {node} has not answered yet"));
        answers.failures.extend(silent);
        answers
    }

    fn take_seats(&self, term: Term, batch: &[Partition], answers: &Answers, partition: Partition) -> Seat {
        let seat = |partition| Seat {
            term,
            promised: Some(Arc::new(answers.promised(partition))),
        };
        let mut held = self.seats().held.lock();
        // Most often nobody refuses anything: then all have the same list.
        let common = seat(partition);
        let all_agree = answers.refused.values().all(Vec::is_empty);
        for other in batch {
            held.insert(*other, if all_agree { common.clone() } else { seat(*other) });
        }
        tracing::debug!(%term, partitions = batch.len(), "took a turn at deciding");
        common
    }
}

impl Answers {
    /// The nodes that have promised for a partition.
    fn promised(&self, partition: Partition) -> BTreeSet<NodeId> {
        let refuses = |refused: &Vec<Claim>| refused.iter().any(|claim| claim.partition == partition);
        let nodes = self.refused.iter().filter(|(_, refused)| !refuses(refused));
        nodes.map(|(node, _)| node.clone()).collect()
    }

    fn latest_refused(&self) -> Option<Term> {
        self.refused.values().flatten().map(|claim| claim.term).max()
    }
}

/// Whether every safe set of volumes has one of these nodes'.
fn covers(view: &View, partition: Partition, nodes: &BTreeSet<NodeId>) -> bool {
    let is_theirs = |node: Option<&NodeId>| node.is_some_and(|node| nodes.contains(node));
    let others = view
        .volumes
        .keys()
        .filter(|volume| !is_theirs(view.domains.node(volume)));
    view.is_heard(partition, &others.cloned().collect())
}
