//! Runs policies that delete files and empty the trash, and undoes them, many times, with scans in
//! between and users who take their files out of the trash. Each plan must equal the one from a
//! plain set of names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use catalogue::{ActState, ActionKind, Catalogue, CatalogueError, CatalogueSettings, Progress, ScanSettings};
use policy::{FinishedRun, NameResolver, Plan, Policy, Rules, RunSettings};

const RULES: &str = "
[policy.delete]
action = 'delete'
condition = 'size > 0'

[policy.empty]
action = 'empty-trash'
older_than = '0 min'

[policy.few]
action = 'delete'
condition = 'size > 0'
trigger = { usage_of = 'count', high = '15', low = '10' }

[policy.small]
action = 'delete'
condition = 'size > 0'
trigger = { usage_of = 'owner', high = '150 K', low = '100 K' }
";

fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_millis() as i64
}

fn read(text: &str) -> Rules {
    let names = NameResolver {
        user: &|_| None,
        group: &|_| None,
        bucket: &|_| Ok(()),
    };
    Rules::read(Path::new("rules.toml"), text, &names).unwrap()
}

struct Rig {
    tree: tempfile::TempDir,
    _state: tempfile::TempDir,
    catalogue: Arc<Catalogue>,
    delete: Policy,
    empty: Policy,
    few: Policy,
    small: Policy,
}

impl Rig {
    fn new() -> Rig {
        let state = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::create(&state.path().join("files"), &CatalogueSettings::default());
        let rules = read(RULES);
        let [delete, empty, few, small] = rules.policies.try_into().unwrap();
        Rig {
            tree: tempfile::tempdir().unwrap(),
            _state: state,
            catalogue: Arc::new(catalogue.unwrap()),
            delete,
            empty,
            few,
            small,
        }
    }

    fn path(&self) -> PathBuf {
        self.tree.path().canonicalize().unwrap()
    }

    fn scan(&self) {
        // Times are compared to the millisecond.
        std::thread::sleep(std::time::Duration::from_millis(2));
        let settings = ScanSettings::default();
        let progress = Progress::default();
        self.catalogue.scan(&self.path(), &settings, &progress).unwrap();
    }

    fn plan(&self, policy: &Policy) -> Plan {
        policy::plan(&self.catalogue, policy, &[], now_ms()).unwrap()
    }

    fn run(&self, policy: &Policy) -> FinishedRun {
        let mut settings = RunSettings {
            store: None,
            stop: &AtomicBool::new(false),
            each: &mut |_| {},
        };
        policy::run(&self.catalogue, policy, self.plan(policy), &mut settings).unwrap()
    }

    fn states(&self, run: u64) -> Vec<ActState> {
        let mut states = Vec::new();
        self.catalogue
            .each_act::<CatalogueError>(Some(run), |_, _, act| {
                states.push(act.state);
                Ok(())
            })
            .unwrap();
        states
    }
}

fn names(plan: &Plan) -> BTreeSet<String> {
    let name = |path: &[u8]| {
        let begin = path.iter().rposition(|&byte| byte == b'/').unwrap() + 1;
        String::from_utf8(path[begin..].to_vec()).unwrap()
    };
    plan.items.iter().map(|item| name(&item.path)).collect()
}

/// Names on the disk and in the catalogue, and the log's record of the files in the trash.
#[derive(Default)]
struct Model {
    disk: BTreeSet<String>,
    known: BTreeSet<String>,
    trash: BTreeMap<String, (u64, u64)>,
    last_run: u64,
}

