//! Retention of the log and of digests, compared with a model that checks for each row whether it
//! is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::AtomicBool;

use catalogue::{
    ActRow, ActState, ActionKind, Attributes, Digest, FileId, FileVersion, Kind, LogBatch, RunRow, Visit,
};

use crate::model::{Dice, Rig};

const DAY_MS: i64 = 86_400_000;
const KEPT_DAYS: i64 = 400;
const STATES: [ActState; 6] = [
    ActState::Begun,
    ActState::Done,
    ActState::Skipped,
    ActState::Failed,
    ActState::Undone,
    ActState::Emptied,
];

fn action_of(name: &str) -> ActionKind {
    name.parse().unwrap_or_else(|_| ActionKind::Other(name.into()))
}

fn run_row(policy: &str, action: &str, state: ActState, ended_ms: i64) -> RunRow {
    RunRow {
        policy: policy.to_owned(),
        action: action_of(action),
        cause: String::new(),
        state,
        begun_ms: ended_ms - 5,
        ended_ms,
        planned: (0, 0),
        done: (0, 0),
        skipped: 0,
        failed: 0,
        end: String::new(),
    }
}

fn act_row(action: &str, state: ActState, id: FileId, at_ms: i64) -> ActRow {
    ActRow {
        action: action_of(action),
        state,
        at_ms,
        path: b"/tree/file".to_vec(),
        to: Vec::new(),
        version: FileVersion {
            id,
            ..FileVersion::default()
        },
        access: (0, 0, 0),
        why: String::new(),
    }
}

fn digest(id: FileId) -> Digest {
    Digest {
        version: FileVersion {
            id,
            ..FileVersion::default()
        },
        sha256: [7; 32],
        verified_ms: 1,
        damaged_ms: None,
        copy: None,
    }
}

fn files_of(rig: &Rig) -> Vec<Attributes> {
    let mut files = Vec::new();
    let top = rig.catalogue.locate(&rig.path()).unwrap().unwrap();
    rig.catalogue
        .each::<catalogue::CatalogueError>(top, |found| {
            if found.attributes.kind == Kind::File {
                files.push(found.attributes.clone());
            }
            Ok(Visit::Descend)
        })
        .unwrap();
    files
}

/// A model of the log.
#[derive(Default)]
struct Log {
    runs: BTreeMap<u64, RunRow>,
    acts: BTreeMap<(u64, u64), ActRow>,
}

impl Log {
    fn of(rig: &Rig) -> Log {
        let mut log = Log::default();
        log.runs.extend(rig.catalogue.runs().unwrap());
        rig.catalogue
            .each_act::<catalogue::CatalogueError>(None, |run, act, row| {
                log.acts.insert((run, act), row);
                Ok(())
            })
            .unwrap();
        log
    }

    fn forget(&mut self, now_ms: i64) {
        let of = |run: u64| self.acts.range((run, 0)..=(run, u64::MAX)).map(|(_, act)| act);
        let is_old = |number: &u64, run: &RunRow| {
            let holds = |act: &ActRow| {
                act.state == ActState::Begun
                    || (act.action == ActionKind::Delete && act.state == ActState::Done)
            };
            now_ms - run.ended_ms > KEPT_DAYS * DAY_MS
                && (run.state == ActState::Emptied || !of(*number).any(holds))
        };
        let old: BTreeSet<u64> = self
            .runs
            .iter()
            .filter(|(number, run)| is_old(number, run))
            .map(|(number, _)| *number)
            .collect();
        let last: BTreeSet<u64> = self
            .runs
            .iter()
            .map(|(number, run)| (run.policy.clone(), *number))
            .collect::<BTreeMap<_, _>>()
            .into_values()
            .collect();
        self.acts.retain(|(run, _), _| !old.contains(run));
        self.runs
            .retain(|number, _| !old.contains(number) || last.contains(number));
    }
}

