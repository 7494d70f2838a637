//! The background workers of a node.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Census, RepairQueue, UpkeepSettings, WorkerStatus};
use crate::key::Key;
use crate::store::Store;
use crate::volume::VolumeId;

/// Requests in flight on this node: scrub and rebalance wait while there are many.
pub type Load = Arc<dyn Fn() -> usize + Send + Sync>;

/// What a node gives its workers.
pub struct WorkersConfig {
    /// The store as this process sees it; its cluster says which node this is.
    pub store: Store,
    /// The volumes that this process serves: the ones to scrub.
    pub local: Vec<VolumeId>,
    /// How eagerly to work.
    pub settings: UpkeepSettings,
    /// A directory of the node's own, where scrub positions are kept.
    pub state_dir: PathBuf,
    /// The load that the node is under.
    pub load: Load,
}

/// The running workers. Cheap to clone; all clones are the same workers. They stop by [`Workers::shutdown`].
#[derive(Clone)]
pub struct Workers {}

impl Workers {
    /// Starts scrub, repair, rebalance and watch on the current tokio runtime.
    pub fn start(config: WorkersConfig) -> Self {
        let _ = config;
        todo!()
    }

    /// What each is doing.
    pub fn statuses(&self) -> Vec<WorkerStatus> {
        todo!()
    }

    /// Says that a reader met damage: the key is repaired as soon as possible. Never waits.
    pub fn hint_damage(&self, key: &Key) {
        let _ = key;
        todo!()
    }

    /// The queue behind [`Workers::hint_damage`].
    pub fn queue(&self) -> Arc<RepairQueue> {
        todo!()
    }

    /// Begins a pass over all partitions now.
    pub fn trigger_repair(&self) {
        todo!()
    }

    /// Begins a scrub of the node's volumes now, from the beginning unless one is running.
    pub fn trigger_scrub(&self) {
        todo!()
    }

    /// Holds scrub and rebalance, or lets them go on. Repairs go on in any case.
    pub fn pause(&self, paused: bool) {
        let _ = paused;
        todo!()
    }

    /// The last census that this process made, if it made one.
    pub fn last_census(&self) -> Option<Census> {
        todo!()
    }

    /// Stops all workers where they are, and waits for them. What they were doing is found again.
    pub async fn shutdown(&self) {
        todo!()
    }
}
