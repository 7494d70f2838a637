//! The background workers of a node.
//!
//! | worker | does |
//! |---|---|
//! | watch | polls volumes and nodes; notices failures, returns, restarts and new layouts |
//! | reconcile | passes over partitions: all of this node's every hour, affected ones at once |
//! | repair | single keys that readers and scrub found damaged |
//! | scrub | one for each volume of this node |
//! | census, uploads | once for the whole cluster: counts everything, aborts unfinished uploads |
//!
//! The node of a partition's first reachable home volume looks after it: normally one node, and
//! another while the first is down. Two nodes that do the same work for a while do no harm.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
#[cfg(test)]
use store_protocol::Key;
use store_protocol::{VolumeId, WorkerState, WorkerStatus};
use tokio::task::JoinHandle;

use self::board::Board;
use self::pending::Pending;
use self::shared::Shared;
#[cfg(test)]
use self::shared::all_partitions;
use super::gate::{Gate, Load};
use super::reconcile::Reconciler;
use super::{Census, RepairQueue, ScrubFiles, UpkeepSettings};
use crate::client::Store;

mod board;
mod once;
pub(super) mod pending;
mod reconciling;
mod repairing;
mod scrubbing;
mod shared;
mod watching;

/// How long a worker may take to stop before it is aborted. The next pass repeats an aborted step.
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(10);

/// Inputs of a node's workers.
pub struct WorkersConfig {
    /// The store as this process sees it. Its cluster says which node this is.
    pub store: Store,
    /// The volumes that this process serves: the ones to scrub.
    pub local: Vec<VolumeId>,
    /// Limits and intervals.
    pub settings: UpkeepSettings,
    /// State directories of the node, one on each volume, for scrub positions and the last census.
    /// The files are written to every directory that exists, so that they survive the loss of one
    /// volume.
    pub state_dirs: Vec<PathBuf>,
    /// The current load of the node.
    pub load: Load,
}

/// The running workers. Cheap to clone; all clones control the same workers. Call
/// [`Workers::shutdown`] to stop them.
#[derive(Clone)]
pub struct Workers {
    shared: Arc<Shared>,
    tasks: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Workers {
    /// Starts the workers on the current tokio runtime and sets the store's damage callback.
    pub fn start(config: WorkersConfig) -> Self {
        let settings = &config.settings;
        let queue = RepairQueue::new(
            settings.queue_keys_max,
            settings.retry_after,
            settings.retry_after_max,
        );
        let queue = Arc::new(queue);
        let shared = Arc::new(Shared {
            reconciler: Reconciler::new(settings),
            gate: Gate::new(config.load, settings.busy_requests, settings.busy_wait),
            queue: queue.clone(),
            pending: Pending::default(),
            scrub_files: ScrubFiles::new(config.state_dirs.clone()),
            census: Mutex::new(once::last_census(&config.state_dirs)),
            boards: Mutex::default(),
            store: config.store,
            local: config.local,
            settings: config.settings,
            state_dirs: config.state_dirs,
        });
        shared.store.on_damage(move |damage| queue.push(&damage.key));
        let workers = Self {
            shared,
            tasks: Arc::default(),
        };
        workers.spawn("watch", watching::run);
        workers.spawn("reconcile", reconciling::run);
        workers.spawn("repair", repairing::run);
        for volume in &workers.shared.local {
            let id = volume.clone();
            workers.spawn(&format!("scrub {volume}"), move |shared, board| {
                scrubbing::run(shared, board, id)
            });
        }
        workers.spawn("census", once::censuses);
        workers.spawn("uploads", once::expiries);
        workers
    }

    /// Returns the status of each worker.
    pub fn statuses(&self) -> Vec<WorkerStatus> {
        let shared = &self.shared;
        let wait = shared.gate.wait();
        let boards = shared.boards.lock();
        boards.iter().map(|board| board.status(wait)).collect()
    }

    /// Reports damage, as the store's callback does.
    #[cfg(test)]
    pub(super) fn hint_damage(&self, key: &Key) {
        self.shared.queue.push(key);
    }

    /// Starts a pass over all partitions now.
    #[cfg(test)]
    pub(super) fn trigger_repair(&self) {
        self.shared
            .pending
            .add(all_partitions(), pending::Urgency::AtOnce);
    }

    /// Pauses scrub and rebalance, or resumes them. Repairs are never paused.
    pub fn pause(&self, paused: bool) {
        self.shared.gate.pause(paused);
    }

    /// Returns the last census that this process made, if any.
    pub fn last_census(&self) -> Option<Census> {
        self.shared.census.lock().clone()
    }

    /// Stops all workers and waits for them. The next pass finds their unfinished work again.
    pub async fn shutdown(&self) {
        self.shared.gate.stop();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        let end = tokio::time::Instant::now() + SHUTDOWN_WITHIN;
        for mut task in tasks {
            if tokio::time::timeout_at(end, &mut task).await.is_err() {
                task.abort();
            }
        }
    }

    /// Runs a worker with its own board. A worker that ends without being stopped is shown there as
    /// failed.
    fn spawn<F, Work>(&self, name: &str, work: F)
    where
        F: FnOnce(Arc<Shared>, Board) -> Work,
        Work: Future<Output = ()> + Send + 'static,
    {
        let board = Board::new(name);
        self.shared.boards.lock().push(board.clone());
        let mut running = AbortOnDrop(tokio::spawn(work(self.shared.clone(), board.clone())));
        let task = tokio::spawn(async move {
            if let Err(error) = (&mut running.0).await {
                tracing::error!(%error, "a background worker has failed");
                board.update(|status| {
                    status.state = WorkerState::Failed("see the log".to_owned());
                    status.last_error = error.to_string();
                });
            }
        });
        self.tasks.lock().push(task);
    }
}

/// Aborts a worker when the task that watches it is dropped.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
