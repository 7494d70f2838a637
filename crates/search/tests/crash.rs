//! Kills a process while it applies epochs, and continues in another. Whenever the index is opened,
//! it holds exactly the documents of the epochs up to the covered one.
//!
//! The child process is this test binary. [`CHILD_DIR`] makes it run only [`child_that_applies`].

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::model::{Model, apply_to, check, check_documents, inserting, random_change};
use crate::support::{ALL, Dice, ask, names, open, page, upsert};

const CHILD_DIR: &str = "SEARCH_CRASH_DIR";

/// Printed by the child when it begins to apply.
const OPENED: &str = "the child is at work";

/// Number of epochs: enough that no child applies all of them before it is killed.
const EPOCHS: u64 = 400;

/// Returns the changes of an epoch, the same in every process.
fn changes(epoch: u64) -> Vec<search::Change> {
    let mut dice = Dice(epoch * 7919);
    (0..1 + dice.below(60))
        .map(|_| random_change(&mut dice, 400))
        .collect()
}

fn model_at(epoch: u64) -> Model {
    let mut model = Model::new();
    for epoch in 1..=epoch {
        apply_to(&mut model, &changes(epoch));
    }
    model
}

/// Continues from the covered epoch until it is killed. Commits often, so that it is killed in
/// commits.
#[test]
fn child_that_applies() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else {
        return;
    };
    let index = open(Path::new(&dir));
    let mut model = model_at(index.covered_epoch());
    println!("{OPENED}");
    for epoch in index.covered_epoch() + 1..=EPOCHS {
        let changes = changes(epoch);
        let inserting = inserting(&model, &changes);
        apply_to(&mut model, &changes);
        index.apply_after(epoch - 1, epoch, inserting).unwrap();
        if epoch % 3 == 0 {
            index.flush().unwrap();
        }
    }
}

fn kill_after(dir: &Path, delay: Duration) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::child_that_applies", "--exact", "--nocapture"])
        .env(CHILD_DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines();
    let opened = said.map_while(Result::ok).any(|line| line.contains(OPENED));
    assert!(opened, "the child ended before it began");
    std::thread::sleep(delay);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(
        status.code(),
        None,
        "the child was to be killed, but ended by itself"
    );
}

/// Regression: a process was killed between writing the file of a segment's deletions and naming it
/// in `meta.json`. The next process uses the same operation numbers and creates the same file.
/// tantivy refuses to overwrite files, so every further commit failed. Leftover files are now
/// removed before the first operation.
#[test]
fn leftover_deletions_of_a_killed_commit_are_in_nobodys_way() {
    let (dir, killed_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // So many that the commit of one deletion begins no merge, which would remove its file.
    let all = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let pages = all.map(|name| upsert(page(name, "a page", "text")));
    let gone = || search::Change::Delete(page("b", "", "").url_key);
    let index = open(dir.path());
    index.apply(1, pages).unwrap();
    drop(index);
    copy_all(dir.path(), killed_dir.path(), |_| true);
    let index = open(dir.path());
    index.apply(2, [gone()]).unwrap();
    drop(index);
    // As if killed before the rename: only the file itself and its entry in the list of files
    // exist.
    let left = |name: &str| name.ends_with(".del") || name == ".managed.json";
    assert_eq!(copy_all(dir.path(), killed_dir.path(), left), 2);

    let index = open(killed_dir.path());
    assert_eq!((index.covered_epoch(), index.documents()), (1, 10));
    index.apply(2, [gone()]).unwrap();
    assert_eq!(index.flush().unwrap(), 2);
    let stay = all.into_iter().filter(|name| *name != "b");
    assert_eq!(names(&ask(&index, ALL, 10)), stay.collect::<Vec<_>>());
}

/// Copies the wanted files; returns their number.
fn copy_all(from: &Path, to: &Path, wanted: impl Fn(&str) -> bool) -> usize {
    let mut copied = 0;
    for entry in std::fs::read_dir(from).unwrap() {
        let name = entry.unwrap().file_name();
        if wanted(&name.to_string_lossy()) {
            std::fs::copy(from.join(&name), to.join(&name)).unwrap();
            copied += 1;
        }
    }
    copied
}

#[test]
fn killed_at_any_moment_nothing_is_lost_or_doubled() {
    let seed = 5;
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let dir = tempfile::tempdir().unwrap();
    let mut covered = 0;
    for _ in 0..12 {
        kill_after(dir.path(), Duration::from_millis(dice.below(400) as u64));
        let index = open(dir.path());
        assert!(index.covered_epoch() >= covered, "a commit was lost");
        covered = index.covered_epoch();
        check_documents(&index, &model_at(covered));
    }
    println!("killed 12 times on the way to epoch {covered}");
    let index = open(dir.path());
    for epoch in covered.saturating_sub(3)..=covered + 5 {
        index.apply(epoch, changes(epoch)).unwrap();
    }
    index.flush().unwrap();
    check(&index, &model_at(covered + 5));
}

const LIMITED_DIR: &str = "SEARCH_LIMITED_DIR";

/// Returns pages with much text, so that a commit needs large files and the queue is full of them.
fn bulky_changes(epoch: u64) -> Vec<search::Change> {
    let mut dice = Dice(epoch * 104_729);
    let text = |dice: &mut Dice| {
        let words = (0..20_000).map(|_| format!("w{:x}", dice.below(1 << 40)));
        words.collect::<Vec<_>>().join(" ")
    };
    let pages = (0..100).map(|number| page(&format!("{number:05}"), "bulky", &text(&mut dice)));
    pages.map(upsert).collect()
}

/// Applies an epoch that fits and one that does not. The second must return an error, and the index
/// must continue from the first.
#[test]
fn child_without_room() {
    let Some(dir) = std::env::var_os(LIMITED_DIR) else {
        return;
    };
    let index = open(Path::new(&dir));
    index.apply(1, changes(1)).unwrap();
    assert_eq!(index.flush().unwrap(), 1);
    let full = index
        .apply(2, bulky_changes(2))
        .and_then(|()| index.flush().map(drop));
    let error = full.unwrap_err();
    println!("as it should be: {error}");
    assert_eq!(error.covered_epoch, 1);
    assert_eq!(index.covered_epoch(), 1);
    index.apply(2, changes(2)).unwrap();
    assert_eq!(index.flush().unwrap(), 2);
}

/// A limit on the size of files simulates a full disk: the same writes fail.
#[test]
fn a_full_disk_is_an_error_and_the_index_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap '' XFSZ; ulimit -f 600; exec \"$0\" --exact crash::child_without_room --nocapture";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(LIMITED_DIR, dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("as it should be"),
        "{said}"
    );
    let index = open(dir.path());
    assert_eq!(index.covered_epoch(), 2);
    check(&index, &model_at(2));
}

