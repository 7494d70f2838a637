//! Faults of a simulated cluster while clients use it: failures of disks, machines and network,
//! upkeep at any time, and changes of the layout, some of them concurrent.

use std::sync::Arc;
use std::time::Duration;

use cluster::apply_layout;
use placement::Roles;
use store::Store;
use store::upkeep::{RepairOptions, repair_all, scrub_all};
use store_testkit::Dice;
use tokio::time::sleep;
use volume::CRASH_POINTS;

use super::super::disk::Fault;
use super::World;
use super::lines::Mood;
use super::machines::roles;

/// Age at which tombstones are removed. Longer than any operation here.
const TOMBSTONE_GRACE: Duration = Duration::from_hours(1);

impl World {
    /// Injects faults until the round ends.
    pub(super) async fn misfortune(self: Arc<Self>, seed: u64) {
        let mut dice = Dice(seed);
        while !self.is_over() {
            sleep(Duration::from_millis(5 + dice.roll(60))).await;
            let machine = dice.roll(self.machines.shape.machines as u64) as usize;
            if let Err(why) = self.befall(machine, &mut dice).await {
                return self.wrong(why);
            }
        }
    }

    async fn befall(&self, machine: usize, dice: &mut Dice) -> Result<(), String> {
        let net = &self.machines.board.net;
        let volume = dice.roll(self.machines.shape.volumes as u64) as usize;
        let home = &self.machines.homes[machine][volume];
        match dice.roll(24) {
            0..6 => {
                let point = CRASH_POINTS[dice.roll(CRASH_POINTS.len() as u64) as usize];
                home.inject(Some(match dice.roll(3) {
                    0 => Fault::StopAt(1 + dice.roll(40)),
                    _ => Fault::StopAtPoint(point),
                }));
            }
            6..10 => {
                let fault = match dice.roll(5) {
                    0 => Fault::Sync(1 + dice.roll(4)),
                    1 => Fault::TornWrite(1 + dice.roll(4)),
                    2 => Fault::Read(1 + dice.roll(4)),
                    3 => Fault::Full,
                    _ => Fault::NearlyFull,
                };
                self.trace.line(format_args!("{}: {fault:?}", home.id));
                home.inject(Some(fault));
            }
            10 => {
                self.trace.line(format_args!("machine {machine} is killed"));
                self.machines.crash(machine)?;
            }
            11 | 12 => {
                self.trace.count("machines paused");
                self.trace.line(format_args!("machine {machine} is paused"));
                net.stop(machine);
            }
            13 | 14 => {
                let other = dice.roll(self.machines.shape.machines as u64) as usize;
                self.trace.count("connections cut");
                self.trace.line(format_args!(
                    "{machine} and {other} are disconnected from each other"
                ));
                net.cut(machine, other);
            }
            15 => {
                let mood = match dice.roll(2) {
                    0 => Mood::Silent,
                    _ => Mood::Slow(Duration::from_millis(1 + dice.roll(30))),
                };
                self.trace.count("volumes slow or silent");
                self.trace.line(format_args!("{} is {mood:?}", home.id));
                self.machines.board.moods.lock().insert(home.id.clone(), mood);
            }
            16 => self.flip_any(home, dice)?,
            17 => self.jump(dice),
            18..21 => {
                net.reconnect();
                (0..self.machines.shape.machines).for_each(|machine| net.resume(machine));
                self.machines.board.moods.lock().clear();
            }
            _ => {
                if net.is_down(machine) {
                    self.machines.restart(machine).await?;
                }
            }
        }
        Ok(())
    }

    /// The wall clock of all machines jumps by up to four minutes.
    fn jump(&self, dice: &mut Dice) {
        let by = i64::try_from(dice.roll(480_000)).unwrap_or(0) - 240_000;
        self.trace.count("clock jumps");
        self.trace.line(format_args!("the wall clock jumps by {by} ms"));
        crate::surroundings::jump(by);
    }

