//! The end of a layout change: once everything has moved, the older layouts are no longer in force.
//!
//! This requires, under one and the same current layout:
//!  - every one of its nodes knew it before the pass began, so that no node still writes by an
//!    older one;
//!  - every one of its volumes answered for every partition, and every object has its R good
//!    replicas at home;
//!  - objects that could not be moved (lost or in conflict) have nothing left on a volume that is
//!    leaving;
//!  - at least one of the volumes that held a partition by an older layout answered. A disk that
//!    died and was taken out of the layout never answers again; its data was also on another
//!    volume.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use placement::Layouts;
use store_protocol::{PARTITIONS, Partition, VolumeId};

use super::reconcile::ReconcileResult;
use crate::cluster::{Cluster, Topology, announce};

/// How long a node may take to say which layout it knows. A late one is asked again in the next
/// pass, and older layouts stay in force until then. Longer only delays the pass.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// A pass that checks whether everything has moved.
#[derive(Debug)]
pub(super) struct MoveCheck {
    /// The current layout's number when the pass began. `None` if no older layout is in force, or
    /// if not all nodes know the current one.
    number: Option<u64>,
    partitions: u64,
}

impl MoveCheck {
    /// Asks all nodes which layout they know.
    pub(super) async fn begin(topology: &Topology) -> Self {
        let number = topology.layouts.current.number;
        let pending = !topology.layouts.older.is_empty() && all_nodes_have_adopted(topology).await;
        Self {
            number: pending.then_some(number),
            partitions: 0,
        }
    }

    /// Returns whether the pass can still succeed.
    pub(super) fn can_succeed(&self) -> bool {
        self.number.is_some()
    }

    /// Adds the result of a partition that was looked at after [`MoveCheck::begin`].
    pub(super) fn add(&mut self, topology: &Topology, partition: Partition, done: &ReconcileResult) {
        self.partitions += 1;
        if !has_moved(topology, partition, done) {
            self.number = None;
        }
    }

    /// Takes the older layouts out of force if all partitions have moved. Returns whether it did.
    pub(super) async fn finish(self, cluster: &Arc<Cluster>, topology: &Topology) -> bool {
        let same = |number| cluster.topology().layouts.current.number == number;
        if self.partitions != u64::from(PARTITIONS) || !self.number.is_some_and(same) {
            return false;
        }
        let layouts = Layouts {
            current: topology.layouts.current.clone(),
            older: Vec::new(),
        };
        tracing::info!(
            layout = layouts.current.number,
            "all data has moved: older layouts are no longer in force"
        );
        announce(cluster, &layouts).await;
        true
    }
}

fn has_moved(topology: &Topology, partition: Partition, done: &ReconcileResult) -> bool {
    let roles = &topology.layouts.current.roles;
    let leaves = |id: &VolumeId| roles.volumes.iter().all(|volume| volume.id != *id);
    let answered = |id: &VolumeId| !done.away.contains_key(id);
    let older = topology.placements.iter().skip(1);
    done.home_complete
        && done.nothing_left_behind
        && done.away.keys().all(leaves)
        && older
            .map(|placement| placement.replicas(partition))
            .all(|held| held.iter().any(answered))
}

async fn all_nodes_have_adopted(topology: &Topology) -> bool {
    let number = topology.layouts.current.number;
    let nodes = topology
        .layouts
        .current
        .roles
        .nodes
        .iter()
        .map(|role| topology.nodes.get(&role.id));
    let answers = nodes.map(|node| async move {
        let Some(node) = node else {
            return false;
        };
        let layouts = tokio::time::timeout(ANSWER_WITHIN, node.layouts()).await;
        matches!(layouts, Ok(Ok(layouts)) if layouts.current.number == number)
    });
    join_all(answers).await.into_iter().all(|knows| knows)
}
