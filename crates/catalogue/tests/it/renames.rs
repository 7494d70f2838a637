//! Detected renames, compared with the operations that caused them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use catalogue::{ChangeKind, FileId, Kind, Progress, ReportedChange, join_renames};

use crate::model::{Mutator, Rig};

/// Returns whether the temporary file system has birth times, which the detection requires.
fn has_births(rig: &Rig) -> bool {
    let has = fs::metadata(rig.path()).unwrap().created().is_ok();
    if !has {
        println!("skipped: the file system does not record birth times");
    }
    has
}

fn since(rig: &Rig) -> Vec<ReportedChange> {
    let mut changes = Vec::new();
    rig.catalogue.changes_since(0, |row| changes.push(row)).unwrap();
    changes
}

fn on_disk(rig: &Rig) -> Vec<ReportedChange> {
    let found: Arc<Mutex<Vec<ReportedChange>>> = Arc::default();
    let sink = found.clone();
    rig.catalogue
        .compare(&rig.path(), &rig.settings, &Progress::default(), move |row| {
            sink.lock().unwrap().push(row);
        })
        .unwrap();
    let mut found = found.lock().unwrap();
    std::mem::take(&mut *found)
}

/// Renders changes as text, without directories of which only the times changed.
fn words(rig: &Rig, changes: Vec<ReportedChange>) -> Vec<String> {
    let root = rig.path();
    let path = |path: &[u8]| String::from_utf8_lossy(&path[root.as_os_str().len() + 1..]).into_owned();
    let mut words: Vec<String> = join_renames(changes)
        .into_iter()
        .filter(|row| row.kind != Kind::Directory || row.what != ChangeKind::Changed)
        .map(|row| {
            let mut words = format!("{:?} {}", row.what, path(&row.path)).to_lowercase();
            if let Some(from) = &row.from {
                words += &format!(" from {}", path(from));
            }
            if let Some(size) = row.replaced_size_bytes {
                words += &format!(" replaced {size}");
            }
            words
        })
        .collect();
    words.sort();
    words
}

/// Applies some operations and compares both the differences from the disk before a scan and the
/// history after it with the expected changes.
#[track_caller]
fn check(does: impl Fn(&Path), expected: &[&str]) {
    check_both(does, expected, expected);
}

#[track_caller]
fn check_both(does: impl Fn(&Path), beside_disk: &[&str], in_history: &[&str]) {
    let rig = Rig::new();
    if !has_births(&rig) {
        return;
    }
    let root = rig.path();
    for dir in ["a/deep/deeper", "b"] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    for (name, size) in [
        ("a/one", 1),
        ("a/two", 2),
        ("a/deep/deeper/three", 3),
        ("b/four", 4),
    ] {
        fs::write(root.join(name), vec![b'x'; size]).unwrap();
    }
    rig.scan();
    does(&root);
    assert_eq!(words(&rig, on_disk(&rig)), beside_disk, "compared with the disk");
    rig.scan();
    assert_eq!(words(&rig, since(&rig)), in_history, "in the history");
    rig.check();
}

fn rename(root: &Path, from: &str, to: &str) {
    fs::rename(root.join(from), root.join(to)).unwrap();
}

#[test]
fn a_file_that_is_renamed_or_moved_is_one_change() {
    check(
        |root| rename(root, "a/one", "a/uno"),
        &["renamed a/uno from a/one"],
    );
    check(
        |root| rename(root, "a/one", "b/one"),
        &["renamed b/one from a/one"],
    );
    check(
        |root| rename(root, "b/four", "a/four"),
        &["renamed a/four from b/four"],
    );
}

#[test]
fn a_directory_that_moves_is_one_change_whatever_is_below_it() {
    check(
        |root| rename(root, "a/deep", "b/shallow"),
        &["renamed b/shallow from a/deep"],
    );
    // A file in it is renamed too.
    check(
        |root| {
            rename(root, "a/deep", "deep");
            rename(root, "deep/deeper/three", "deep/3");
        },
        &[
            "renamed deep from a/deep",
            "renamed deep/3 from deep/deeper/three",
        ],
    );
}

#[test]
fn a_file_moved_out_of_a_directory_that_goes_is_renamed() {
    check_both(
        |root| {
            rename(root, "a/deep/deeper/three", "b/three");
            fs::remove_dir_all(root.join("a/deep")).unwrap();
        },
        // Comparison with the disk does not report anything below a removed directory.
        &["added b/three", "removed a/deep"],
        &[
            "removed a/deep",
            "removed a/deep/deeper",
            "renamed b/three from a/deep/deeper/three",
        ],
    );
}

#[test]
fn a_rename_onto_another_file_says_what_that_was() {
    check(
        |root| rename(root, "a/one", "b/four"),
        &["renamed b/four from a/one replaced 4"],
    );
    // The old name is reused at once.
    check(
        |root| {
            rename(root, "a/one", "b/four");
            fs::write(root.join("a/one"), b"new").unwrap();
        },
        &["added a/one", "renamed b/four from a/one replaced 4"],
    );
}

#[test]
fn two_files_that_change_places_are_two_renames() {
    check(
        |root| {
            rename(root, "a/one", "aside");
            rename(root, "b/four", "a/one");
            rename(root, "aside", "b/four");
        },
        &["renamed a/one from b/four", "renamed b/four from a/one"],
    );
    check(
        |root| {
            rename(root, "a/two", "a/three");
            rename(root, "a/one", "a/two");
        },
        &["renamed a/three from a/two", "renamed a/two from a/one"],
    );
}