/// The words of an index depend on its format. An index of another format would silently miss words
/// that it holds in another form.
#[test]
fn an_index_of_an_older_format_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.apply(7, [upsert(page("a", "a", "a"))]).unwrap();
    drop(index);
    assert_eq!(open(dir.path()).covered_epoch(), 7);
    let meta = dir.path().join("meta.json");
    let text = std::fs::read_to_string(&meta).unwrap();
    let (before, rest) = text.split_once("\\\"format\\\":").expect("the format");
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let format: u32 = rest[..digits].parse().unwrap();
    let older = format!("{before}\\\"format\\\":{}{}", format - 1, &rest[digits..]);
    std::fs::write(&meta, older).unwrap();
    let index = open(dir.path());
    assert_eq!((index.covered_epoch(), index.documents()), (0, 0));
}

#[test]
fn what_is_owed_is_known_when_the_index_is_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let found = |index: &search::SearchIndex, word: &str| ask(index, word, 10).total;
    let index = open(dir.path());
    index.apply_after(0, 4, [upsert(page("a", "a", "red"))]).unwrap();
    index.apply_part(4, 5, [upsert(page("b", "b", "blue"))]).unwrap();
    assert_eq!((index.flush().unwrap(), index.settled_epoch()), (5, 4));
    drop(index);
    let index = open(dir.path());
    assert_eq!((index.covered_epoch(), index.settled_epoch()), (5, 4));
    // Applies the same epoch again, with the missing changes.
    let green = [upsert(page("a", "a", "green"))];
    index.apply_after(5, 5, green).unwrap();
    index.flush().unwrap();
    assert_eq!((index.covered_epoch(), index.settled_epoch()), (5, 5));
    index
        .apply_after(5, 5, [upsert(page("a", "a", "white"))])
        .unwrap();
    index.flush().unwrap();
    drop(index);
    let index = open(dir.path());
    assert_eq!((index.covered_epoch(), index.settled_epoch()), (5, 5));
    let words = ["red", "green", "white", "blue"];
    assert_eq!(words.map(|word| found(&index, word)), [0, 1, 0, 1]);
}

#[test]
fn a_lock_that_is_about_to_go_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let lock = std::fs::File::options()
        .write(true)
        .open(dir.path().join(".tantivy-writer.lock"))
        .unwrap();
    lock.lock().unwrap();
    let holder = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        drop(lock);
    });
    assert_eq!(open(dir.path()).covered_epoch(), 0);
    holder.join().unwrap();
}
