//! The decision against a plain model: whatever is found, carrying out the steps terminates, loses
//! nothing, and leaves R good replicas if possible.

use std::collections::{BTreeMap, BTreeSet};

use store_protocol::{Key, ReplicaState, SurveyEntry, Version, VolumeId};
use store_testkit::Dice;

use crate::upkeep::reconcile::gather::Away;
use crate::upkeep::reconcile::{Finding, ObjectState, Plan, Rules, Step, VolumeReports, decide};

/// The true state of a replica, as opposed to the state in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    Good,
    /// Bad, but not yet discovered.
    Hidden,
    Bad,
    NoFile,
}

/// One key on some volumes.
#[derive(Debug, Clone)]
struct Model {
    home: Vec<VolumeId>,
    fallbacks: Vec<VolumeId>,
    /// Replicas by volume and version.
    held: BTreeMap<(VolumeId, u64), Truth>,
    away: BTreeSet<VolumeId>,
    full: BTreeSet<VolumeId>,
    known_full: BTreeSet<VolumeId>,
    long: bool,
    older_layouts: bool,
    /// Versions that are tombstones.
    deleted: BTreeSet<u64>,
}

const NOW_MS: u64 = 1_000_000;

fn version(number: u64) -> Version {
    Version {
        term: store_protocol::Term::NONE,
        millis: number,
        counter: 0,
        node: 0,
    }
}

impl Model {
    fn random(dice: &mut Dice) -> Self {
        let count = 2 + dice.roll(4);
        let mut volumes: Vec<VolumeId> = (0..count).map(|i| format!("n/{i}").into()).collect();
        for i in (1..volumes.len()).rev() {
            volumes.swap(i, dice.roll(i as u64 + 1) as usize);
        }
        let replicas = 1 + dice.roll(3.min(count)) as usize;
        let fallbacks = volumes.split_off(replicas.min(volumes.len()));
        let mut model = Self {
            home: volumes,
            fallbacks,
            held: BTreeMap::new(),
            away: BTreeSet::new(),
            full: BTreeSet::new(),
            known_full: BTreeSet::new(),
            long: dice.roll(2) == 0,
            older_layouts: dice.roll(3) == 0,
            deleted: (1..=3).filter(|_| dice.roll(4) == 0).collect(),
        };
        let all: Vec<_> = model.home.iter().chain(&model.fallbacks).cloned().collect();
        for volume in all {
            for number in 1..=3 {
                let truth = match dice.roll(12) {
                    0..4 => Truth::Good,
                    4 => Truth::Hidden,
                    5 => Truth::Bad,
                    6 => Truth::NoFile,
                    _ => continue,
                };
                model.held.insert((volume.clone(), number), truth);
            }
            if dice.roll(8) == 0 {
                model.away.insert(volume.clone());
            }
            if dice.roll(10) == 0 {
                model.full.insert(volume);
            }
        }
        model
    }

    fn key() -> Key {
        Key::new("bucket", "key").expect("a key")
    }

    fn survey(&self) -> VolumeReports {
        let all = self.home.iter().chain(&self.fallbacks);
        let (away, there): (Vec<_>, Vec<_>) = all.partition(|volume| self.away.contains(*volume));
        let mut found = VolumeReports {
            home: self.home.clone(),
            copies: self.home.len(),
            fallbacks: self.fallbacks.clone(),
            older_layouts: self.older_layouts,
            whole: true,
            full: self.known_full.clone(),
            ..VolumeReports::default()
        };
        for volume in away {
            let (long, detail) = (self.long, String::new());
            found.away.insert(volume.clone(), Away { long, detail });
        }
        for volume in there {
            let held = self.held.iter().filter(|((at, _), _)| at == volume);
            let surveyed = held
                .map(|((_, number), truth)| self.surveyed(*number, *truth))
                .collect();
            found.volumes.insert(volume.clone(), surveyed);
        }
        found
    }

    fn surveyed(&self, number: u64, truth: Truth) -> SurveyEntry {
        let (key, version, deleted) = (Self::key(), version(number), self.deleted.contains(&number));
        let state = match truth {
            Truth::Good | Truth::Hidden => ReplicaState::Good,
            Truth::Bad => ReplicaState::Bad(String::new()),
            Truth::NoFile => {
                return SurveyEntry::FileMissing {
                    key,
                    version,
                    deleted,
                };
            }
        };
        let blake3 = format!("digest of {number}");
        SurveyEntry::Replica {
            key,
            version,
            deleted,
            size: number,
            blake3,
            state,
            bad_blocks: None,
        }
    }

    fn decide(&self) -> Plan {
        let rules = Rules {
            now_ms: NOW_MS,
            tombstone_grace_ms: 1000,
        };
        decide(&self.survey(), &rules)
    }