#[test]
fn a_second_name_is_new_and_no_rename() {
    check(
        |root| fs::hard_link(root.join("a/one"), root.join("b/also")).unwrap(),
        &["added b/also", "changed a/one"],
    );
}

/// ext4 reuses the inode number of a deleted file at once, but it is another file.
#[test]
fn a_number_that_is_used_again_is_no_rename() {
    check(
        |root| {
            fs::remove_file(root.join("a/one")).unwrap();
            fs::write(root.join("a/new"), b"1").unwrap();
        },
        &["added a/new", "removed a/one"],
    );
}

#[test]
fn over_several_scans_each_rename_is_told_where_it_was_found() {
    let rig = Rig::new();
    if !has_births(&rig) {
        return;
    }
    let root = rig.path();
    fs::write(root.join("a"), b"1").unwrap();
    fs::write(root.join("x"), b"1").unwrap();
    rig.scan();
    rename(&root, "a", "b");
    rig.scan();
    rename(&root, "b", "c");
    // The second name is added now and the first removed by the next scan: these are two separate
    // changes.
    fs::hard_link(root.join("x"), root.join("y")).unwrap();
    rig.scan();
    fs::remove_file(root.join("x")).unwrap();
    rename(&root, "c", "a");
    rig.scan();
    let expected = [
        "added y",
        "changed x",
        "changed y",
        "removed x",
        "renamed a from c",
        "renamed b from a",
        "renamed c from b",
    ];
    assert_eq!(words(&rig, since(&rig)), expected);
    // A file that appears and is removed again is not a rename.
    fs::write(root.join("z"), b"1").unwrap();
    rig.scan();
    fs::remove_file(root.join("z")).unwrap();
    rig.scan();
    let words = words(&rig, since(&rig));
    assert!(
        words.contains(&"added z".to_owned()) && words.contains(&"removed z".to_owned()),
        "{words:?}"
    );
}

/// Applying the changes to the old state gives the new state, and the sums of sizes equal those of
/// the changes before joining.
#[test]
fn changes_with_renames_lead_from_one_state_to_the_next() {
    for seed in 0..4 {
        println!("seed {seed}");
        let rig = Rig::new();
        let mut mutator = Mutator::new(&rig.path(), seed);
        mutator.steps(150);
        rig.scan();
        let mut renames = 0;
        for _ in 0..4 {
            let before = state(&rig);
            let known = since(&rig).len();
            mutator.steps(60);
            rig.scan();
            let plain = since(&rig).split_off(known);
            let sum = |changes: &[ReportedChange]| -> i128 {
                let difference = |row: &ReportedChange| {
                    let replaced = i128::from(row.replaced_size_bytes.unwrap_or(0));
                    i128::from(row.size_bytes.1) - i128::from(row.size_bytes.0) - replaced
                };
                changes.iter().map(difference).sum()
            };
            let joined = join_renames(plain.clone());
            assert_eq!(sum(&joined), sum(&plain), "seed {seed}");
            renames += joined
                .iter()
                .filter(|row| row.what == ChangeKind::Renamed)
                .count();
            follow(before, &joined, &state(&rig));
        }
        assert!(
            renames > 0 || !has_births(&rig),
            "seed {seed}: nothing was renamed"
        );
    }
}

type State = BTreeMap<Vec<u8>, FileId>;

/// Returns every name with the identity of its file.
fn state(rig: &Rig) -> State {
    let top = rig.catalogue.locate(&rig.path()).unwrap().unwrap();
    let mut state = State::new();
    rig.catalogue
        .each::<catalogue::CatalogueError>(top, |found| {
            state.insert(found.path.clone(), found.attributes.id);
            Ok(catalogue::Visit::Descend)
        })
        .unwrap();
    state
}

fn follow(before: State, changes: &[ReportedChange], after: &State) {
    let mut names: BTreeMap<Vec<u8>, Option<FileId>> = before
        .iter()
        .map(|(path, id)| (path.clone(), Some(*id)))
        .collect();
    let mut dirs: Vec<Vec<u8>> = Vec::new();
    // Removals first, including everything below a moved directory, then additions.
    let mut comes: Vec<(Vec<u8>, Option<FileId>)> = Vec::new();
    for row in changes {
        match (row.what, &row.from) {
            (ChangeKind::Renamed, Some(from)) => {
                let went: Vec<Vec<u8>> = names
                    .keys()
                    .filter(|path| is_at_or_below(path, from))
                    .cloned()
                    .collect();
                // If its directory moved too, `from` is below the new path of the directory.
                if let Some(file) = before.get(from) {
                    assert!(after.get(&row.path) == Some(file), "a different file was renamed");
                }
                if row.kind == Kind::Directory {
                    dirs.push(row.path.clone());
                }
                for path in went {
                    if path == *from || row.kind == Kind::Directory {
                        names.remove(&path);
                    }
                }
                comes.push((row.path.clone(), before.get(from).copied()));
            }
            (ChangeKind::Removed, _) => {
                names.remove(&row.path);
            }
            _ => comes.push((row.path.clone(), None)),
        }
    }
    for (path, file) in comes {
        names.insert(path, file);
    }
    let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    for (path, file) in &names {
        assert!(after.contains_key(path), "{} is gone", text(path));
        if let Some(file) = file {
            assert!(after[path] == *file, "{} is a different file", text(path));
        }
    }
    for path in after.keys() {
        let is_told = names.contains_key(path) || dirs.iter().any(|dir| is_at_or_below(path, dir));
        assert!(is_told, "{} was not reported", text(path));
    }
}

fn is_at_or_below(path: &[u8], dir: &[u8]) -> bool {
    let rest = path.strip_prefix(dir);
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
}