/// Three years with at least one run per day: the log stays bounded and equals the model.
#[test]
fn the_log_of_many_runs_has_an_end_and_keeps_what_is_needed() {
    for seed in 0..3 {
        println!("seed {seed}");
        let rig = Rig::new();
        let mut dice = Dice::new(seed);
        let mut model = Log::default();
        let mut rows_max = 0;
        for day in 0..1100i64 {
            let now_ms = day * DAY_MS + 1;
            let number = model.runs.keys().next_back().map_or(1, |last| last + 1);
            let action = ["delete", "release", "move", "verify", "empty-trash"][dice.below(5)];
            // One policy runs for a while and then never again.
            let policy = if day < 30 {
                "once"
            } else {
                ["a", "b", "c"][dice.below(3)]
            };
            let state = [
                ActState::Done,
                ActState::Failed,
                ActState::Begun,
                ActState::Emptied,
            ][dice.below(4)];
            let mut notes = LogBatch::default();
            let run = run_row(policy, action, state, now_ms);
            for act in 0..dice.below(4) as u64 {
                // Almost all trashed files are deleted for good at some time.
                let is_rare = state == ActState::Emptied || dice.below(40) > 0;
                let acted = match (STATES[dice.below(6)], is_rare) {
                    (ActState::Begun | ActState::Done, true) if action == "delete" => ActState::Emptied,
                    (ActState::Begun, true) => ActState::Done,
                    (state, _) => state,
                };
                let row = act_row(action, acted, FileId::default(), now_ms);
                model.acts.insert((number, act), row.clone());
                notes.acts.push((number, act, row));
            }
            model.runs.insert(number, run.clone());
            notes.runs.push((number, run));
            rig.catalogue.write_log(&notes).unwrap();
            if dice.below(30) == 0 {
                let before = model.acts.len();
                model.forget(now_ms);
                let removed = rig.catalogue.forget_old_runs(now_ms).unwrap();
                assert_eq!(removed as usize, before - model.acts.len(), "day {day}");
                let found = Log::of(&rig);
                assert!(found.runs == model.runs && found.acts == model.acts, "day {day}");
                rows_max = rows_max.max(found.runs.len());
            }
        }
        // 400 days, the 30 days between two calls, the runs with files in the trash, and the last
        // run of each policy.
        assert!(rows_max < 520, "{rows_max}");
        assert!(model.runs.values().any(|run| run.policy == "once"));
        let numbers: Vec<u64> = model.runs.keys().copied().collect();
        assert_eq!(numbers.last(), Some(&1100), "the next number is a new one");
    }
}

/// More actions than one batch holds, in several runs.
#[test]
fn a_run_of_many_actions_is_removed_whole() {
    let rig = Rig::new();
    for run in 1..=2 {
        let mut notes = LogBatch::default();
        notes
            .runs
            .push((run, run_row("p", "verify", ActState::Done, run as i64)));
        for act in 0..9000 {
            notes
                .acts
                .push((run, act, act_row("verify", ActState::Done, FileId::default(), 1)));
        }
        rig.catalogue.write_log(&notes).unwrap();
    }
    assert_eq!(rig.catalogue.forget_old_runs(KEPT_DAYS * DAY_MS).unwrap(), 0);
    assert_eq!(
        rig.catalogue.forget_old_runs((KEPT_DAYS + 1) * DAY_MS).unwrap(),
        18_000
    );
    let left = Log::of(&rig);
    assert_eq!(left.runs.into_keys().collect::<Vec<_>>(), [2]);
    assert!(left.acts.is_empty());
}

