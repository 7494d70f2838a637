//! Scenario: a scan of files is killed repeatedly at any moment. The next one continues, and in the
//! end the catalogue equals one made without interruption.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::program::{run, said, weft};

pub(crate) fn tree(root: &Path) {
    for dir in 0..300 {
        let dir = root.join(format!("{}/{}", dir % 17, dir));
        fs::create_dir_all(&dir).unwrap();
        for n in 0..30 {
            fs::write(dir.join(format!("file {n}")), vec![b'x'; n]).unwrap();
        }
    }
    for n in 0..50 {
        fs::hard_link(
            root.join(format!("0/0/file {}", n % 30)),
            root.join(format!("3/20/again {n}")),
        )
        .unwrap();
    }
}

pub(crate) fn files(archive: &Path, arguments: &[&str]) -> Command {
    weft(Path::new("/"), archive, &[&["files"], arguments].concat())
}

/// Small commits, so that there are many.
fn scan(archive: &Path, tree: &Path) -> Command {
    files(archive, &["scan", tree.to_str().unwrap(), "--max-pending", "300"])
}

/// Returns every entry with all its attributes, and all totals.
fn all(archive: &Path) -> String {
    run(files(archive, &["status", "--recompute"]), &[0]);
    let entries = run(files(archive, &["find", "--json"]), &[0]);
    entries + &run(files(archive, &["report", "--json", "-n", "100000"]), &[0])
}

fn undisturbed(tree: &Path) -> String {
    let archive = tempfile::tempdir().unwrap();
    run(scan(archive.path(), tree), &[0]);
    all(archive.path())
}

#[test]
fn a_scan_killed_ten_times_ends_as_one_undisturbed() {
    let made = tempfile::tempdir().unwrap();
    tree(made.path());
    let expected = undisturbed(made.path());
    let archive = tempfile::tempdir().unwrap();
    let mut kills = 0;
    // A child that exits before its time is up has completed the scan: the next one begins another.
    for round in 0..200 {
        let mut child = scan(archive.path(), made.path()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(10 + 7 * (round % 25)));
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            kills += 1;
        }
        child.wait().unwrap();
        if archive.path().join("files").exists() {
            run(files(archive.path(), &["status", "--recompute"]), &[0]);
        }
        if kills == 10 {
            break;
        }
    }
    assert_eq!(kills, 10, "the machine is too quick for this test");
    run(scan(archive.path(), made.path()), &[0]);
    assert!(all(archive.path()) == expected, "the catalogues differ");
}

#[test]
fn a_scan_that_ends_at_each_point_goes_on_where_it_was() {
    let made = tempfile::tempdir().unwrap();
    tree(made.path());
    // Long enough for directory times to be reliable.
    std::thread::sleep(Duration::from_millis(150));
    let expected = undisturbed(made.path());
    for point in ["files.before_commit", "files.before_sync", "files.after_sync"] {
        for time in [1, 2, 4] {
            let archive = tempfile::tempdir().unwrap();
            let mut command = scan(archive.path(), made.path());
            command.env("WEFT_CRASH_POINT", format!("{point}:{time}"));
            let ended = command.output().unwrap();
            assert_eq!(ended.status.code(), None, "{point}:{time}: {}", said(&ended));
            let result = run(scan(archive.path(), made.path()), &[0]);
            let begun = run(files(archive.path(), &["status", "--scans", "--json"]), &[0]);
            assert_eq!(begun.lines().count(), 1, "one scan, not two: {begun}");
            assert!(
                time == 1 || result.contains("continued after a stop"),
                "{point}:{time}: {result}"
            );
            assert!(
                all(archive.path()) == expected,
                "{point}:{time}: the catalogues differ"
            );
        }
    }
}

#[test]
fn two_at_once_do_not_hurt_each_other() {
    let made = tempfile::tempdir().unwrap();
    tree(made.path());
    let expected = undisturbed(made.path());
    let archive = tempfile::tempdir().unwrap();
    let both: Vec<_> = (0..4)
        .map(|_| scan(archive.path(), made.path()).spawn().unwrap())
        .collect();
    let mut good = 0;
    for child in both {
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            good += 1
        } else {
            assert!(
                said(&output).contains("in use by another process"),
                "{}",
                said(&output)
            )
        }
    }
    assert!(good >= 1);
    assert!(all(archive.path()) == expected);
}

#[test]
fn a_scan_without_room_says_so_and_goes_on_when_there_is_some() {
    let made = tempfile::tempdir().unwrap();
    tree(made.path());
    let expected = undisturbed(made.path());
    let archive = tempfile::tempdir().unwrap();
    let whole = scan(archive.path(), made.path());
    let mut cramped = test_env::command("sh", archive.path());
    // With the signal ignored, the write fails with an error instead. The limit is in blocks of 512
    // bytes.
    cramped.args(["-c", "trap '' XFSZ; ulimit -f 200; exec \"$0\" \"$@\""]);
    cramped.arg(whole.get_program()).args(whole.get_args());
    let output = cramped.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let message = String::from_utf8_lossy(&output.stderr).to_lowercase();
    assert!(message.contains("file too large"), "{message}");
    run(scan(archive.path(), made.path()), &[0]);
    assert!(all(archive.path()) == expected);
}

/// Returns entries and totals of the current catalogue; past ones are in the history.
fn left(archive: &Path) -> String {
    run(files(archive, &["status", "--recompute"]), &[0]);
    let entries = run(files(archive, &["find", "--json"]), &[0]);
    let reports = [
        "owners",
        "groups",
        "types",
        "formats",
        "sizes",
        "ages",
        "directories",
    ];
    entries
        + &run(
            files(
                archive,
                &[&["report", "--json", "-n", "100000"], &reports[..]].concat(),
            ),
            &[0],
        )
}

