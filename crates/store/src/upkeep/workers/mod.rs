//! The background workers of a node.
//!
//! | worker | does |
//! |---|---|
//! | watch | asks volumes and nodes how they are; notices who went, came back, or began anew, and new layouts |
//! | reconcile | passes over partitions: all of this node's every hour, at once those that something happened to |
//! | repair | single keys that readers and scrub found damaged |
//! | scrub | one for each volume of this node |
//! | census, uploads | once for the whole cluster: counting everything, giving up unfinished uploads |
//!
//! A partition is looked after by the node of its first home volume that can be reached: one node in normal times, and
//! still somebody when that one is down. Two nodes that do the same work for a while do no harm.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use contract::{Key, NodeId, PARTITIONS, Partition, VolumeId, WorkerState, WorkerStatus};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use self::board::{About, Board};
use self::pending::Pending;
use super::gate::Gate;
use super::reconcile::{Done, Reconciler};
use super::{Census, RepairQueue, ScrubFiles, UpkeepSettings};
use crate::client::Store;
use crate::cluster::{Cluster, View};

mod board;
mod once;
pub(super) mod pending;
mod reconciling;
mod repairing;
mod scrubbing;
mod watching;

/// How long a worker may take to come to an end before it is broken off; a step broken off is found again.
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(10);

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
    /// Directories of the node's own, one on each volume, where scrub positions and the last census are kept: in all
    /// that are there, so that no volume takes them away.
    pub state_dirs: Vec<PathBuf>,
    /// The load that the node is under.
    pub load: Load,
}

/// The running workers. Cheap to clone; all clones are the same workers. They stop by [`Workers::shutdown`].
#[derive(Clone)]
pub struct Workers {
    shared: Arc<Shared>,
    tasks: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

/// What the workers share.
struct Shared {
    store: Store,
    local: Vec<VolumeId>,
    settings: UpkeepSettings,
    state_dirs: Vec<PathBuf>,
    reconciler: Reconciler,
    gate: Gate,
    queue: Arc<RepairQueue>,
    pending: Pending,
    scrub_files: ScrubFiles,
    census: Mutex<Option<Census>>,
    boards: Mutex<Vec<Board>>,
}

impl Workers {
    /// Starts the workers on the current tokio runtime. Names itself to the store as the one to be told of damage.
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

    /// What each is doing.
    pub fn statuses(&self) -> Vec<WorkerStatus> {
        let shared = &self.shared;
        let wait = shared.gate.wait();
        let boards = shared.boards.lock();
        boards.iter().map(|board| board.status(wait)).collect()
    }

    /// Says that a reader met damage, as the store does.
    #[cfg(test)]
    pub(super) fn hint_damage(&self, key: &Key) {
        self.shared.queue.push(key);
    }

    /// Begins a pass over all partitions now.
    #[cfg(test)]
    pub(super) fn trigger_repair(&self) {
        self.shared
            .pending
            .add(all_partitions(), pending::Urgency::AtOnce);
    }

    /// Holds scrub and rebalance, or lets them go on. Repairs go on in any case.
    pub fn pause(&self, paused: bool) {
        self.shared.gate.pause(paused);
    }

    /// The last census that this process made, if it made one.
    pub fn last_census(&self) -> Option<Census> {
        self.shared.census.lock().clone()
    }

    /// Stops all workers, and waits for them. What they were doing is found again.
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

    /// Runs a worker with a board of its own. One that ends other than by being stopped says so on it.
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
                tracing::error!(%error, "a background worker has ended");
                board.update(|status| {
                    status.state = WorkerState::Failed("see the log".to_owned());
                    status.last_error = error.to_string();
                });
            }
        });
        self.tasks.lock().push(task);
    }
}

/// A worker ends with the task that watches over it.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Shared {
    fn cluster(&self) -> &Arc<Cluster> {
        self.store.cluster()
    }

    /// A partition was looked at: of its keys only those still fail that are lost, or could not be put right now.
    fn put_right(&self, partition: Partition, done: &Done) {
        let fails = |key: &Key| {
            let failed = |(what, _): &(String, String)| *what == key.to_string();
            done.lost.iter().any(|(lost, _)| lost == key) || done.failures.iter().any(failed)
        };
        let is_over =
            |about: &About| matches!(about, About::Key(key) if key.partition() == partition && !fails(key));
        self.boards.lock().iter().for_each(|board| board.over(is_over));
    }

    /// Whether this node looks after a partition now.
    fn looks_after(&self, view: &View, partition: Partition) -> bool {
        let Some(me) = self.cluster().me() else {
            return true;
        };
        let home = view.home(partition);
        let reachable = home
            .iter()
            .find(|volume| !self.reconciler.outages.is_away(volume));
        let acting = reachable
            .or(home.first())
            .and_then(|volume| node_of(view, volume));
        acting == Some(me)
    }

    /// Whether this node does what only one node of a cluster does.
    fn acts_for_all(&self) -> bool {
        self.looks_after(&self.cluster().view(), Partition(0))
    }
}

fn node_of<'a>(view: &'a View, volume: &VolumeId) -> Option<&'a NodeId> {
    let volumes = &view.layouts.current.roles.volumes;
    volumes
        .iter()
        .find(|role| role.id == *volume)
        .map(|role| &role.node)
}

fn all_partitions() -> impl Iterator<Item = Partition> {
    (0..PARTITIONS).map(Partition)
}