#[test]
fn what_is_planned_after_many_runs_is_what_a_set_of_names_says() {
    for seed in 0..4u64 {
        println!("seed {seed}");
        let rig = Rig::new();
        let mut model = Model::default();
        let mut state = seed;
        let mut dice = |end: u64| {
            // Knuth's generator (MMIX). Its high bits are random enough.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % end
        };
        rig.scan();
        let mut made = 0;
        for step in 0..150 {
            match dice(8) {
                0..=2 => {
                    for _ in 0..dice(6) {
                        made += 1;
                        let name = format!("{made}");
                        fs::write(rig.path().join(&name), b"x").unwrap();
                        model.disk.insert(name);
                    }
                }
                3 => {
                    rig.scan();
                    model.known = model.disk.clone();
                }
                4 | 5 => {
                    let ran = rig.run(&rig.delete);
                    model.last_run = ran.number;
                    let expected: Vec<String> = model.known.intersection(&model.disk).cloned().collect();
                    assert_eq!(ran.row.done.0 as usize, expected.len(), "step {step}");
                    for (act, name) in expected.into_iter().enumerate() {
                        model.disk.remove(&name);
                        model.trash.insert(name, (ran.number, act as u64));
                    }
                }
                6 => {
                    let ran = rig.run(&rig.empty);
                    assert_eq!(ran.row.done.0 as usize, model.trash.len(), "step {step}");
                    model.trash.clear();
                }
                _ => {
                    let undone = match model.last_run {
                        0 => Vec::new(),
                        run => policy::undo(&rig.catalogue, run, None, None).unwrap(),
                    };
                    let back: Vec<_> = undone.iter().filter(|undone| undone.error.is_none()).collect();
                    let of_run = |at: &(u64, u64)| at.0 == model.last_run;
                    assert_eq!(back.len(), model.trash.values().filter(|at| of_run(at)).count());
                    let last = model.last_run;
                    let (came, left) = std::mem::take(&mut model.trash)
                        .into_iter()
                        .partition(|(_, at)| at.0 == last);
                    model.trash = left;
                    model.disk.extend(BTreeMap::into_keys(came));
                }
            }
            let planned = names(&rig.plan(&rig.delete));
            let expected: BTreeSet<String> = model.known.intersection(&model.disk).cloned().collect();
            assert_eq!(planned, expected, "step {step}");
            let trashed = names(&rig.plan(&rig.empty));
            assert_eq!(trashed, model.trash.keys().cloned().collect(), "step {step}");
        }
        // After the trash is emptied, such a run has no open actions left.
        rig.run(&rig.empty);
        for (run, row) in rig.catalogue.runs().unwrap() {
            let states = rig.states(run);
            assert!(
                row.action != ActionKind::Delete || !states.contains(&ActState::Done),
                "run {run}"
            );
            if states.contains(&ActState::Emptied) {
                assert_eq!(row.state, ActState::Emptied, "run {run}");
            }
        }
    }
}

/// A deleted file is moved out of the trash by hand, with the identity that the log has. The next
/// scan finds it, and it is then treated like any other file. The trash can still be emptied, and
/// the missing file is not tried again forever.
#[test]
fn a_file_that_came_back_by_hand_is_planned_again() {
    let rig = Rig::new();
    fs::write(rig.path().join("a"), b"x").unwrap();
    fs::write(rig.path().join("b"), b"x").unwrap();
    rig.scan();
    let deleted = rig.run(&rig.delete);
    assert_eq!(deleted.row.done.0, 2);
    assert!(
        names(&rig.plan(&rig.delete)).is_empty(),
        "the log knows what the catalogue does not"
    );
    let trash = rig.path().join(policy::TRASH).join(deleted.number.to_string());
    fs::rename(trash.join("0/a"), rig.path().join("a")).unwrap();
    rig.scan();
    assert_eq!(names(&rig.plan(&rig.delete)), BTreeSet::from(["a".to_owned()]));
    let emptied = rig.run(&rig.empty);
    assert_eq!((emptied.row.done.0, emptied.row.skipped), (1, 1));
    assert_eq!(rig.states(deleted.number), [ActState::Emptied; 2]);
    assert_eq!(rig.run(&rig.empty).row.planned.0, 0, "it is not planned again");
    let undone = policy::undo(&rig.catalogue, deleted.number, None, None).unwrap();
    let said = undone[0].error.as_deref().unwrap();
    assert!(said.contains("was emptied"), "{said}");
}

/// While the tree is not mounted, its trash is not considered empty. It is found again when the
/// tree is back.
#[test]
fn the_trash_of_a_tree_that_is_away_is_not_forgotten() {
    let rig = Rig::new();
    let (root, aside) = (rig.path().join("mounted"), rig.path().join("aside"));
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a"), b"x").unwrap();
    let settings = ScanSettings::default();
    rig.catalogue
        .scan(&root, &settings, &Progress::default())
        .unwrap();
    let deleted = rig.run(&rig.delete);
    fs::rename(&root, &aside).unwrap();
    fs::create_dir(&root).unwrap();
    assert_eq!(rig.run(&rig.empty).row.skipped, 1);
    assert_eq!(rig.states(deleted.number), [ActState::Done]);
    fs::remove_dir(&root).unwrap();
    fs::rename(&aside, &root).unwrap();
    assert_eq!(rig.run(&rig.empty).row.done.0, 1);
    assert_eq!(rig.states(deleted.number), [ActState::Emptied]);
}