    /// Carries out a plan as the executor does. Returns whether anything changed.
    fn apply(&mut self, plan: &Plan) -> bool {
        let before = (self.held.clone(), self.known_full.clone());
        for finding in &plan.findings {
            let mut certain = BTreeSet::new();
            for step in &finding.steps {
                self.step(finding, step, &mut certain);
            }
        }
        before != (self.held.clone(), self.known_full.clone())
    }

    fn step(&mut self, finding: &Finding, step: &Step, certain: &mut BTreeSet<VolumeId>) {
        let newest = finding.version.millis;
        match step {
            Step::Copy(copy) => {
                assert!(!self.away.contains(&copy.to), "a copy to a volume that is away");
                if self.full.contains(&copy.to) {
                    self.known_full.insert(copy.to.clone());
                    return;
                }
                for source in &copy.from {
                    let truth = self.held[&(source.clone(), newest)];
                    if truth == Truth::Good || finding.deleted {
                        self.held.insert((copy.to.clone(), newest), Truth::Good);
                        certain.insert(copy.to.clone());
                        return;
                    }
                    // It was hidden at the time of the decision; another copy of this round may
                    // have discovered it.
                    assert!(
                        matches!(truth, Truth::Hidden | Truth::Bad),
                        "{source} is no source"
                    );
                    self.held.insert((source.clone(), newest), Truth::Bad);
                }
            }
            Step::Verify { on, .. } => match self.held.get_mut(&(on.clone(), newest)) {
                Some(Truth::Good) => drop(certain.insert(on.clone())),
                Some(truth @ Truth::Hidden) => *truth = Truth::Bad,
                _ => {}
            },
            Step::Drop { on, version, home } if home.iter().all(|volume| certain.contains(volume)) => {
                self.may_remove(newest);
                assert!(version.millis < newest || !self.home.contains(on));
                self.held.remove(&(on.clone(), version.millis));
            }
            Step::Collect { home } if home.iter().all(|volume| certain.contains(volume)) => {
                self.may_remove(newest);
                assert!(self.deleted.contains(&newest) && !self.older_layouts);
                assert!(
                    self.held
                        .keys()
                        .all(|(volume, number)| *number == newest && home.contains(volume))
                );
                self.held.clear();
            }
            Step::Drop { .. } | Step::Collect { .. } => {}
        }
    }

    /// Checks that a removal is allowed: every volume is present, and home has R truly good
    /// replicas of the newest version.
    fn may_remove(&self, newest: u64) {
        assert!(self.away.is_empty());
        for volume in &self.home {
            assert_eq!(
                self.held.get(&(volume.clone(), newest)),
                Some(&Truth::Good),
                "{volume}"
            );
        }
    }

    /// Returns the newest version on volumes that answer, and whether one of them has a truly good
    /// replica of it.
    fn newest(&self) -> Option<(u64, bool)> {
        let there = || {
            self.held
                .iter()
                .filter(|((volume, _), _)| !self.away.contains(volume))
        };
        let newest = there().map(|((_, number), _)| *number).max()?;
        let good = there().any(|((_, number), truth)| *number == newest && *truth == Truth::Good);
        Some((newest, good))
    }
}

#[test]
fn steps_end_and_lose_nothing() {
    for seed in 0..60_000 {
        let mut dice = Dice(seed);
        let start = Model::random(&mut dice);
        let run = std::panic::catch_unwind(|| check(start.clone()));
        assert!(run.is_ok(), "seed {seed}: {start:#?}");
    }
}

fn check(start: Model) {
    let mut model = start.clone();
    let mut rounds = 0;
    while model.apply(&model.decide()) {
        rounds += 1;
        assert!(rounds < 12, "the reconciler does not finish");
    }
    let Some((newest, good)) = start.newest() else {
        return;
    };
    let tombstone = start.deleted.contains(&newest);
    if !good && !tombstone {
        // The object is lost, at least once hidden damage was discovered: every replica is still
        // there.
        assert!(start.held.keys().all(|at| model.held.contains_key(at)));
        return;
    }
    let plan = model.decide();
    let Some(finding) = plan.findings.first() else {
        assert!(tombstone, "only tombstones may be removed");
        return;
    };
    assert_eq!(
        (finding.version.millis, &finding.state),
        (newest, &ObjectState::Safe)
    );
    let reachable = |volume: &&VolumeId| !model.away.contains(*volume) && !model.full.contains(*volume);
    for volume in model.home.iter().filter(reachable) {
        assert!(finding.good.contains(volume), "{volume} has no good replica");
    }
    // With enough space and volumes there are R good replicas, unless absent volumes still have
    // time.
    let able = model
        .home
        .iter()
        .chain(&model.fallbacks)
        .filter(reachable)
        .count();
    if model.long || model.away.is_empty() {
        assert!(finding.good.len() >= model.home.len().min(able), "{finding:?}");
    }
    if model.away.is_empty() && model.full.is_empty() {
        assert_eq!(
            model.held.len(),
            model.home.len(),
            "exactly R replicas must be left"
        );
    }
}
