//! The machines of a simulated cluster: each is a node with its volumes on simulated disks. They
//! start, are killed, lose power, and restart from the remains on their disks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cluster::BareNode;
use parking_lot::Mutex;
use placement::{Layout, Layouts, NodeRole, Roles, VolumeRole};
use store::{Store, Timeouts, Topology};
use store_protocol::{NodeId, Volume, VolumeId};
use store_testkit::Dice;
use store_testkit::net::Net;
use volume::FixityLog;

use super::super::disk::{Fault, Stop};
use super::super::machine::Home;
use super::lines::{Lines, Switchboard};
use crate::Trace;

/// Short timeouts, so that runs do not consist of waiting: responses take a few milliseconds here.
const TIMEOUTS: Timeouts = Timeouts {
    hedge: Duration::from_millis(8),
    answer: Duration::from_millis(120),
    stall: Duration::from_millis(200),
    decide: Duration::from_millis(1200),
    probe: Duration::from_millis(30),
};

/// Cached topologies by layout: thousands of runs share a few layouts.
static KNOWN: Mutex<BTreeMap<String, Arc<Topology>>> = Mutex::new(BTreeMap::new());

/// The size of a cluster.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Machines in the first layout.
    pub(super) first: usize,
    /// All machines.
    pub(super) machines: usize,
    /// Volumes per machine.
    pub(super) volumes: usize,
    /// Copies per object.
    pub(super) replicas: u8,
}

/// The machines, and the network between them.
pub(super) struct Machines {
    pub(super) shape: Shape,
    pub(super) board: Arc<Switchboard>,
    /// By machine and volume.
    pub(super) homes: Vec<Vec<Arc<Home>>>,
    stores: Vec<Mutex<Option<Store>>>,
    /// The volumes of the running process of each machine.
    volumes: Vec<Mutex<Vec<Arc<dyn Volume>>>>,
    trace: Trace,
    dice: Mutex<Dice>,
}

impl Machines {
    pub(super) fn new(shape: Shape, dir: &Path, dice: &mut Dice, trace: &Trace) -> Result<Self, String> {
        let board = Switchboard {
            net: Net::new(shape.machines),
            nodes: (0..shape.machines).map(|_| Mutex::default()).collect(),
            moods: Mutex::default(),
            damage: Mutex::default(),
            trace: trace.clone(),
        };
        let mut homes = Vec::new();
        for role in roles(&shape, shape.machines).volumes.chunks(shape.volumes) {
            let mut of_machine = Vec::new();
            for role in role {
                let home = Home::new(dir, role.id.clone(), dice.roll(u64::MAX), trace);
                of_machine.push(Arc::new(
                    home.map_err(|error| format!("{}: {error}", dir.display()))?,
                ));
            }
            homes.push(of_machine);
        }
        Ok(Self {
            shape,
            board: Arc::new(board),
            homes,
            stores: (0..shape.machines).map(|_| Mutex::default()).collect(),
            volumes: (0..shape.machines).map(|_| Mutex::default()).collect(),
            trace: trace.clone(),
            dice: Mutex::new(Dice(dice.roll(u64::MAX))),
        })
    }

    /// Starts a machine that is off. Returns whether it is running: a fault may stop it again.
    pub(super) async fn start(&self, machine: usize) -> Result<bool, String> {
        let fixity = FixityLog::new();
        let mut volumes: Vec<(Arc<dyn Volume>, _)> = Vec::new();
        for home in &self.homes[machine] {
            let (net, trace) = (self.board.net.clone(), self.trace.clone());
            let others: Vec<_> = self.homes[machine]
                .iter()
                .map(|home| home.platter.clone())
                .collect();
            let stopped = move || {
                others.iter().for_each(|platter| platter.turn_off());
                trace.line(format_args!("machine {machine} stops"));
                trace.count("machines stopped by a disk fault");
                net.kill(machine);
            };
            match home.open(&fixity, stopped) {
                Ok(volume) => volumes.push((volume, home.path.clone())),
                Err(_) if !self.are_disks_on(machine) => return Ok(false),
                Err(error) => return Err(format!("machine {machine} does not start: {error}")),
            }
        }
        let open = volumes.iter().map(|(volume, _)| volume.clone()).collect();
        let first = Layouts {
            current: self.layout(1, self.shape.first),
            older: Vec::new(),
        };
        let node = BareNode::open(name(machine), volumes, first.clone()).await;
        let node = match node {
            Ok(node) => node,
            Err(_) if !self.are_disks_on(machine) => return Ok(false),
            Err(error) => return Err(format!("machine {machine} does not start: {error}")),
        };
        let net = &self.board.net;
        let lines = Lines {
            board: self.board.clone(),
            from: machine,
            life: net.life(machine),
        };
        let layouts = node.node().layouts().await;
        let layouts = layouts.map_err(|error| format!("machine {machine} does not start: {error}"))?;
        let digest = layouts.current.digest();
        let before = KNOWN.lock().get(&digest).cloned();
        let store = node.begin(before.as_deref(), Box::new(lines), TIMEOUTS).await;
        if layouts.older.is_empty() {
            KNOWN
                .lock()
                .entry(digest)
                .or_insert_with(|| store.cluster().topology());
        }
        *self.board.nodes[machine].lock() = Some(node);
        *self.stores[machine].lock() = Some(store);
        *self.volumes[machine].lock() = open;
        net.start(machine);
        self.trace.line(format_args!("machine {machine} starts"));
        Ok(true)
    }

