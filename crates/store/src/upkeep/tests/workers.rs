//! The workers of a single process repair everything without being asked.

use std::sync::Arc;
use std::time::Duration;

use store_protocol::VolumeId;
use store_testkit::FaultMode;

use super::world::{World, key, roles};
use crate::client::Store;
use crate::upkeep::{ScrubFiles, UpkeepSettings, Workers, WorkersConfig};

/// Settings under which everything is due at once and nothing waits.
fn eager() -> UpkeepSettings {
    UpkeepSettings {
        unreachable_grace: Duration::ZERO,
        watch_every: Duration::from_millis(20),
        retry_after: Duration::from_millis(20),
        retry_after_max: Duration::from_millis(100),
        busy_wait: Duration::from_millis(10),
        ..UpkeepSettings::default()
    }
}

struct Running {
    workers: Workers,
    world: World,
    dir: tempfile::TempDir,
}

fn start(world: World, settings: UpkeepSettings, load: usize) -> Running {
    start_in(tempfile::tempdir().expect("a directory"), world, settings, load)
}

fn start_in(dir: tempfile::TempDir, world: World, settings: UpkeepSettings, load: usize) -> Running {
    let workers = Workers::start(WorkersConfig {
        store: Store::new(world.cluster.clone()),
        local: world.cluster.topology().volumes.keys().cloned().collect(),
        settings,
        state_dirs: vec![dir.path().to_owned()],
        load: Arc::new(move || load),
    });
    Running { workers, world, dir }
}

impl Running {
    /// Waits until a condition holds.
    async fn until(&self, what: impl Fn(&World) -> bool) {
        let waited = tokio::time::timeout(Duration::from_secs(60), async {
            while !what(&self.world) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        assert!(
            waited.await.is_ok(),
            "the condition was not met in time: {:#?}",
            self.workers.statuses()
        );
    }

    /// Waits until the census is whole and has no surplus, and stops the workers.
    async fn until_whole(self) {
        let waited = tokio::time::timeout(Duration::from_secs(60), async {
            loop {
                let census = self.world.census().await;
                if census.is_whole() && census.replicas_surplus == 0 {
                    break;
                }
            }
        });
        assert!(
            waited.await.is_ok(),
            "not whole in time: {:#?}",
            self.workers.statuses()
        );
        self.workers.shutdown().await;
        self.world.check_whole().await;
    }
}

fn flip(world: &World, i: u64) {
    let key = key(i);
    world
        .volume(&world.home(&key)[0])
        .damage(&key, world.version(&key), |replica| {
            replica.content.as_mut().expect("a file")[0] ^= 1;
        });
}

fn log_says(world: &World, event: &str) -> bool {
    world
        .volumes()
        .iter()
        .any(|volume| volume.log().iter().any(|line| line.event == event))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_scrub_finds_hidden_damage_and_repair_follows() {
    let world = World::with_objects(2, &[1, 1, 1], 12);
    flip(&world, 2);
    flip(&world, 5);
    let running = start(world, eager(), 0);
    running.until(|world| log_says(world, "repaired")).await;
    running.until_whole().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_that_a_reader_met_is_repaired_while_the_node_is_busy_and_scrub_waits() {
    let world = World::with_objects(2, &[1, 1, 1], 12);
    flip(&world, 2);
    flip(&world, 5);
    let running = start(world, eager(), 1000);
    running.workers.hint_damage(&key(2));
    running.until(|world| log_says(world, "repaired")).await;
    let waits =
        |status: &store_protocol::WorkerStatus| status.state.to_string() == "paused: the node is busy";
    let statuses = running.workers.statuses();
    assert!(
        statuses
            .iter()
            .any(|status| status.name.starts_with("scrub") && waits(status)),
        "{statuses:#?}"
    );
    running.workers.shutdown().await;
    let found = scrub_of(&running.world).await;
    assert_eq!(found, 1, "the scrub had to wait");
}

async fn scrub_of(world: &World) -> u64 {
    crate::upkeep::scrub_all(&world.cluster.topology(), &[], None, &|_| {})
        .await
        .bad
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wiped_volume_is_filled_again_and_told_so() {
    let world = World::with_objects(2, &[1, 1, 1], 12);
    let running = start(world, eager(), 0);
    let wiped = running.world.volumes()[0].clone();
    wiped.wipe();
    wiped.set(FaultMode::Rebuilding);
    running.until(|_| wiped.fault_mode() == FaultMode::Well).await;
    running.until_whole().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_volume_goes_and_comes_back() {
    let world = World::with_objects(2, &[1, 1, 1, 1], 12);
    let running = start(world, eager(), 0);
    let gone = running.world.volumes()[0].clone();
    gone.set(FaultMode::Unreachable);
    running.until(|world| log_says(world, "repaired")).await;
    gone.set(FaultMode::Well);
    running.until(|world| log_says(world, "dropped")).await;
    running.until_whole().await;
}

/// The rate is so low that the node stops in the middle of the scrub; replicas read before are not
/// read again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_scrub_goes_on_where_it_was() {
    let world = World::with_objects(2, &[1, 1], 12);
    let volume: VolumeId = "a/v".to_owned().into();
    let verified = |world: &World| {
        let log = world.volume(&volume).log();
        log.into_iter().filter_map(|line| line.key).collect::<Vec<_>>()
    };
    let slow = UpkeepSettings {
        scrub_bytes_per_s: 1,
        ..eager()
    };
    let running = start(world, slow, 0);
    running.until(|world| !verified(world).is_empty()).await;
    running.workers.shutdown().await;
    let stopped = ScrubFiles::new(vec![running.dir.path().to_owned()]).load(&volume);
    assert!(stopped.partition.is_some() && stopped.replicas > 0, "{stopped:?}");
    assert!(stopped.replicas < 12);

    let running = start_in(running.dir, running.world, eager(), 0);
    let finished = || {
        ScrubFiles::new(vec![running.dir.path().to_owned()])
            .load(&volume)
            .last_pass_ms
            .is_some()
    };
    running.until(|_| finished()).await;
    running.workers.shutdown().await;
    let mut keys = verified(&running.world);
    keys.sort();
    keys.dedup();
    assert_eq!(
        (keys.len(), verified(&running.world).len()),
        (12, 12),
        "each object once"
    );
}
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_layout_is_followed_to_its_end() {
    let world = World::with_objects(2, &[1, 1, 1], 12);
    let running = start(world, eager(), 0);
    running.world.change_layout(roles(2, &[0, 1, 1, 1]));
    running
        .until(|world| world.cluster.topology().layouts.older.is_empty())
        .await;
    // This process takes the layout into force first, and tells the nodes afterwards.
    running
        .until(|world| world.connect.layouts.lock().older.is_empty())
        .await;
    running.until_whole().await;
}

/// A failed repair is reported while it waits for a retry, and no longer after it has succeeded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_failure_goes_when_it_is_over() {
    let world = World::with_objects(2, &[1, 1], 3);
    let stuck = world.volumes()[1].clone();
    stuck.wipe();
    stuck.stop_after(Some(0));
    let running = start(world, eager(), 0);
    let workers = running.workers.clone();
    let failing = move || {
        let statuses = workers.statuses();
        statuses
            .iter()
            .filter(|status| !status.last_error.is_empty())
            .count()
    };
    running.workers.hint_damage(&key(1));
    running.workers.trigger_repair();
    running.until(|_| failing() >= 2).await;
    stuck.stop_after(None);
    running.until(|_| failing() == 0).await;
    running.until_whole().await;
}