    /// Runs upkeep on random machines until the round ends.
    pub(super) async fn upkeep(self: Arc<Self>, seed: u64) {
        let mut dice = Dice(seed);
        while !self.is_over() {
            sleep(Duration::from_millis(50 + dice.roll(400))).await;
            let machine = dice.roll(self.machines.shape.machines as u64) as usize;
            let Some((store, life)) = self.machines.running(machine) else {
                continue;
            };
            let net = &self.machines.board.net;
            let is_scrub = dice.roll(4) == 0;
            let work = async {
                if is_scrub {
                    let topology = store.cluster().topology();
                    let report = scrub_all(&topology, &[], None, &|_| {}).await;
                    self.trace.count("scrubs");
                    self.trace.line(format_args!("scrub by {machine}: {report:?}"));
                } else {
                    self.repair(&store, machine).await;
                }
            };
            tokio::select! {
                biased;
                () = net.killed(machine, life) => self.trace.line(format_args!("the upkeep of {machine} is interrupted")),
                () = work => {}
            }
        }
    }

    /// Runs one repair of everything.
    pub(super) async fn repair(&self, store: &Store, machine: usize) -> store::upkeep::RepairReport {
        let options = RepairOptions {
            tombstone_grace: TOMBSTONE_GRACE,
            ..RepairOptions::default()
        };
        let report = repair_all(store.cluster(), &options, &|_| {}).await;
        self.trace.count("repairs");
        self.trace.line(format_args!("repair by {machine}: {report:?}"));
        report
    }

    /// Changes the layout until the round ends, sometimes from two machines concurrently.
    pub(super) async fn layouts(self: Arc<Self>, seed: u64) {
        let mut dice = Dice(seed);
        while !self.is_over() {
            sleep(Duration::from_millis(100 + dice.roll(600))).await;
            let machines = self.machines.shape.machines as u64;
            let (one, other) = (dice.roll(machines) as usize, dice.roll(machines) as usize);
            let (first, second) = (dice.roll(u64::MAX), dice.roll(u64::MAX));
            match dice.roll(3) {
                0 => continue,
                1 => self.change_layout(one, first).await,
                _ => {
                    tokio::join!(self.change_layout(one, first), self.change_layout(other, second));
                }
            }
        }
    }

    pub(super) async fn change_layout(&self, machine: usize, seed: u64) {
        let mut dice = Dice(seed);
        sleep(Duration::from_millis(dice.roll(12))).await;
        let Some((store, life)) = self.machines.running(machine) else {
            return;
        };
        let net = &self.machines.board.net;
        let wanted = self.other_roles(&store.cluster().topology().layouts.current.roles, &mut dice);
        let weights: Vec<_> = wanted.volumes.iter().map(|volume| volume.weight).collect();
        self.trace.line(format_args!(
            "{machine} proposes a layout with the weights {weights:?}"
        ));
        tokio::select! {
            biased;
            () = net.killed(machine, life) => {}
            applied = apply_layout(store.cluster(), wanted) => match applied {
                Ok(layouts) => {
                    self.trace.count("layouts changed");
                    self.trace.line(format_args!("layout {} of {machine} is in force", layouts.current.number));
                    self.in_force(&layouts, &format!("machine {machine}"));
                }
                Err(error) => {
                    self.trace.count("layouts refused");
                    self.trace.line(format_args!("{machine} cannot change the layout: {error}"));
                }
            }
        }
    }

    /// Returns different roles: one machine more, or another weight.
    fn other_roles(&self, now: &Roles, dice: &mut Dice) -> Roles {
        let shape = &self.machines.shape;
        let mut roles = if now.nodes.len() < shape.machines && dice.roll(2) == 0 {
            roles(shape, now.nodes.len() + 1)
        } else {
            now.clone()
        };
        let at = dice.roll(roles.volumes.len() as u64) as usize;
        roles.volumes[at].weight = 1 + dice.roll(2) as u32;
        roles
    }
}
