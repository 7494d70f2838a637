//! Repeated scans of a changing tree, some of them stopped.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use catalogue::{Progress, ScanError, ScanState};

use crate::model::{Mutator, Rig};

fn seeds() -> Vec<u64> {
    match std::env::var("WEFT_TEST_SEED") {
        Ok(seed) => vec![seed.parse().expect("WEFT_TEST_SEED must be a number")],
        Err(_) => (0..3).collect(),
    }
}

#[test]
fn the_catalogue_follows_a_tree_that_changes_at_random() {
    for seed in seeds() {
        println!("seed {seed}");
        let mut rig = Rig::new();
        let mut mutator = Mutator::new(&rig.path(), seed);
        for round in 0..8 {
            mutator.steps(150);
            let scanned = rig.scan();
            assert_eq!(scanned.row.state, ScanState::Done);
            rig.check();
            if round % 3 == 2 {
                rig.reopen();
                rig.check();
            }
        }
        let again = rig.scan().row.counts;
        assert_eq!((again.added, again.removed, again.changed), (0, 0, 0));
    }
}

#[test]
fn a_scan_stopped_anywhere_goes_on_and_ends_as_one_that_was_not() {
    for seed in seeds() {
        println!("seed {seed}");
        let mut rig = Rig::new();
        let mut mutator = Mutator::new(&rig.path(), seed);
        mutator.steps(400);
        for _ in 0..3 {
            mutator.steps(100);
            // Directories that were read must not look as if they had changed since.
            std::thread::sleep(std::time::Duration::from_millis(120));
            let mut number = None;
            for stop_after in [0, 5, 20, 60, 100] {
                let progress = Progress::default();
                let ended = AtomicBool::new(false);
                let result = std::thread::scope(|scope| {
                    scope.spawn(|| {
                        while progress.entries() < stop_after && !ended.load(Relaxed) {
                            std::thread::yield_now();
                        }
                        progress.stop();
                    });
                    let result = rig.catalogue.scan(&rig.path(), &rig.settings, &progress);
                    ended.store(true, Relaxed);
                    result
                });
                match result {
                    Err(ScanError::Stopped) => {}
                    // The scan finished first.
                    Ok(_) => break,
                    Err(error) => panic!("{error}"),
                }
                rig.check_sums();
                let (last, row) = rig.catalogue.scans().unwrap().pop().unwrap();
                assert_eq!(row.state, ScanState::Begun);
                assert_eq!(*number.get_or_insert(last), last, "the scan is resumed");
                rig.reopen();
            }
            rig.scan();
            rig.check();
        }
    }
}

#[test]
fn what_changes_during_a_scan_is_right_after_the_next() {
    for seed in seeds() {
        println!("seed {seed}");
        let rig = Rig::new();
        let mut mutator = Mutator::new(&rig.path(), seed);
        mutator.steps(600);
        rig.scan();
        for _ in 0..4 {
            let is_done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_done.load(Relaxed) {
                        mutator.steps(20);
                    }
                });
                for _ in 0..3 {
                    rig.scan();
                    rig.check_sums();
                }
                is_done.store(true, Relaxed);
            });
            rig.scan();
            rig.check();
        }
    }
}

/// Stops threads when dropped.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Regression test: a directory was read and committed as attached to its parent. Then it was
/// removed, and its parent no longer had an entry for it. No later scan removed its entries from
/// the sums.
#[test]
fn a_directory_that_is_removed_between_its_reading_and_the_look_at_its_name_counts_nowhere() {
    let rig = Rig::new();
    let (root, stop) = (rig.path(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (root, stop) = (&root, &stop);
            scope.spawn(move || {
                for number in 0.. {
                    if stop.load(Relaxed) {
                        break;
                    }
                    let tree = root.join(format!("{thread}-{}", number % 40));
                    let deep = tree.join("a/b");
                    // Each call may fail because the path exists or is gone.
                    let _ = fs::remove_dir_all(&tree);
                    let _ = fs::create_dir_all(&deep);
                    for file in 0..3 {
                        let _ = fs::write(deep.join(format!("{file}.warc")), b"some bytes");
                    }
                }
            });
        }
        // Also on a panic: otherwise the threads would never end.
        let _stop = Stop(&stop);
        for _ in 0..30 {
            rig.scan();
            rig.check_sums();
        }
    });
    rig.scan();
    rig.check();
}

#[test]
fn a_directory_that_moves_keeps_what_is_known_of_it() {
    let rig = Rig::new();
    let root = rig.path();
    for dir in ["a/x/deep", "b"] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    for n in 0..50 {
        fs::write(root.join(format!("a/x/deep/{n}")), vec![0; n]).unwrap();
    }
    rig.scan();
    fs::rename(root.join("a/x"), root.join("b/y")).unwrap();
    let counts = rig.scan().row.counts;
    // Only the name itself changes, not the contents of the directory. The old and the new parent
    // have new times.
    assert_eq!((counts.added, counts.removed), (1, 1), "{counts:?}");
    rig.check();
}

