//! Forgotten trees: the rest of the catalogue is as if they had never been there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use catalogue::{Attributes, Digest, FileVersion, ForgetReport, LogBatch, Progress, ScanError, Usage};

use crate::model::{Dice, Mutator, Rig, Row, catalogued};

fn forget(rig: &Rig, path: &Path) -> Result<ForgetReport, ScanError> {
    rig.catalogue.forget(path, &Progress::default())
}

/// Records a digest of a file, as a policy does.
fn note_digest(rig: &Rig, file: &Attributes) {
    let digest = Digest {
        version: FileVersion::of(file),
        sha256: [7; 32],
        verified_ms: 1,
        damaged_ms: None,
        copy: None,
    };
    let notes = LogBatch {
        digests: vec![digest],
        ..LogBatch::default()
    };
    rig.catalogue.write_log(&notes).unwrap();
}

fn attributes(rig: &Rig, path: &Path) -> Attributes {
    rig.catalogue.locate(path).unwrap().unwrap().attributes
}

/// Returns the sums by group; empty if nothing is catalogued.
fn groups(rig: &Rig) -> BTreeMap<String, Usage> {
    let groups = rig.catalogue.groups().unwrap().into_iter();
    groups
        .map(|(group, usage)| (format!("{group:?}"), usage))
        .collect()
}

/// Entries of a tree, and the sums by group of the whole catalogue.
type CatalogueState = (BTreeMap<Vec<u8>, Row>, BTreeMap<String, Usage>);

/// Returns the contents of a new catalogue that has scanned only these trees.
fn undisturbed(trees: &[PathBuf]) -> Vec<CatalogueState> {
    let rig = Rig::new();
    for tree in trees {
        rig.scan_of(tree);
    }
    let groups = groups(&rig);
    let rows = trees
        .iter()
        .map(|tree| (catalogued(&rig.catalogue, tree), groups.clone()));
    rows.collect()
}

/// Model test: random trees whose files have names in several of them are scanned and forgotten in
/// any order. After each step the catalogue equals a new one of the remaining trees.
#[test]
fn what_is_left_is_as_if_the_tree_had_never_been_there() {
    for seed in 0..2 {
        println!("seed {seed}");
        let mut rig = Rig::new();
        let mut dice = Dice::new(seed);
        let trees: Vec<PathBuf> = (0..3).map(|n| rig.path().join(format!("tree {n}"))).collect();
        for tree in &trees {
            fs::create_dir(tree).unwrap();
        }
        // One mutator for all trees, so that files move and are linked between them.
        Mutator::new(&rig.path(), seed).steps(500);
        for tree in &trees {
            // The tree may have been moved into another one or removed.
            let _ = fs::remove_file(tree);
            fs::create_dir_all(tree).unwrap();
            fs::write(tree.join("file.pdf"), b"123").unwrap();
        }
        let mut known = vec![false; trees.len()];
        for step in 0..8 {
            let at = dice.below(trees.len());
            if known[at] {
                let before = rig
                    .catalogue
                    .usage(&rig.catalogue.locate(&trees[at]).unwrap().unwrap());
                let forgotten = forget(&rig, &trees[at]).unwrap();
                assert_eq!(forgotten.usage, before.unwrap());
                assert!(!forgotten.is_resumed);
                assert!(trees[at].is_dir(), "the directory was removed");
            } else {
                rig.scan_of(&trees[at]);
            }
            known[at] = !known[at];
            rig.check_sums();
            let left: Vec<PathBuf> = trees
                .iter()
                .zip(&known)
                .filter(|(_, is_known)| **is_known)
                .map(|(tree, _)| tree.clone())
                .collect();
            let found: Vec<_> = left
                .iter()
                .map(|tree| (catalogued(&rig.catalogue, tree), groups(&rig)))
                .collect();
            assert!(found == undisturbed(&left), "seed {seed}, step {step}");
            if left.is_empty() {
                assert_eq!(groups(&rig), BTreeMap::new());
                assert_eq!(rig.catalogue.trees().unwrap(), []);
            }
            if step % 5 == 4 {
                rig.reopen();
            }
        }
        let scans = rig.catalogue.scans().unwrap();
        assert!(scans.len() >= 4, "scans stay as history");
    }
}

#[test]
fn digests_go_unless_their_files_are_elsewhere_in_the_catalogue() {
    let rig = Rig::new();
    let (one, two) = (rig.path().join("one"), rig.path().join("two"));
    fs::create_dir_all(one.join("deep")).unwrap();
    fs::create_dir_all(&two).unwrap();
    for name in ["gone", "deep/linked", "deep/moved"] {
        fs::write(one.join(name), b"123").unwrap();
    }
    fs::hard_link(one.join("deep/linked"), two.join("also")).unwrap();
    rig.scan_of(&one);
    let files = ["gone", "deep/linked", "deep/moved"].map(|name| attributes(&rig, &one.join(name)));
    files.iter().for_each(|file| note_digest(&rig, file));
    // The other tree has the file now; this one was not scanned again.
    fs::rename(one.join("deep/moved"), two.join("moved")).unwrap();
    rig.scan_of(&two);
    let forgotten = forget(&rig, &one).unwrap();
    assert_eq!(forgotten.digests, 1);
    let is_known = |file: &Attributes| rig.catalogue.digest(file.id).unwrap().is_some();
    assert_eq!(files.each_ref().map(is_known), [false, true, true]);
    rig.check_sums();
    assert_eq!(forget(&rig, &two).unwrap().digests, 2);
    assert_eq!(files.each_ref().map(is_known), [false; 3]);
    assert_eq!(groups(&rig), BTreeMap::new());
}

#[test]
fn forgetting_is_no_change_of_files() {
    let rig = Rig::new();
    let (one, two) = (rig.path().join("one"), rig.path().join("two"));
    fs::create_dir_all(one.join("deep")).unwrap();
    fs::write(one.join("deep/file"), b"123").unwrap();
    fs::create_dir_all(&two).unwrap();
    rig.scan_of(&one);
    rig.scan_of(&two);
    forget(&rig, &one).unwrap();
    rig.scan_of(&two);
    let mut changes = Vec::new();
    rig.catalogue
        .changes_since(0, |changed| changes.push(changed))
        .unwrap();
    assert_eq!(changes, []);
    // After another scan it is a new tree in which everything is new.
    rig.scan_of(&one);
    assert!(rig.catalogue.locate(&one.join("deep/file")).unwrap().is_some());
    rig.check_sums();
}

#[test]
fn what_is_no_tree_is_refused_with_a_reason() {
    let rig = Rig::new();
    fs::create_dir_all(rig.path().join("a/b")).unwrap();
    let unknown = forget(&rig, &rig.path()).unwrap_err();
    assert!(matches!(unknown, ScanError::Unknown { .. }), "{unknown}");
    rig.scan();
    let within = forget(&rig, &rig.path().join("a/b")).unwrap_err();
    assert!(
        matches!(&within, ScanError::Within { root, .. } if *root == rig.path()),
        "{within}"
    );
    rig.check();
    // A tree whose directory and parent no longer exist.
    fs::remove_dir_all(rig.path().join("a")).unwrap();
    let forgotten = forget(&rig, &rig.path().join("x/..")).unwrap();
    assert_eq!(forgotten.usage.entries, 3);
}
