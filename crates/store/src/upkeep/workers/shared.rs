//! State shared by the workers of a node, and the assignment of partitions to nodes.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use store_protocol::{Key, NodeId, PARTITIONS, Partition, VolumeId};

use super::board::{Board, FailureSubject};
use super::pending::Pending;
use crate::client::Store;
use crate::cluster::{Cluster, Topology};
use crate::upkeep::gate::Gate;
use crate::upkeep::reconcile::{ReconcileResult, Reconciler};
use crate::upkeep::{Census, RepairQueue, ScrubFiles, UpkeepSettings};

/// State shared by the workers.
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) local: Vec<VolumeId>,
    pub(super) settings: UpkeepSettings,
    pub(super) state_dirs: Vec<PathBuf>,
    pub(super) reconciler: Reconciler,
    pub(super) gate: Gate,
    pub(super) queue: Arc<RepairQueue>,
    pub(super) pending: Pending,
    pub(super) scrub_files: ScrubFiles,
    pub(super) census: Mutex<Option<Census>>,
    pub(super) boards: Mutex<Vec<Board>>,
}

impl Shared {
    pub(super) fn cluster(&self) -> &Arc<Cluster> {
        self.store.cluster()
    }

    /// Clears the failures of a partition's keys after it was looked at, except keys that are lost
    /// or that failed again.
    pub(super) fn clear_failures(&self, partition: Partition, done: &ReconcileResult) {
        let fails = |key: &Key| {
            done.lost.iter().any(|(lost, _)| lost == key)
                || done.failures.iter().any(|(what, _)| *what == key.to_string())
        };
        let is_over = |about: &FailureSubject| matches!(about, FailureSubject::Key(key) if key.partition() == partition && !fails(key));
        self.boards.lock().iter().for_each(|board| board.clear(is_over));
    }

    /// Returns whether this node looks after a partition now.
    pub(super) fn is_responsible_for(&self, topology: &Topology, partition: Partition) -> bool {
        let Some(me) = self.cluster().me() else {
            return true;
        };
        let home = topology.home(partition);
        let reachable = home
            .iter()
            .find(|volume| !self.reconciler.outages.is_away(volume));
        let acting = reachable
            .or(home.first())
            .and_then(|volume| node_of(topology, volume));
        acting == Some(me)
    }

    /// Returns whether this node does the tasks that only one node of a cluster does.
    pub(super) fn runs_cluster_tasks(&self) -> bool {
        self.is_responsible_for(&self.cluster().topology(), Partition(0))
    }
}

fn node_of<'a>(topology: &'a Topology, volume: &VolumeId) -> Option<&'a NodeId> {
    let volumes = &topology.layouts.current.roles.volumes;
    volumes
        .iter()
        .find(|role| role.id == *volume)
        .map(|role| &role.node)
}

pub(super) fn all_partitions() -> impl Iterator<Item = Partition> {
    (0..PARTITIONS).map(Partition)
}