#[test]
fn a_part_of_a_tree_is_scanned_alone() {
    let rig = Rig::new();
    let root = rig.path();
    fs::create_dir_all(root.join("a/b/c")).unwrap();
    fs::create_dir_all(root.join("other")).unwrap();
    rig.scan();
    fs::write(root.join("a/b/c/new"), b"12345").unwrap();
    fs::write(root.join("other/unseen"), b"1").unwrap();
    fs::create_dir_all(root.join("a/b/d/e")).unwrap();
    let scanned = rig.scan_of(&root.join("a/b"));
    assert_eq!(&*scanned.row.below, b"a/b");
    rig.check_sums();
    let find = |path: &str| rig.catalogue.locate(&root.join(path)).unwrap();
    assert_eq!(find("a/b/c/new").unwrap().attributes.size_bytes, 5);
    assert!(find("a/b/d/e").is_some());
    assert!(find("other/unseen").is_none());
    // A directory that is not catalogued yet, below one that is.
    fs::create_dir_all(root.join("fresh/inner")).unwrap();
    fs::write(root.join("fresh/inner/file"), b"1").unwrap();
    rig.scan_of(&root.join("fresh"));
    assert!(find("fresh/inner/file").is_some());
    rig.check_sums();
    rig.scan();
    rig.check();
}

#[test]
fn a_tree_that_holds_catalogued_ones_takes_them_in() {
    let rig = Rig::new();
    let root = rig.path();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/b/file"), b"123").unwrap();
    rig.scan_of(&root.join("a"));
    assert_eq!(rig.catalogue.trees().unwrap().len(), 1);
    rig.check_sums();
    rig.scan();
    let trees = rig.catalogue.trees().unwrap();
    assert_eq!(trees.len(), 1);
    assert_eq!(trees[0].path, root.as_os_str().as_encoded_bytes());
    rig.check();
}

#[test]
fn another_directory_at_the_path_of_a_root_is_another_tree() {
    let rig = Rig::new();
    let (root, aside) = (rig.path().join("root"), rig.path().join("aside"));
    fs::create_dir_all(root.join("old/deep")).unwrap();
    rig.scan_of(&root);
    fs::rename(&root, &aside).unwrap();
    fs::create_dir_all(root.join("new")).unwrap();
    rig.scan_of(&root);
    rig.check_sums();
    assert!(rig.catalogue.locate(&root.join("old")).unwrap().is_none());
    assert!(rig.catalogue.locate(&root.join("new")).unwrap().is_some());
    // The first directory again, under another path.
    rig.scan_of(&aside);
    rig.check_sums();
    assert!(rig.catalogue.locate(&aside.join("old/deep")).unwrap().is_some());
}

#[test]
fn a_stage_that_is_switched_off_writes_nothing() {
    let mut rig = Rig::new();
    Mutator::new(&rig.path(), 1).steps(200);
    for until in [
        catalogue::LastStage::ReadDir,
        catalogue::LastStage::Stat,
        catalogue::LastStage::Lookup,
        catalogue::LastStage::Diff,
    ] {
        rig.settings.last_stage = until;
        let scanned = rig.scan();
        assert!(scanned.stages[0].done > 50);
        assert_eq!(rig.catalogue.epoch().unwrap(), 0);
        assert!(rig.catalogue.trees().unwrap().is_empty());
    }
}

#[test]
fn two_processes_do_not_open_one_catalogue() {
    let rig = Rig::new();
    let settings = catalogue::CatalogueSettings::default();
    let missing = catalogue::Catalogue::open(&rig.path().join("none"), &settings)
        .err()
        .unwrap();
    assert!(missing.to_string().contains("weft files scan"), "{missing}");
    let state = tempfile::tempdir().unwrap();
    let _open = catalogue::Catalogue::create(state.path(), &settings).unwrap();
    let in_use = catalogue::Catalogue::open(state.path(), &settings).err().unwrap();
    assert!(in_use.to_string().contains("in use"), "{in_use}");
}

#[test]
fn what_is_mounted_below_is_entered_only_when_asked() {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &str| fs::metadata(path).map(|found| found.dev()).ok();
    if device("/dev/shm").is_none() || device("/dev/shm") == device("/dev") {
        println!("skipped: no file system is mounted at /dev/shm");
        return;
    }
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    fs::create_dir(dir.path().join("inner")).unwrap();
    fs::write(dir.path().join("inner/file"), b"123").unwrap();
    let mut rig = Rig::new();
    let has = |rig: &Rig, path: &str| rig.catalogue.locate(&dir.path().join(path)).unwrap().is_some();
    rig.scan_of("/dev".as_ref());
    rig.check_sums();
    assert!(rig.catalogue.locate("/dev/shm".as_ref()).unwrap().is_some());
    assert!(!has(&rig, "inner"));
    rig.settings.cross_devices = true;
    rig.scan_of("/dev".as_ref());
    rig.check_sums();
    assert!(has(&rig, "inner/file"));
    let top = rig.catalogue.locate(dir.path()).unwrap().unwrap();
    assert_eq!(rig.catalogue.usage(&top).unwrap().entries, 3);
    // When it is excluded again, it counts as removed.
    rig.settings.cross_devices = false;
    rig.scan_of("/dev".as_ref());
    rig.check_sums();
}
