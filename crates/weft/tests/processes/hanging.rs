//! Scenario: the server of a mounted file system does not answer, so every access hangs. A command
//! for a directory on it must fail with a reason, and a scan of a tree above it must end as if
//! nothing were mounted there.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::program::{run, said, weft};

/// Mounts a FUSE file system that never answers in a separate mount namespace, and runs the
/// remaining arguments there. The mount ends with the process. Exit code 77 means that it could not
/// be mounted.
const SCRIPT: &str = "\
exec 3<>/dev/fuse || exit 77
mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 hanging \"$1\" || exit 77
shift
exec \"$@\"";

/// Longer than any of these commands may take.
const END: Duration = Duration::from_secs(60);

fn beside_mount(mount: &Path, command: &Command) -> Command {
    let mut beside = test_env::command("unshare", &std::env::temp_dir());
    beside.args(["-m", "sh", "-c", SCRIPT, "sh"]).arg(mount);
    beside.arg(command.get_program()).args(command.get_args());
    beside.current_dir("/");
    beside
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    beside
}

/// Returns whether this test can run: it needs Linux, root, and permission to mount.
fn can_mount(mount: &Path) -> bool {
    let mut nothing = Command::new("true");
    nothing.arg("");
    let tried = beside_mount(mount, &nothing).output();
    let can = tried.is_ok_and(|tried| tried.status.success());
    if !can {
        println!("skipped: a FUSE file system cannot be mounted here");
    }
    can
}

/// Runs a command that must end soon.
#[track_caller]
fn ended(mut command: Command) -> Output {
    let begun = Instant::now();
    let mut child = command.spawn().unwrap();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > END {
            child.kill().unwrap();
            panic!("it hangs: {}", said(&child.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

/// A directory with a file, and a mount point.
struct Places {
    tree: tempfile::TempDir,
    archive: tempfile::TempDir,
}

impl Places {
    fn new() -> Places {
        let places = Places {
            tree: tempfile::tempdir().unwrap(),
            archive: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(places.tree.path().join("mount/below")).unwrap();
        fs::write(places.tree.path().join("mount/below/file"), b"12345").unwrap();
        fs::write(places.tree.path().join("beside"), b"123").unwrap();
        places
    }

    fn mount(&self) -> String {
        self.tree.path().join("mount").to_str().unwrap().to_owned()
    }

    fn files(&self, arguments: &[&str]) -> Command {
        weft(
            Path::new("/"),
            self.archive.path(),
            &[&["files"], arguments].concat(),
        )
    }

    fn beside(&self, arguments: &[&str]) -> Output {
        ended(beside_mount(self.mount().as_ref(), &self.files(arguments)))
    }
}

#[test]
fn a_directory_on_a_mount_that_does_not_answer_ends_commands_with_a_reason() {
    let places = Places::new();
    let mount = &*places.mount();
    if !can_mount(mount.as_ref()) {
        return;
    }
    let refused = |arguments: &[&str]| {
        let output = places.beside(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", said(&output));
        assert!(
            said(&output).contains("has not answered for 1 s"),
            "{arguments:?}: {}",
            said(&output)
        );
    };
    let below = &*format!("{mount}/below");
    refused(&["scan", mount, "--answer-within", "1"]);
    refused(&["scan", below, "--answer-within", "1"]);
    refused(&["watch", mount, "--answer-within", "1"]);
    // For a catalogued tree, queries are answered from the catalogue, and no entry is lost.
    run(places.files(&["scan", mount]), &[0]);
    refused(&["scan", mount, "--answer-within", "1"]);
    refused(&["diff", "--answer-within", "1"]);
    for arguments in [&["du", mount][..], &["find", below], &["status", "--recompute"]] {
        let output = places.beside(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", said(&output));
    }
    assert!(run(places.files(&["find", mount]), &[0]).contains("below/file"));
    run(places.files(&["diff"]), &[0]);
    // Forgetting the tree does not access it.
    let forgotten = places.beside(&["forget", mount]);
    assert_eq!(forgotten.status.code(), Some(0), "{}", said(&forgotten));
    run(places.files(&["find", mount]), &[1]);
}

#[test]
fn a_mount_that_does_not_answer_below_a_tree_does_not_stop_its_scan() {
    let places = Places::new();
    let mount = &*places.mount();
    if !can_mount(mount.as_ref()) {
        return;
    }
    let tree = places.tree.path().to_str().unwrap();
    for arguments in [&["scan", tree][..], &["scan", tree, "--magic=all"], &["diff"]] {
        let output = places.beside(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", said(&output));
    }
    let found = run(places.files(&["find", tree]), &[0]);
    let lines: Vec<&str> = found
        .lines()
        .map(|line| line.strip_prefix(tree).unwrap())
        .collect();
    assert_eq!(lines, ["", "/beside", "/mount"]);
}

/// A watch of a tree that stops answering: the tree counts as away, and the watch still stops on
/// request.
#[test]
fn a_watch_of_a_tree_that_does_not_answer_goes_on() {
    let places = Places::new();
    let mount = &*places.mount();
    if !can_mount(mount.as_ref()) {
        return;
    }
    run(places.files(&["scan", mount]), &[0]);
    let watch = places.files(&["watch", mount, "--json", "--answer-within", "1"]);
    let mut child = beside_mount(mount.as_ref(), &watch).spawn().unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut said = Vec::new();
    for line in lines {
        said.push(line.unwrap());
        if said.last().unwrap().contains("\"reason\":\"away\"") {
            break;
        }
    }
    assert!(said.last().is_some_and(|line| line.contains("away")), "{said:?}");
    let told = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(told.unwrap().success());
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < END, "the watch does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(child.wait().unwrap().success());
    assert!(run(places.files(&["find", mount]), &[0]).contains("below/file"));
}
