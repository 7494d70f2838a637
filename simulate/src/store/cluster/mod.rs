//! A cluster of several machines, used by clients under all kinds of faults, and compared with one
//! register per key.
//!
//! Everything except disks, network and clocks is production code. The following must hold:
//!  - The results that clients received can be explained by one register per key, and every byte
//!    read was written by a client.
//!  - Two layouts that were ever in force on any machine never share a number.
//!  - After all faults have ended, every machine answers and upkeep terminates: every object has R
//!    verified replicas, on its home volumes and nowhere else, and the census counts what the
//!    register holds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use placement::{Layout, Layouts};
use store::upkeep::{census, scrub_all};
use store::{List, Store};
use store_protocol::{
    Cause, Key, PARTITIONS, Partition, ReplicaState, SurveyEntry, Verdict, VolumeId, VolumeState,
};
use store_testkit::Dice;
use store_testkit::linear::Value;
use tokio::time::{sleep, timeout};

use crate::{Trace, surroundings};

mod clients;
mod decay;
mod lines;
mod machines;
mod misfortune;

use clients::{History, KEYS, key};
use machines::{Machines, Shape};

const ROUNDS: u64 = 2;
const CLIENTS: usize = 3;
const OPERATIONS: u64 = 7;

/// Timeout of an answer of a healed cluster.
const HEALS: Duration = Duration::from_secs(30);

/// Longer than any operation here, and longer than tombstones are kept.
const LATER: Duration = Duration::from_hours(2);

/// Number of upkeep passes after which everything must be in its place.
const PASSES_MAX: usize = 8;

/// Number of listings after which no interrupted write may be left.
const DRAINS_MAX: usize = 20;

/// Machines in the first layout, all machines, volumes per machine, copies.
const SHAPES: [(usize, usize, usize, u8); 6] = [
    (3, 3, 1, 2),
    (3, 4, 1, 2),
    (3, 4, 1, 3),
    (4, 4, 1, 2),
    (2, 3, 2, 2),
    (3, 5, 1, 3),
];

struct World {
    trace: Trace,
    machines: Machines,
    history: History,
    /// Whether the clients of the round have ended.
    is_over: AtomicBool,
    /// Bits flipped since everything was repaired, by key: one replica at most, so the others must
    /// be good.
    flipped: Mutex<BTreeMap<Key, VolumeId>>,
    /// Every layout that was in force, by number.
    layouts: Mutex<BTreeMap<u64, Layout>>,
    wrong: Mutex<Vec<String>>,
}

/// Runs one seed.
pub(super) fn run(seed: u64, trace: &Trace) -> Result<(), String> {
    let dir = surroundings::directory()?;
    trace.hide(dir.path().display());
    surroundings::run(seed, async {
        let mut dice = Dice(seed);
        let (first, machines, volumes, replicas) = SHAPES[dice.roll(SHAPES.len() as u64) as usize];
        let shape = Shape {
            first,
            machines,
            volumes,
            replicas,
        };
        trace.line(format_args!("seed {seed}: {shape:?}"));
        let world = Arc::new(World {
            machines: Machines::new(shape, dir.path(), &mut dice, trace)?,
            trace: trace.clone(),
            history: History::default(),
            is_over: AtomicBool::new(false),
            flipped: Mutex::default(),
            layouts: Mutex::default(),
            wrong: Mutex::default(),
        });
        let ended = world.clone().rounds(&mut dice).await;
        world.machines.end();
        ended
    })
}

