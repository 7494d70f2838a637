//! Scenario: the system disrupts a watch. Its event queue overflows while the watch cannot read it;
//! the system refuses to watch more directories; the file system is unmounted. Each time the watch
//! reports it, and in the end the catalogue matches the disk.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::files::{Watching, files, tree, wait_until};
use crate::program::{run, said};

fn sh(script: &str) -> std::process::Output {
    test_env::command("sh", Path::new("/"))
        .args(["-c", script])
        .output()
        .unwrap()
}

fn signal(watching: &Watching, name: &str) {
    let sent = sh(&format!("kill -{name} {}", watching.child.id()));
    assert!(sent.status.success(), "{}", said(&sent));
}

/// Tests the kernel's limit on events: the watch is paused while more events occur than the kernel
/// queues.
#[test]
fn more_events_than_the_kernel_notes_make_a_tree_stale_and_are_found_all_the_same() {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    if limit > 100_000 {
        eprintln!("not run: {limit} events are noted here, and so many are not made");
        return;
    }
    let (made, archive) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (made, archive) = (made.path(), archive.path());
    tree(made);
    let mut watching = Watching::of(Watching::command(archive, made));
    watching.wait_for("current");
    signal(&watching, "STOP");
    // Creating a file is one event, closing it another.
    for n in 0..limit / 2 + 1000 {
        fs::write(made.join(format!("{}/{}/new {n}", n % 17, n % 17)), b"").unwrap();
    }
    // These happen after the queue has overflowed.
    fs::rename(made.join("1/1"), made.join("2/moved")).unwrap();
    fs::remove_dir_all(made.join("3")).unwrap();
    let grown = fs::OpenOptions::new().append(true).open(made.join("5/5/file 3"));
    std::io::Write::write_all(&mut grown.unwrap(), b"more").unwrap();
    signal(&watching, "CONT");
    let stale = watching.wait_for("stale");
    assert!(stale.contains("\"reason\":\"overflow\""), "{stale}");
    watching.wait_for("current");
    wait_until(archive, made);
    let status = run(files(archive, &["status"]), &[0]);
    assert!(status.contains("current (watched"), "{status}");
}

/// A user namespace has a separate limit on watches.
#[test]
fn a_tree_of_which_the_kernel_does_not_watch_all_is_stale_and_followed_by_scans() {
    let (made, archive) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (made, archive) = (made.path(), archive.path());
    tree(made);
    let limited = "echo 50 > /proc/sys/user/max_inotify_watches && exec \"$0\" \"$@\"";
    let apart = ["--user", "--map-current-user", "--keep-caps", "sh", "-c", limited];
    let can = test_env::command("unshare", made)
        .args(apart)
        .arg("true")
        .output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("not run: there are no user namespaces here");
        return;
    }
    let whole = Watching::command(archive, made);
    let mut command: Command = test_env::command("unshare", &std::env::temp_dir());
    command
        .args(apart)
        .arg(whole.get_program())
        .args(whole.get_args());
    command.stdout(std::process::Stdio::piped());
    let mut watching = Watching::of(command);
    let told = watching.wait_for("limit");
    assert!(told.contains("\"watched\":50,"), "{told}");
    assert!(
        told.contains("\"error\":null"),
        "it is the limit, and no other error: {told}"
    );
    for n in 0..17 {
        fs::write(made.join(format!("{n}/{n}/new")), b"new").unwrap();
    }
    wait_until(archive, made);
    let status = run(files(archive, &["status"]), &[0]);
    assert!(
        status.contains("stale since") && status.contains("some of its directories cannot be watched"),
        "{status}"
    );
}

/// Unmounts on drop, even if the test fails.
struct Mount<'a>(&'a Path);

impl Mount<'_> {
    fn take_off(&self) {
        sh(&format!("umount -l {}", self.0.display()));
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        self.take_off();
    }
}

fn paths(archive: &Path) -> String {
    run(files(archive, &["find"]), &[0])
}

/// An in-memory file system is unmounted together with its contents; the catalogue keeps its
/// entries. Another one in its place is not read until it is scanned explicitly.
#[test]
fn what_is_unmounted_is_not_gone() {
    let (place, archive) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (root, archive) = (
        place.path().canonicalize().unwrap().join("mounted"),
        archive.path(),
    );
    fs::create_dir(&root).unwrap();
    let mount = || {
        sh(&format!("mount -t tmpfs none {}", root.display()))
            .status
            .success()
    };
    if !mount() {
        eprintln!("not run: this user may not mount");
        return;
    }
    let mounted = Mount(&root);
    fs::create_dir(root.join("dir")).unwrap();
    fs::write(root.join("dir/file"), b"x").unwrap();
    let mut watching = Watching::of(Watching::command(archive, &root));
    watching.wait_for("current");
    mounted.take_off();
    let stale = watching.wait_for("stale");
    assert!(stale.contains("\"reason\":\"away\""), "{stale}");
    assert!(paths(archive).contains("mounted/dir/file"), "{}", paths(archive));
    assert!(mount());
    fs::write(root.join("another"), b"x").unwrap();
    // Longer than the interval at which the watch checks for the tree.
    std::thread::sleep(Duration::from_secs(3));
    let known = paths(archive);
    assert!(
        known.contains("mounted/dir/file") && !known.contains("another"),
        "{known}"
    );
    run(files(archive, &["scan", root.to_str().unwrap()]), &[0]);
    watching.wait_for("current");
    fs::write(root.join("again"), b"x").unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while !paths(archive).contains("again") {
        assert!(Instant::now() < end, "{}", paths(archive));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(!paths(archive).contains("dir/file"), "{}", paths(archive));
}