/// Digests of files in a tree, of removed files, and of files with actions in the log.
#[test]
fn digests_are_kept_of_files_in_trees_and_of_what_can_be_taken_back() {
    for seed in 0..3 {
        println!("seed {seed}");
        let rig = Rig::new();
        let mut dice = Dice::new(seed);
        for n in 0..200 {
            fs::write(rig.path().join(format!("{n}")), b"x").unwrap();
        }
        rig.scan();
        let mut digests: BTreeSet<FileId> = BTreeSet::new();
        let mut acts: Vec<ActRow> = Vec::new();
        for round in 0..12u64 {
            let files = files_of(&rig);
            let mut notes = LogBatch::default();
            for file in &files {
                if dice.below(2) == 0 {
                    digests.insert(file.id);
                    notes.digests.push(digest(file.id));
                }
                if dice.below(4) == 0 {
                    let action = ["delete", "release", "move", "verify", "empty-trash"][dice.below(5)];
                    let row = act_row(action, STATES[dice.below(6)], file.id, 1);
                    notes.acts.push((round, acts.len() as u64, row.clone()));
                    acts.push(row);
                }
            }
            rig.catalogue.write_log(&notes).unwrap();
            for n in 0..200 {
                let path = rig.path().join(format!("{n}"));
                match dice.below(8) {
                    0 | 1 => drop(fs::remove_file(&path)),
                    2 => fs::write(&path, b"more").unwrap(),
                    // The same file under another name.
                    3 => drop(fs::rename(&path, rig.path().join(format!("{}", dice.below(200))))),
                    _ => {}
                }
            }
            rig.scan();
            let there: BTreeSet<FileId> = files_of(&rig).iter().map(|file| file.id).collect();
            let is_needed = |id: &FileId| {
                there.contains(id)
                    || acts.iter().any(|act| {
                        let is_open = act.state == ActState::Done
                            && matches!(
                                act.action,
                                ActionKind::Delete | ActionKind::Release | ActionKind::Move
                            );
                        act.version.id == *id && (is_open || act.state == ActState::Begun)
                    })
            };
            let before = digests.len();
            let stop = AtomicBool::new(true);
            assert_eq!(
                rig.catalogue.forget_digests(&stop).unwrap(),
                0,
                "it was requested to stop"
            );
            digests.retain(is_needed);
            let removed = rig.catalogue.forget_digests(&AtomicBool::new(false)).unwrap();
            assert_eq!(removed as usize, before - digests.len(), "round {round}");
            for id in &digests {
                assert!(
                    rig.catalogue.digest(*id).unwrap().is_some(),
                    "round {round}: {id:?}"
                );
            }
            assert_eq!(rig.catalogue.forget_digests(&AtomicBool::new(false)).unwrap(), 0);
        }
        assert!(digests.len() < 200 + acts.len());
    }
}

/// Every scan does this without being asked.
#[test]
fn the_end_of_a_scan_forgets_what_nobody_needs() {
    let rig = Rig::new();
    fs::write(rig.path().join("stays"), b"x").unwrap();
    let gone = FileId {
        volume: 9,
        inode: 9,
        born_ns: 9,
    };
    let old = run_row("p", "verify", ActState::Done, 1);
    let notes = LogBatch {
        runs: vec![(1, old.clone()), (2, old)],
        acts: vec![(1, 0, act_row("verify", ActState::Done, gone, 1))],
        digests: vec![digest(gone)],
    };
    rig.catalogue.write_log(&notes).unwrap();
    rig.scan();
    let log = Log::of(&rig);
    assert_eq!(log.runs.into_keys().collect::<Vec<_>>(), [2]);
    assert!(log.acts.is_empty());
    assert!(rig.catalogue.digest(gone).unwrap().is_none());
    let there = files_of(&rig)[0].id;
    rig.catalogue
        .write_log(&LogBatch {
            digests: vec![digest(there), digest(gone)],
            ..LogBatch::default()
        })
        .unwrap();
    rig.scan();
    let is_known = |id| rig.catalogue.digest(id).unwrap().is_some();
    assert!(is_known(gone), "digests are searched once a day");
    assert_eq!(rig.catalogue.forget_digests(&AtomicBool::new(false)).unwrap(), 1);
    assert!(is_known(there) && !is_known(gone));
}

/// All earlier changes are in the catalogue. A scan of a part of the tree does not count.
#[test]
fn what_is_known_of_a_tree_is_known_until_its_last_whole_scan_began() {
    let rig = Rig::new();
    fs::create_dir(rig.path().join("part")).unwrap();
    let path = rig.path().as_os_str().as_encoded_bytes().to_vec();
    assert_eq!(rig.catalogue.known_until_ms(&path).unwrap(), 0);
    let scanned = rig.scan();
    let known_ms = || rig.catalogue.known_until_ms(&path).unwrap();
    assert_eq!(known_ms(), scanned.row.begun_ms);
    std::thread::sleep(std::time::Duration::from_millis(5));
    rig.scan_of(&rig.path().join("part"));
    assert_eq!(known_ms(), scanned.row.begun_ms);
    let again = rig.scan();
    assert!(again.row.begun_ms > scanned.row.begun_ms);
    assert_eq!(known_ms(), again.row.begun_ms);
}
