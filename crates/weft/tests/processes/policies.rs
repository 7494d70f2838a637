//! Scenario: crawl files are copied into a store, verified there and released, and the program is
//! killed at every step. At any moment each file is in its place or has two intact replicas, and
//! the next run completes the work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::program::{run, said, weft};

const FILES: usize = 4;

struct PolicyFolder {
    dir: tempfile::TempDir,
}

impl PolicyFolder {
    fn new() -> PolicyFolder {
        let dir = tempfile::tempdir().unwrap();
        let place = PolicyFolder { dir };
        fs::create_dir_all(place.tree().join("deep")).unwrap();
        for n in 0..FILES {
            fs::write(place.file(n), content(n)).unwrap();
        }
        fs::write(
            place.path("rules.toml"),
            "[policy.copy]\naction = 'copy'\nto = 'store://crawls/'\nreplicas = 2\ncondition = 'format == \"warc\" and replicas < 2'\n\
             [policy.release]\naction = 'release'\nreplicas = 2\ncondition = 'replicas >= 2'\n\
             [policy.delete]\naction = 'delete'\ncondition = 'format == \"warc\"'\n",
        )
        .unwrap();
        run(place.files(&["scan", place.tree().to_str().unwrap()]), &[0]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn tree(&self) -> PathBuf {
        self.path("tree")
    }

    fn file(&self, n: usize) -> PathBuf {
        self.tree().join(["", "deep"][n % 2]).join(format!("{n}.warc"))
    }

    fn files(&self, arguments: &[&str]) -> Command {
        weft(
            Path::new("/"),
            &self.path("archive"),
            &[&["files"], arguments].concat(),
        )
    }

    fn with_store(&self, arguments: &[&str]) -> Command {
        let (a, b) = (self.path("a"), self.path("b"));
        let store = ["--volume", a.to_str().unwrap(), "--volume", b.to_str().unwrap()];
        weft(
            Path::new("/"),
            &self.path("archive"),
            &[arguments, &store].concat(),
        )
    }

    fn policy(&self, name: &str) -> Command {
        let rules = self.path("rules.toml");
        self.with_store(&["files", "policy", "run", name, "--rules", rules.to_str().unwrap()])
    }

    /// Checks that each file is in its place, or its copy in the store is intact.
    fn check_nothing_is_lost(&self, what: &str) {
        for n in 0..FILES {
            let path = self.file(n);
            if path.exists() {
                assert_eq!(fs::read(&path).unwrap(), content(n), "{what}");
                continue;
            }
            let below = path.strip_prefix(self.tree()).unwrap().to_owned();
            let object = format!("crawls/{}", below.display());
            let to = self.path("got");
            run(
                self.with_store(&["store", "get", &object, to.to_str().unwrap()]),
                &[0],
            );
            assert_eq!(fs::read(&to).unwrap(), content(n), "{what}: {object}");
        }
    }
}

fn content(n: usize) -> Vec<u8> {
    format!("crawl {n} ").repeat(500 + n).into_bytes()
}

/// Runs a command with a crash point. Returns whether it was killed there.
fn killed(mut command: Command, point: &str, time: usize) -> bool {
    command.env("WEFT_CRASH_POINT", format!("{point}:{time}"));
    let ended = command.output().unwrap();
    match ended.status.code() {
        None => true,
        Some(0) => false,
        Some(_) => panic!("{point}:{time}: {}", said(&ended)),
    }
}

#[test]
fn a_kill_at_any_step_of_copy_verify_release_loses_nothing() {
    let points = policy::CRASH_POINTS.iter().chain(&["files.after_note"]);
    let (mut kills, mut rounds) = (0, 0);
    for point in points {
        for time in [1, 3] {
            let place = PolicyFolder::new();
            // The point may belong to either policy.
            let mut was_killed = killed(place.policy("copy"), point, time);
            place.check_nothing_is_lost(&format!("copy {point}:{time}"));
            run(place.policy("copy"), &[0]);
            was_killed |= killed(place.policy("release"), point, time);
            place.check_nothing_is_lost(&format!("release {point}:{time}"));
            let left = (0..FILES).filter(|n| place.file(*n).exists()).count();
            let ended = run(place.policy("release"), &[0]);
            assert!(left == 0 || ended.contains("release"), "{point}:{time}: {ended}");
            place.check_nothing_is_lost(&format!("after {point}:{time}"));
            let left: Vec<_> = (0..FILES).filter(|n| place.file(*n).exists()).collect();
            assert!(
                left.is_empty(),
                "{point}:{time}: {left:?} were not released: {ended}"
            );
            assert!(!place.tree().join(".weft-trash").exists(), "{point}:{time}");
            let log = run(place.files(&["policy", "log", "--run", "1"]), &[0]);
            assert!(!log.contains(" begun "), "{point}:{time}: {log}");
            rounds += 1;
            kills += usize::from(was_killed);
        }
    }
    assert!(kills * 3 > rounds * 2, "{kills} kills in {rounds} rounds");
}

#[test]
fn a_killed_delete_is_in_the_log_and_can_be_taken_back() {
    for (point, time) in [
        ("policy.begun", 1),
        ("policy.staged", 2),
        ("policy.acted", 1),
        ("files.after_note", 2),
    ] {
        let place = PolicyFolder::new();
        assert!(killed(place.policy("delete"), point, time), "{point}");
        run(place.policy("delete"), &[0]);
        assert_eq!(
            (0..FILES).filter(|n| place.file(*n).exists()).count(),
            0,
            "{point}"
        );
        let runs = run(place.files(&["policy", "log", "--json"]), &[0]);
        assert_eq!(runs.lines().count(), 1, "the run was taken up again: {runs}");
        run(place.files(&["undo", "1"]), &[0]);
        place.check_nothing_is_lost(point);
        assert_eq!(
            (0..FILES).filter(|n| place.file(*n).exists()).count(),
            FILES,
            "{point}"
        );
        assert!(!place.tree().join(".weft-trash").exists(), "{point}");
    }
}

#[test]
fn runs_killed_at_random_moments_lose_nothing() {
    let place = PolicyFolder::new();
    // A store killed during its creation reports a missing directory. That is not under test here,
    // so create the directories.
    for volume in ["a", "b"] {
        fs::create_dir_all(place.path(volume)).unwrap();
    }
    for round in 0..12 {
        let mut child = place.policy(["copy", "release"][round % 2]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(30 + 23 * round as u64));
        let _ = child.kill();
        child.wait().unwrap();
        place.check_nothing_is_lost(&format!("round {round}"));
    }
    run(place.policy("copy"), &[0]);
    run(place.policy("release"), &[0]);
    place.check_nothing_is_lost("the end");
    assert_eq!((0..FILES).filter(|n| place.file(*n).exists()).count(), 0);
    run(place.files(&["status", "--recompute"]), &[0]);
}
