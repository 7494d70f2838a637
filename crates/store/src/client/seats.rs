//! Seats: in which term this process decides for which partitions, and which nodes have promised to
//! respect that term.
//!
//! Why two nodes never decide at once: a version is chosen when it is prepared on volumes that are
//! safe ([`Topology::is_safe`]), and a node prepares no version in a term earlier than it has
//! promised. A **seat** is a term promised by so many nodes that every safe set of volumes includes
//! a volume of one of them ([`Topology::is_heard`]). So once another node has a seat of a later
//! term, nothing more of ours is chosen. Whatever was chosen before is on a node that has promised,
//! where the other decider finds it ([`super::decide`]).
//!
//! A seat is claimed when a request needs it, for all partitions for which this node is the first
//! that answers, so that a node that starts or takes over asks once. There is no election and no
//! clock. A process never reuses the seats of an earlier process: it claims later ones.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use store_protocol::{NodeId, Partition, Term};
use tokio::time::sleep;

use crate::cluster::Topology;

/// The right to decide for a partition.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    /// The term of the seat.
    pub(super) term: Term,
    /// The nodes that have promised it; `None` if there are no other nodes.
    pub(super) promised: Option<Arc<BTreeSet<NodeId>>>,
}

/// All seats of a process.
#[derive(Default)]
pub(super) struct Seats {
    pub(super) held: Mutex<HashMap<Partition, Seat>>,
    /// Held during a claim, because one claim may cover partitions that other requests want too.
    pub(super) claiming: tokio::sync::Mutex<()>,
}

impl Seat {
    /// Returns whether a node's answers count, because it has promised the term.
    pub(super) fn counts(&self, node: Option<&NodeId>) -> bool {
        match &self.promised {
            None => true,
            Some(promised) => node.is_some_and(|node| promised.contains(node)),
        }
    }

    /// Returns whether there are no other nodes to compete with.
    pub(super) fn is_alone(&self) -> bool {
        self.promised.is_none()
    }
}

impl Seats {
    pub(super) fn sufficient(&self, topology: &Topology, partition: Partition, least: Term) -> Option<Seat> {
        let seat = self.held.lock().get(&partition).cloned()?;
        let promised = seat.promised.as_ref()?;
        (seat.term >= least && covers(topology, partition, promised)).then_some(seat)
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
    topology.is_heard(partition, &others.cloned().collect())
}