impl World {
    fn wrong(&self, what: String) {
        self.wrong.lock().push(what);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    async fn rounds(self: Arc<Self>, dice: &mut Dice) -> Result<(), String> {
        for machine in 0..self.machines.shape.machines {
            if !self.machines.start(machine).await? {
                return Err(format!("machine {machine} does not start"));
            }
        }
        self.machines.board.net.delay_randomly(dice.roll(u64::MAX));
        for round in 0..ROUNDS {
            self.trace.line(format_args!("round {round}"));
            self.round(dice).await?;
            self.heal().await?;
            let values = self.check().await?;
            if round + 1 == ROUNDS {
                self.decay(&values, dice).await?;
            }
            let wrong = self.wrong.lock().join("\n");
            if !wrong.is_empty() {
                return Err(wrong);
            }
        }
        Ok(())
    }

    async fn round(self: &Arc<Self>, dice: &mut Dice) -> Result<(), String> {
        self.is_over.store(false, Ordering::Relaxed);
        *self.machines.board.damage.lock() = Some(Dice(dice.roll(u64::MAX)));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| tokio::spawn(self.clone().client(client, dice.roll(u64::MAX), OPERATIONS)))
            .collect();
        let misfortune = tokio::spawn(self.clone().misfortune(dice.roll(u64::MAX)));
        let upkeep = tokio::spawn(self.clone().upkeep(dice.roll(u64::MAX)));
        let layouts = tokio::spawn(self.clone().layouts(dice.roll(u64::MAX)));
        let ended = |error| format!("a task ended early: {error}");
        for client in clients {
            client.await.map_err(ended)?;
        }
        self.is_over.store(true, Ordering::Relaxed);
        misfortune.await.map_err(ended)?;
        self.heal().await?;
        upkeep.await.map_err(ended)?;
        layouts.await.map_err(ended)
    }

    /// Ends all faults, and restarts machines that are down or have volumes out of service.
    async fn heal(&self) -> Result<(), String> {
        self.trace.line("all faults end");
        let board = &self.machines.board;
        board.net.reconnect();
        board.moods.lock().clear();
        *board.damage.lock() = None;
        for machine in 0..self.machines.shape.machines {
            board.net.resume(machine);
            self.machines.homes[machine]
                .iter()
                .for_each(|home| home.inject(None));
            if board.net.is_down(machine) || self.is_any_out(machine).await {
                self.machines.restart(machine).await?;
            }
        }
        Ok(())
    }

    /// Returns whether a machine has a volume out of service.
    async fn is_any_out(&self, machine: usize) -> bool {
        let Some(node) = self.machines.board.node(machine) else {
            return true;
        };
        let Ok(status) = node.node().status().await else {
            return true;
        };
        let is_out = |state: &VolumeState| matches!(state, VolumeState::Out(_));
        status.volumes.iter().any(|volume| is_out(&volume.state))
    }

    /// Records the layouts in force on a machine or client.
    fn in_force(&self, layouts: &Layouts, who: &str) {
        let mut known = self.layouts.lock();
        for layout in std::iter::once(&layouts.current).chain(&layouts.older) {
            let before = known.entry(layout.number).or_insert_with(|| layout.clone());
            if before != layout {
                let number = layout.number;
                self.wrong(format!(
                    "{who} has a layout {number} in force that differs from the known layout of this number"
                ));
            }
        }
    }

    /// Checks everything after the cluster has healed.
    async fn check(&self) -> Result<[Value; KEYS], String> {
        self.trace.count("checks");
        self.look_at_contents().await?;
        self.drain().await?;
        let values = self.read_all().await?;
        sleep(LATER).await;
        self.settle().await?;
        for machine in 0..self.machines.shape.machines {
            let Some(node) = self.machines.board.node(machine) else {
                return Err(format!("machine {machine} does not run"));
            };
            let layouts = node.node().layouts().await.map_err(|error| error.to_string())?;
            self.in_force(&layouts, &format!("machine {machine}"));
        }
        let again = self.read_all().await?;
        self.history.check()?;
        if values != again {
            return Err(format!(
                "the keys were {values:?}, but are {again:?} after upkeep"
            ));
        }
        self.check_replicas(&values).await?;
        self.flipped.lock().clear();
        Ok(values)
    }

    fn any_store(&self) -> Result<Store, String> {
        let running = self.machines.running(0);
        running
            .map(|(store, _)| store)
            .ok_or_else(|| "machine 0 does not run".to_owned())
    }

    /// Reads every key through every machine; all must answer the same.
    async fn read_all(&self) -> Result<[Value; KEYS], String> {
        let mut values = [0; KEYS];
        for machine in 0..self.machines.shape.machines {
            let running = self.machines.running(machine);
            let (store, _) = running.ok_or_else(|| format!("machine {machine} does not run"))?;
            for (at, value) in values.iter_mut().enumerate() {
                let answered = async {
                    loop {
                        if let Some(value) = self.get(&store, at, &format!("at the end at {machine}")).await {
                            return value;
                        }
                        if !self.wrong.lock().is_empty() {
                            return 0;
                        }
                        sleep(Duration::from_millis(50)).await;
                    }
                };
                let answer = timeout(HEALS, answered).await;
                *value = answer.map_err(|_| format!("machine {machine} does not answer about key-{at}"))?;
            }
        }
        Ok(values)
    }

