//! Promised terms: in which term this process decides for which partitions, and which nodes have
//! promised to respect that term.
//!
//! Why two nodes never decide at once: a version is chosen when it is prepared on volumes that are
//! safe ([`Topology::is_safe`]), and a node prepares no version in a term earlier than it has
//! promised. A **promised term** is one promised by so many nodes that every safe set of volumes
//! includes a volume of one of them ([`Topology::is_visible_without`]). So once another node has a
//! later promised term, nothing more of ours is chosen. Whatever was chosen before is on a node
//! that has promised, where the other decider finds it ([`super::decide`]).
//!
//! A term is claimed when a request needs it, for all partitions for which this node is the first
//! that answers, so that a node that starts or takes over asks once. There is no election and no
//! clock. A process never reuses the terms of an earlier process: it claims later ones.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use store_protocol::{NodeId, Partition, Term};
use tokio::time::sleep;

use crate::cluster::Topology;

/// The right to decide for a partition.
#[derive(Debug, Clone)]
pub(super) struct PromisedTerm {
    /// The term.
    pub(super) term: Term,
    /// The nodes that have promised it; `None` if there are no other nodes.
    pub(super) nodes: Option<Arc<BTreeSet<NodeId>>>,
}

/// The promised terms of a process.
#[derive(Default)]
pub(super) struct PromisedTerms {
    pub(super) held: Mutex<HashMap<Partition, PromisedTerm>>,
    /// Held during a claim, because one claim may cover partitions that other requests want too.
    pub(super) claiming: tokio::sync::Mutex<()>,
}

impl PromisedTerm {
    /// Returns whether a node's answers count, because it has promised the term.
    pub(super) fn counts(&self, node: Option<&NodeId>) -> bool {
        match &self.nodes {
            None => true,
            Some(promised) => node.is_some_and(|node| promised.contains(node)),
        }
    }

    /// Returns whether there are no other nodes to compete with.
    pub(super) fn is_only_node(&self) -> bool {
        self.nodes.is_none()
    }
}

impl PromisedTerms {
    pub(super) fn sufficient(
        &self,
        topology: &Topology,
        partition: Partition,
        term_min: Term,
    ) -> Option<PromisedTerm> {
        let promised = self.held.lock().get(&partition).cloned()?;
        let nodes = promised.nodes.as_ref()?;
        (promised.term >= term_min && covers(topology, partition, nodes)).then_some(promised)
    }
}

/// Sleeps for a random time that grows with each try, so that two deciders that supersede each
/// other do not collide again and again.
pub(super) async fn back_off(tries: u32) {
    let most = 20_u64.saturating_mul(u64::from(tries.clamp(1, 10)));
    sleep(Duration::from_millis(system::random_range(most / 2..=most))).await;
}

/// Returns whether every safe set of volumes includes a volume of one of these nodes.
pub(super) fn covers(topology: &Topology, partition: Partition, nodes: &BTreeSet<NodeId>) -> bool {
    let is_theirs = |node: Option<&NodeId>| node.is_some_and(|node| nodes.contains(node));
    let others = topology
        .volumes
        .keys()
        .filter(|volume| !is_theirs(topology.domains.node(volume)));
    topology.is_visible_without(partition, &others.cloned().collect())
}