/// Files in the trash count as free, and so do files removed since the last scan. A policy that
/// runs again, every minute or day, takes no further files because of them.
#[test]
fn a_trigger_by_usage_is_satisfied_by_what_was_taken_once() {
    let check = |policy: fn(&Rig) -> &Policy, size: usize, left: usize| {
        let rig = Rig::new();
        let policy = policy(&rig);
        let is_due = || policy::is_due(&rig.catalogue, policy, now_ms()).unwrap();
        let on_disk = || {
            let files = fs::read_dir(rig.path()).unwrap().map(|entry| entry.unwrap());
            files.filter(|entry| entry.file_type().unwrap().is_file()).count()
        };
        rig.scan();
        assert!(!is_due());
        for n in 0..20 {
            fs::write(rig.path().join(format!("{n}")), vec![b'x'; size]).unwrap();
        }
        rig.scan();
        assert!(is_due());
        rig.run(policy);
        assert_eq!(on_disk(), left, "{}", policy.name);
        for step in ["nothing", "scan", "empty", "scan"] {
            match step {
                "scan" => rig.scan(),
                "empty" => drop(rig.run(&rig.empty)),
                _ => {}
            }
            assert!(!is_due(), "{}: after {step}", policy.name);
            assert!(
                names(&rig.plan(policy)).is_empty(),
                "{}: after {step}",
                policy.name
            );
        }
        assert_eq!(on_disk(), left, "{}", policy.name);
        // Further files make it due again.
        for n in 20..40 {
            fs::write(rig.path().join(format!("{n}")), vec![b'x'; size]).unwrap();
        }
        rig.scan();
        assert!(is_due(), "{}", policy.name);
    };
    // The directory itself is an entry, too.
    check(|rig| &rig.few, 1, 9);
    check(|rig| &rig.small, 10 << 10, 9);
}

/// The log shows that a run was undone, even if the process was killed in between.
#[test]
fn the_log_after_an_undo_is_right() {
    let rig = Rig::new();
    for name in ["a", "b", "c"] {
        fs::write(rig.path().join(name), name).unwrap();
    }
    rig.scan();
    let ran = rig.run(&rig.delete);
    let state = |number: u64| {
        let runs = rig.catalogue.runs().unwrap();
        let (_, row) = runs.into_iter().find(|(run, _)| *run == number).unwrap();
        (row.state, row.end)
    };
    let undone = policy::undo(&rig.catalogue, ran.number, Some(1), None).unwrap();
    assert!(undone.len() == 1 && undone[0].error.is_none());
    assert_eq!(
        state(ran.number),
        (ActState::Done, "1 taken back, 2 not".to_owned())
    );
    // As if a process was killed between the move and the log.
    let mut first = None;
    let find = |_, act, row: catalogue::ActRow| {
        if act == 0 {
            first = Some(row);
        }
        Ok::<(), CatalogueError>(())
    };
    rig.catalogue.each_act(Some(ran.number), find).unwrap();
    let first = first.unwrap();
    let path = |bytes: &[u8]| PathBuf::from(std::str::from_utf8(bytes).unwrap());
    fs::rename(path(&first.to), path(&first.path)).unwrap();
    let mut row = rig.catalogue.runs().unwrap().pop().unwrap().1;
    row.end = "it was being taken back".to_owned();
    let notes = catalogue::LogBatch {
        runs: vec![(ran.number, row)],
        ..catalogue::LogBatch::default()
    };
    rig.catalogue.write_log(&notes).unwrap();
    policy::settle(&rig.catalogue).unwrap();
    assert_eq!(
        rig.states(ran.number),
        [ActState::Undone, ActState::Undone, ActState::Done]
    );
    assert_eq!(
        state(ran.number),
        (ActState::Done, "2 taken back, 1 not".to_owned())
    );
    policy::undo(&rig.catalogue, ran.number, None, None).unwrap();
    assert_eq!(state(ran.number), (ActState::Undone, String::new()));
    // The policy runs again as a new run, and the undone run stays unchanged.
    let again = rig.run(&rig.delete);
    assert_eq!((again.number, again.row.done.0), (ran.number + 1, 3));
    assert_eq!(state(ran.number), (ActState::Undone, String::new()));
}

