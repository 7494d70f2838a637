//! Claims a term by asking the other nodes to promise it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use store_protocol::{Claim, NodeError, NodeId, PARTITIONS, Partition, Term};
use tokio::time::{Instant, timeout_at};

use super::promised_terms::{PromisedTerm, back_off, covers};
use super::store::Store;
use crate::cluster::Topology;

/// How often a claim is retried because another node's term was later. Two nodes that claim at the
/// same moment are usually separated by one or two random waits; a node that keeps losing leaves
/// the partition to the others.
const CLAIM_TRIES: u32 = 6;

/// The nodes' answers to a claim.
struct Answers {
    /// Per node that answered: the claims that it refused, because it has promised a later term to
    /// another node.
    refused: BTreeMap<NodeId, Vec<Claim>>,
    failures: Vec<String>,
    /// Set if a node knows another layout.
    other_layout: Option<NodeError>,
}

impl Store {
    /// Returns the promised term of a partition, `term_min` or later: the one held, or a newly
    /// claimed one.
    ///
    /// # Errors
    /// `Undecided` if too few nodes answer, `Superseded` if another node holds a later term,
    /// `OtherLayout` if a node knows another layout.
    pub(super) async fn promised_term(
        &self,
        topology: &Arc<Topology>,
        partition: Partition,
        term_min: Term,
    ) -> Result<PromisedTerm, NodeError> {
        let me = self.cluster().me();
        let me =
            me.ok_or_else(|| NodeError::Failed("this process is not a node and cannot decide".to_owned()))?;
        if topology.nodes.keys().all(|node| node == me) {
            return Ok(PromisedTerm {
                term: term_min,
                nodes: None,
            });
        }
        if let Some(promised) = self.promised_terms().sufficient(topology, partition, term_min) {
            return Ok(promised);
        }
        let _one = self.promised_terms().claiming.lock().await;
        if let Some(promised) = self.promised_terms().sufficient(topology, partition, term_min) {
            return Ok(promised);
        }
        self.claim(topology, me, partition, term_min).await
    }

    async fn claim(
        &self,
        topology: &Arc<Topology>,
        me: &NodeId,
        partition: Partition,
        term_min: Term,
    ) -> Result<PromisedTerm, NodeError> {
        let batch = self.batch(topology, me, partition);
        let mut latest = term_min;
        let mut tries = 0;
        loop {
            let term = self.cluster().clock.term(latest.number().saturating_add(1));
            let claims = batch.iter().map(|partition| Claim {
                partition: *partition,
                term,
            });
            let claims: Vec<_> = claims.collect();
            // This node promises first, durably, so that no later process of this node claims the
            // same term.
            let own = self.own_promise(topology, me, &claims).await?;
            if let Some(later) = own.iter().map(|claim| claim.term).max() {
                latest = later;
                continue;
            }
            let answers = self.ask_promises(topology, me, partition, &claims).await;
            if let Some(error) = answers.other_layout {
                return Err(error);
            }
            if covers(topology, partition, &answers.promised(partition)) {
                return Ok(self.record_promises(term, &batch, &answers, partition));
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

    /// Returns the partitions to claim together with this one. A partition is included if every
    /// node before this one in its order of deciders also comes before this one for `partition`,
    /// because those nodes do not answer. Partitions that have a promised term are left out,
    /// unless it is the one to be replaced.
    fn batch(&self, topology: &Topology, me: &NodeId, partition: Partition) -> Vec<Partition> {
        let before = |partition| {
            topology
                .deciders(partition)
                .into_iter()
                .take_while(|node| node != me)
        };
        let gone: BTreeSet<_> = before(partition).collect();
        let held = self.promised_terms().held.lock();
        let replaced = held.get(&partition).and_then(|promised| promised.nodes.clone());
        let is_free = |other: &Partition| match held.get(other).and_then(|promised| promised.nodes.as_ref()) {
            None => true,
            Some(promised) => replaced
                .as_ref()
                .is_some_and(|replaced| Arc::ptr_eq(promised, replaced)),
        };
        let is_next = |other: Partition| match topology.home(other).first() {
            Some(first) if topology.domains.node(first) == Some(me) => true,
            _ => !gone.is_empty() && before(other).all(|node| gone.contains(&node)),
        };
        let all = (0..PARTITIONS).map(Partition);
        all.filter(|other| *other == partition || (is_free(other) && is_next(*other)))
            .collect()
    }

    async fn own_promise(
        &self,
        topology: &Topology,
        me: &NodeId,
        claims: &[Claim],
    ) -> Result<Vec<Claim>, NodeError> {
        match topology.nodes.get(me) {
            Some(node) => node.promise(claims).await,
            None => Err(NodeError::Failed(format!(
                "no layout in force contains node {me}"
            ))),
        }
    }

    /// Asks all other nodes. Once enough have promised, waits only a little longer for the rest.
    async fn ask_promises(
        &self,
        topology: &Arc<Topology>,
        me: &NodeId,
        partition: Partition,
        claims: &[Claim],
    ) -> Answers {
        let others = topology.nodes.iter().filter(|(node, _)| *node != me);
        let mut waiting: FuturesUnordered<_> = others
            .map(|(id, node)| async move { (id.clone(), node.promise(claims).await) })
            .collect();
        let mut answers = Answers {
            refused: [(me.clone(), Vec::new())].into(),
            failures: Vec::new(),
            other_layout: None,
        };
        let mut deadline = Instant::now() + self.timeouts().answer;
        let mut late: BTreeSet<_> = topology
            .nodes
            .keys()
            .filter(|node| *node != me)
            .cloned()
            .collect();
        while let Ok(Some((node, answer))) = timeout_at(deadline, waiting.next()).await {
            late.remove(&node);
            match answer {
                Ok(refused) => drop(answers.refused.insert(node, refused)),
                Err(error @ NodeError::OtherLayout { .. }) => answers.other_layout = Some(error),
                Err(error) => answers.failures.push(error.to_string()),
            }
            if covers(topology, partition, &answers.promised(partition)) {
                deadline = deadline.min(Instant::now() + self.timeouts().hedge);
            }
        }
        let silent = late
            .iter()
            .map(|node| format!("node {node} has not answered yet"));
        answers.failures.extend(silent);
        answers
    }

    fn record_promises(
        &self,
        term: Term,
        batch: &[Partition],
        answers: &Answers,
        partition: Partition,
    ) -> PromisedTerm {
        let promised_term = |partition| PromisedTerm {
            term,
            nodes: Some(Arc::new(answers.promised(partition))),
        };
        let mut held = self.promised_terms().held.lock();
        // Usually no node refuses anything, and all partitions share one list.
        let common = promised_term(partition);
        let all_agree = answers.refused.values().all(Vec::is_empty);
        for other in batch {
            held.insert(
                *other,
                if all_agree {
                    common.clone()
                } else {
                    promised_term(*other)
                },
            );
        }
        tracing::debug!(%term, partitions = batch.len(), "became the decider of partitions");
        common
    }
}

impl Answers {
    /// Returns the nodes that have promised for a partition.
    fn promised(&self, partition: Partition) -> BTreeSet<NodeId> {
        let refuses = |refused: &Vec<Claim>| refused.iter().any(|claim| claim.partition == partition);
        let nodes = self.refused.iter().filter(|(_, refused)| !refuses(refused));
        nodes.map(|(node, _)| node.clone()).collect()
    }

    fn latest_refused(&self) -> Option<Term> {
        self.refused.values().flatten().map(|claim| claim.term).max()
    }
}