/// A tree is forgotten, and the process is killed at each crash point. Data of the other tree is
/// correct at once, and leftovers of the forgotten one are removed by the next forget or by a scan
/// of any tree.
#[test]
fn a_forget_that_ends_at_each_point_is_taken_up_by_the_next_forget_or_scan() {
    let (made, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    tree(made.path());
    fs::create_dir(other.path().join("dir")).unwrap();
    fs::write(other.path().join("dir/a.pdf"), b"1234").unwrap();
    // Counted with the removed tree or with the remaining one, whichever has the first name.
    fs::hard_link(made.path().join("5/5/file 7"), other.path().join("dir/linked")).unwrap();
    fs::hard_link(other.path().join("dir/a.pdf"), made.path().join("7/24/linked")).unwrap();
    let alone = tempfile::tempdir().unwrap();
    run(scan(alone.path(), other.path()), &[0]);
    let expected = left(alone.path());
    let (gone, stays) = (made.path().to_str().unwrap(), other.path().to_str().unwrap());
    let mut kills = 0;
    for point in ["files.before_commit", "files.before_sync", "files.after_sync"] {
        for time in [1, 2, 3, 4] {
            let archive = tempfile::tempdir().unwrap();
            run(files(archive.path(), &["scan", gone, stays]), &[0]);
            let mut command = files(archive.path(), &["forget", gone]);
            command.env("WEFT_CRASH_POINT", format!("{point}:{time}"));
            let ended = command.output().unwrap();
            assert_eq!(ended.status.code(), None, "{point}:{time}: {}", said(&ended));
            kills += 1;
            run(files(archive.path(), &["status", "--recompute"]), &[0]);
            if kills % 2 == 0 && time > 1 {
                run(scan(archive.path(), other.path()), &[0]);
                // Nothing is left to forget.
                let again = files(archive.path(), &["forget", gone]).output().unwrap();
                assert_eq!(again.status.code(), Some(1), "{}", said(&again));
                assert!(said(&again).contains("is not catalogued"), "{}", said(&again));
            } else {
                let result = run(files(archive.path(), &["forget", gone, "--json"]), &[0]);
                let is_resumed = result.contains("\"resumed\":true");
                assert_eq!(is_resumed, time > 1 || point != "files.before_commit", "{result}");
            }
            assert!(
                left(archive.path()) == expected,
                "{point}:{time}: the catalogues differ"
            );
        }
    }
    assert_eq!(kills, 12);
}

/// A running watch and its output.
#[cfg(target_os = "linux")]
pub(crate) struct Watching {
    pub(crate) child: Child,
    lines: Receiver<String>,
}

#[cfg(target_os = "linux")]
impl Watching {
    fn start(archive: &Path, tree: &Path) -> Watching {
        Watching::of(Watching::command(archive, tree))
    }

    pub(crate) fn command(archive: &Path, tree: &Path) -> Command {
        let mut command = files(archive, &["watch", tree.to_str().unwrap(), "--json"]);
        command.args(["--scan-after", "1"]);
        command
    }

    /// Starts a watch and a thread that reads its output.
    pub(crate) fn of(mut command: Command) -> Watching {
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        Watching { child, lines }
    }

    /// Waits for a line of this kind and returns it.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, what: &str) -> String {
        let what = format!("\"what\":\"{what}\"");
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(Duration::from_secs(120)) {
                Ok(line) if line.contains(&what) => return line,
                Ok(line) => seen.push(line),
                Err(error) => panic!("no line with {what} ({error}): {seen:#?}"),
            }
        }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(target_os = "linux")]
pub(crate) fn wait_until(archive: &Path, tree: &Path) {
    let expected = undisturbed(tree);
    let end = Instant::now() + Duration::from_secs(60);
    while all(archive) != expected {
        assert!(Instant::now() < end, "the catalogue differs from the disk");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// A watch is killed. The status then reports that the tree is not watched, and since when. The
/// next watch finds the changes made meanwhile, even where directory times do not show them.
#[cfg(target_os = "linux")]
#[test]
fn a_watch_that_was_killed_is_told_from_one_that_runs_and_the_next_one_finds_the_rest() {
    let (made, archive) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (tree_path, archive) = (made.path(), archive.path());
    tree(tree_path);
    let status = |archive: &Path| run(files(archive, &["status"]), &[0]);
    let mut watching = Watching::start(archive, tree_path);
    watching.wait_for("current");
    fs::write(tree_path.join("1/1/new"), b"new").unwrap();
    watching.wait_for("committed");
    wait_until(archive, tree_path);
    let said = status(archive);
    assert!(said.contains("current (watched, last event"), "{said}");

    watching.child.kill().unwrap();
    watching.child.wait().unwrap();
    let said = status(archive);
    assert!(
        said.contains("stale since") && said.contains("the watch was killed"),
        "{said}"
    );
    fs::rename(tree_path.join("1/1"), tree_path.join("2/moved")).unwrap();
    fs::remove_dir_all(tree_path.join("3")).unwrap();
    // This changes no directory's times.
    let grown = fs::OpenOptions::new()
        .append(true)
        .open(tree_path.join("5/5/file 3"));
    std::io::Write::write_all(&mut grown.unwrap(), b"more").unwrap();

    let mut again = Watching::start(archive, tree_path);
    again.wait_for("current");
    wait_until(archive, tree_path);
    let said = status(archive);
    assert!(said.contains("current (watched"), "{said}");
}