fn commands(rig: &Rig, keys: &str) -> Policy {
    let text = format!("[policy.c]\naction = 'command'\ncondition = 'size > 0'\n{keys}\n");
    let mut policy = read(&text).policies.pop().unwrap();
    policy.scope = vec![rig.path()];
    policy
}

/// The percentage of failures is checked from the 20th file on, also among files that are logged
/// together.
#[test]
fn a_run_ends_at_its_share_of_errors() {
    let rig = Rig::new();
    for number in 0..60 {
        fs::write(rig.path().join(format!("{number:02}")), "x").unwrap();
    }
    rig.scan();
    let policy = commands(&rig, "command = ['false']\nlimits = { errors = '50%' }");
    let ran = rig.run(&policy);
    assert_eq!((ran.row.done.0, ran.row.failed), (0, 20), "{}", ran.row.end);
    assert!(ran.row.end.contains("100% failed"), "{}", ran.row.end);
    // One of three fails, which is within the limit.
    let policy = commands(
        &rig,
        "command = ['sh', '-c', 'test $(( 1{name} % 3 )) != 0']\nlimits = { errors = '50%' }",
    );
    let ran = rig.run(&policy);
    assert_eq!((ran.row.done.0, ran.row.failed, &*ran.row.end), (40, 20, ""));
}

/// A command that takes too long or prints too much is killed, with the processes it started.
#[test]
fn commands_have_limits() {
    let rig = Rig::new();
    fs::write(rig.path().join("a"), "x").unwrap();
    rig.scan();
    let why = |run: u64| {
        let mut why = String::new();
        let find = |_, _, row: catalogue::ActRow| {
            why = row.why;
            Ok::<(), CatalogueError>(())
        };
        rig.catalogue.each_act(Some(run), find).unwrap();
        why
    };
    let marker = rig.path().join("left");
    // The command itself ends at once; its child process would write after a second.
    let script = format!("(sleep 1; touch {}) & echo begun >&2", marker.display());
    let policy = commands(
        &rig,
        &format!("command = ['sh', '-c', '{script}']\ntime_max = '0.2 s'"),
    );
    let ran = rig.run(&policy);
    assert_eq!(ran.row.failed, 1);
    let said = why(ran.number);
    assert!(
        said.contains("took more than 0.2 s (time_max)") && said.contains("begun"),
        "{said}"
    );
    let policy = commands(&rig, "command = ['yes']\noutput_max = '1 MiB'");
    let said = why(rig.run(&policy).number);
    assert!(
        said.contains("printed more than 1048576 bytes (output_max)"),
        "{said}"
    );
    let policy = commands(&rig, "command = ['sh', '-c', 'echo no >&2; exit 3']");
    let said = why(rig.run(&policy).number);
    assert!(said.contains("exit status: 3: no"), "{said}");
    std::thread::sleep(std::time::Duration::from_millis(1000));
    assert!(!marker.exists());
}

/// Patterns match characters. Matching bytes, `[é]*` would match every name that begins with one of
/// its bytes.
#[test]
fn a_policy_deletes_what_its_pattern_names() {
    let rig = Rig::new();
    for name in ["é.txt", "ß.log", "été.pdf", "a.txt"] {
        fs::write(rig.path().join(name), "x").unwrap();
    }
    rig.scan();
    let planned = |condition: &str| {
        let text = format!("[policy.p]\naction = 'delete'\ncondition = '{condition}'\n");
        names(&rig.plan(&read(&text).policies.pop().unwrap()))
    };
    let set = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(planned("name == \"[é]*\""), set(&["é.txt", "été.pdf"]));
    assert_eq!(planned("name == \"?.txt\""), set(&["é.txt", "a.txt"]));
    assert_eq!(
        planned("name == \"*.{txt,log}\""),
        set(&["é.txt", "a.txt", "ß.log"])
    );
}