    fn are_disks_on(&self, machine: usize) -> bool {
        self.homes[machine].iter().all(|home| home.platter.is_on())
    }

    /// Ends the process of a machine, if it is running, and determines the state of its disks.
    pub(super) fn crash(&self, machine: usize) -> Result<(), String> {
        if !self.board.net.is_down(machine) {
            self.board.net.kill(machine);
        }
        let mut dice = self.dice.lock();
        let how = if dice.roll(2) == 0 {
            Stop::Kill
        } else {
            Stop::Power
        };
        self.trace
            .line(format_args!("machine {machine} was stopped by {how:?}"));
        self.trace.count(&format!("machines stopped by {how:?}"));
        if let Some(node) = self.board.nodes[machine].lock().take() {
            node.end();
        }
        *self.stores[machine].lock() = None;
        self.volumes[machine].lock().clear();
        for home in &self.homes[machine] {
            home.crash(how, &mut dice)
                .map_err(|error| format!("cannot prepare the restart: {error}"))?;
        }
        Ok(())
    }

    /// Crashes a machine and starts it, repeatedly if necessary.
    pub(super) async fn restart(&self, machine: usize) -> Result<(), String> {
        for attempt in 0.. {
            self.crash(machine)?;
            if attempt < 2 && self.dice.lock().roll(5) == 0 {
                let left = 1 + self.dice.lock().roll(60);
                self.homes[machine][0].inject(Some(Fault::StopAt(left)));
            }
            if self.start(machine).await? {
                self.homes[machine].iter().for_each(|home| home.inject(None));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the store of the running process of a machine, and the number of the process.
    pub(super) fn running(&self, machine: usize) -> Option<(Store, u32)> {
        let net = &self.board.net;
        let store = self.stores[machine].lock().clone()?;
        (!net.is_down(machine)).then(|| (store, net.life(machine)))
    }

    /// Returns the volumes of the running process of a machine with their directories, bypassing
    /// the network.
    pub(super) fn volumes(&self, machine: usize) -> Vec<(Arc<dyn Volume>, Arc<Home>)> {
        let volumes = self.volumes[machine].lock().clone();
        volumes
            .into_iter()
            .zip(self.homes[machine].iter().cloned())
            .collect()
    }

    /// Ends all processes, so that nothing is held any more.
    pub(super) fn end(&self) {
        for machine in 0..self.shape.machines {
            if let Some(node) = self.board.nodes[machine].lock().take() {
                node.end();
            }
            *self.stores[machine].lock() = None;
            self.volumes[machine].lock().clear();
        }
    }

    /// Returns a layout of the first machines.
    pub(super) fn layout(&self, number: u64, machines: usize) -> Layout {
        Layout {
            number,
            seed: 7,
            roles: roles(&self.shape, machines),
        }
    }
}

pub(super) fn name(machine: usize) -> NodeId {
    NodeId::from(format!("n{machine}"))
}

/// Returns the roles of the first machines, each in a separate zone.
pub(super) fn roles(shape: &Shape, machines: usize) -> Roles {
    let node = |i: usize| NodeRole {
        id: name(i),
        zone: format!("z{i}"),
        address: format!("127.0.0.1:{i}"),
    };
    let volume = |(i, j): (usize, usize)| VolumeRole {
        id: VolumeId::from(format!("n{i}/v{j}")),
        node: name(i),
        zone: format!("z{i}"),
        weight: 1,
    };
    let places = (0..machines).flat_map(|i| (0..shape.volumes).map(move |j| (i, j)));
    Roles {
        replicas: shape.replicas,
        nodes: (0..machines).map(node).collect(),
        volumes: places.map(volume).collect(),
        retired: Default::default(),
    }
}