    /// Completes interrupted writes. A request for their keys does this, and a listing asks every
    /// volume.
    async fn drain(&self) -> Result<(), String> {
        let list = List {
            prefix: "bucket/".to_owned(),
            limit: 100,
            ..List::default()
        };
        for attempt in 0..DRAINS_MAX {
            let store = self.any_store()?;
            if let Err(error) = store.list(&list).await {
                self.trace.line(format_args!("list: {error}"));
            }
            let mut unsettled = Vec::new();
            for volume in store.cluster().topology().volumes.values() {
                let found = volume.keys_in_doubt("").await;
                unsettled.extend(found.map_err(|error| format!("unsettled: {error}"))?.keys);
            }
            if unsettled.is_empty() {
                return Ok(());
            }
            self.trace
                .line(format_args!("drain {attempt}: {unsettled:?} remain"));
            sleep(Duration::from_millis(200)).await;
        }
        Err("interrupted writes are not completed".to_owned())
    }

    /// Runs upkeep until it has nothing left to do.
    async fn settle(&self) -> Result<(), String> {
        // A scrub reads everything, and so finds undetected damage.
        let topology = self.any_store()?.cluster().topology();
        let scrubbed = scrub_all(&topology, &[], None, &|_| {}).await;
        self.trace.line(format_args!("final scrub: {scrubbed:?}"));
        let mut last = String::new();
        for _ in 0..PASSES_MAX {
            let store = self.any_store()?;
            // Tombstones are removed in the pass after the older layouts.
            let has_moved = store.cluster().topology().layouts.older.is_empty();
            let report = self.repair(&store, 0).await;
            let done = report.copies + report.dropped + report.tombstones_collected + report.strays_settled;
            if report.is_clean() && done == 0 && has_moved {
                return Ok(());
            }
            last = format!("{report:?}");
        }
        Err(format!("upkeep does not finish: {last}"))
    }

    /// Checks that every object has its verified replicas at home, and that no others exist.
    async fn check_replicas(&self, values: &[Value; KEYS]) -> Result<(), String> {
        let store = self.any_store()?;
        let topology = store.cluster().topology();
        let census = census(&topology, &|_| {}).await;
        let live = values.iter().filter(|value| **value != 0).count() as u64;
        if !census.is_whole()
            || census.replicas_surplus != 0
            || census.objects != live
            || census.tombstones != 0
        {
            return Err(format!(
                "the register holds {live} objects, but the census reports {census:?}"
            ));
        }
        for (at, value) in values.iter().enumerate() {
            let (key, mut holders) = (key(at), Vec::new());
            for (id, volume) in &topology.volumes {
                let surveyed = volume.survey(&[key.partition()]).await;
                let surveyed = surveyed.map_err(|error| format!("survey {id}: {error}"))?;
                for found in surveyed.concat() {
                    let SurveyEntry::Replica {
                        key,
                        version,
                        state: ReplicaState::Good,
                        ..
                    } = found
                    else {
                        return Err(format!("{id} holds {found:?}"));
                    };
                    let verdict = volume.verify(&key, version, Cause::Scrub).await;
                    if !matches!(verdict, Ok(Verdict::Good { .. })) {
                        return Err(format!("{key} on {id}: {verdict:?}"));
                    }
                    holders.push(id.clone());
                }
            }
            let mut home = match value {
                0 => Vec::new(),
                _ => topology.home(key.partition()).to_vec(),
            };
            home.sort();
            if holders != home {
                return Err(format!("{key} is on {holders:?}, expected {home:?}"));
            }
        }
        self.count_files(live * u64::from(self.machines.shape.replicas))
    }

    /// Checks that the disks of all machines hold only these replicas.
    fn count_files(&self, expected: u64) -> Result<(), String> {
        let mut found = 0;
        for home in self.machines.homes.iter().flatten() {
            for partition in (0..PARTITIONS).map(Partition) {
                let dir = home.path.join(format!("objects/{:03x}", partition.0));
                found += std::fs::read_dir(dir).map_or(0, |entries| entries.count() as u64);
            }
        }
        if found == expected {
            Ok(())
        } else {
            Err(format!("found {found} replica files, expected {expected}"))
        }
    }
}
