//! A watch of a changing tree: in the end the catalogue equals the disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use catalogue::{
    Catalogue, CatalogueError, CatalogueSettings, Progress, ScanSettings, StaleReason, Watch, WatchError,
    WatchEvent, WatchSettings,
};

use crate::model::{Mutator, Rig, catalogued, listed};

fn quick() -> WatchSettings {
    WatchSettings {
        quiet: Duration::from_millis(30),
        wait_max: Duration::from_millis(200),
        ..WatchSettings::default()
    }
}

/// A watch on a separate thread.
struct Running {
    progress: Progress,
    notes: Receiver<WatchEvent>,
    thread: JoinHandle<Result<(), WatchError>>,
}

impl Running {
    fn of(catalogue: &Path, trees: &[PathBuf], settings: WatchSettings) -> Running {
        let watch = Watch::begin(catalogue, trees, settings).unwrap();
        let progress = Progress::default();
        let (sender, notes) = channel();
        let told = progress.clone();
        let thread = std::thread::spawn(move || {
            let ended = watch.run(&told, |note| {
                let _ = sender.send(note);
            });
            // Shows the cause if a test waits for the catalogue in vain.
            if let Err(error) = &ended {
                println!("the watch ended: {error}: {error:?}");
            }
            ended
        });
        Running {
            progress,
            notes,
            thread,
        }
    }

    /// Waits for a note that satisfies `is_it`.
    #[track_caller]
    fn wait_for(&self, is_it: impl Fn(&WatchEvent) -> bool) -> WatchEvent {
        let mut seen = Vec::new();
        loop {
            match self.notes.recv_timeout(Duration::from_secs(30)) {
                Ok(note) if is_it(&note) => return note,
                Ok(note) => seen.push(note),
                Err(error) => panic!("{error}: {seen:?}"),
            }
        }
    }

    fn wait_until_current(&self) {
        self.wait_for(|note| matches!(note, WatchEvent::Current { .. }));
    }

    #[track_caller]
    fn end(self) {
        self.progress.stop();
        self.thread.join().unwrap().unwrap();
    }
}

/// Folders for a catalogue and for a tree.
struct Places {
    state: tempfile::TempDir,
    tree: tempfile::TempDir,
}

impl Places {
    fn new() -> Places {
        Places {
            state: tempfile::tempdir().unwrap(),
            tree: tempfile::tempdir().unwrap(),
        }
    }

    fn catalogue(&self) -> PathBuf {
        self.state.path().join("files")
    }

    fn tree(&self) -> PathBuf {
        self.tree.path().canonicalize().unwrap()
    }

    fn watch(&self, settings: WatchSettings) -> Running {
        Running::of(&self.catalogue(), &[self.tree()], settings)
    }

    /// Opens the catalogue between two rounds of a watch.
    fn open(&self) -> Arc<Catalogue> {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            match Catalogue::open(&self.catalogue(), &CatalogueSettings::default()) {
                Err(CatalogueError::InUse { .. }) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                catalogue => return Arc::new(catalogue.unwrap()),
            }
        }
    }

    /// Waits until the catalogue equals the disk, then compares everything.
    #[track_caller]
    fn check(&self) {
        self.check_of(&self.tree());
    }

    #[track_caller]
    fn check_of(&self, root: &Path) {
        let expected = listed(root);
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let catalogue = self.open();
            // The first scan may be still to come.
            let is_there = catalogue.locate(root).unwrap().is_some();
            if is_there && catalogued(&catalogue, root) == expected || Instant::now() > end {
                Rig::check_beside(&catalogue, root);
                return;
            }
            drop(catalogue);
            std::thread::sleep(Duration::from_millis(60));
        }
    }
}

/// Changes a tree in bursts and compares after each. `WEFT_TEST_SEED` chooses another seed.
fn changes_are_followed(settings: &WatchSettings, seed: u64) {
    let given = std::env::var("WEFT_TEST_SEED");
    let seed = given.map_or(seed, |seed| {
        seed.parse().expect("WEFT_TEST_SEED must be a number")
    });
    println!("WEFT_TEST_SEED={seed}");
    let places = Places::new();
    let mut mutator = Mutator::new(&places.tree(), seed);
    mutator.steps(100);
    let running = places.watch(settings.clone());
    // Also while the first scan is running.
    mutator.steps(100);
    places.check();
    for round in 0..8 {
        for _ in 0..5 {
            mutator.steps(40);
            std::thread::sleep(Duration::from_millis(mutator.dice.below(90) as u64));
        }
        println!("round {round}");
        places.check();
    }
    running.end();
    places.check();
}

#[test]
fn the_catalogue_follows_a_tree_that_changes_at_random() {
    changes_are_followed(&quick(), 0);
}

#[test]
fn more_changes_than_are_noted_are_found_by_sweeps() {
    let settings = WatchSettings {
        dirty_max: 3,
        scan_after: Duration::from_millis(100),
        scan_after_max: Duration::from_millis(400),
        ..quick()
    };
    changes_are_followed(&settings, 1);
}

#[test]
fn directories_beyond_the_limit_of_watches_are_swept() {
    let places = Places::new();
    let mut mutator = Mutator::new(&places.tree(), 1);
    mutator.steps(200);
    let running = places.watch(WatchSettings {
        watches_max: 4,
        scan_after: Duration::from_millis(100),
        scan_after_max: Duration::from_millis(400),
        ..quick()
    });
    let limit = running.wait_for(|note| matches!(note, WatchEvent::Limit { .. }));
    assert_eq!(
        limit,
        WatchEvent::Limit {
            watched: 4,
            error: None
        }
    );
    for _ in 0..3 {
        mutator.steps(100);
        places.check();
    }
    let fresh = places
        .open()
        .freshness(places.tree().as_os_str().as_encoded_bytes());
    assert_eq!(fresh.unwrap().unwrap().stale.unwrap().reason, StaleReason::Limit);
    running.end();
}

#[test]
fn a_directory_that_is_renamed_keeps_what_is_below_it() {
    let places = Places::new();
    let (from, to) = (places.tree().join("a/b"), places.tree().join("c/d"));
    fs::create_dir_all(from.join("deep/er")).unwrap();
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    for n in 0..300 {
        fs::write(from.join(format!("deep/er/{n}")), b"x").unwrap();
    }
    let running = places.watch(quick());
    running.wait_until_current();
    fs::rename(&from, &to).unwrap();
    let WatchEvent::Committed { counts } =
        running.wait_for(|note| matches!(note, WatchEvent::Committed { counts } if counts.removed > 0))
    else {
        unreachable!();
    };
    assert!(counts.added + counts.removed < 10, "{counts:?}");
    places.check();
    // Its watches are still in place.
    fs::write(to.join("deep/er/new"), b"x").unwrap();
    places.check();
    running.end();
}

/// A directory is catalogued but not watched: it comes from another tree, or moved past the scan
/// that set the watches. If it were taken for a renamed directory, its catalogued state could be
/// old and changes below it would be missed.
#[test]
fn a_directory_that_was_known_and_not_watched_is_read_when_it_comes_in() {
    let places = Places::new();
    let (watched, other) = (places.tree().join("watched"), places.tree().join("other"));
    fs::create_dir_all(&watched).unwrap();
    fs::create_dir_all(other.join("comes/deep/er")).unwrap();
    fs::write(other.join("comes/deep/er/file"), b"x").unwrap();
    let catalogue = Catalogue::create(&places.catalogue(), &CatalogueSettings::default()).unwrap();
    let settings = ScanSettings::default();
    Arc::new(catalogue)
        .scan(&other, &settings, &Progress::default())
        .unwrap();
    let running = Running::of(&places.catalogue(), std::slice::from_ref(&watched), quick());
    running.wait_until_current();
    fs::write(other.join("comes/deep/er/unseen"), b"x").unwrap();
    fs::rename(other.join("comes"), watched.join("came")).unwrap();
    places.check_of(&watched);
    for n in 0..3 {
        fs::write(watched.join(format!("came/deep/er/new {n}")), b"x").unwrap();
        places.check_of(&watched);
    }
    running.end();
}

#[test]
fn a_tree_that_is_away_is_not_emptied() {
    let places = Places::new();
    let root = places.tree().join("mounted");
    let aside = places.tree().join("aside");
    fs::create_dir_all(root.join("dir")).unwrap();
    fs::write(root.join("dir/file"), b"x").unwrap();
    let running = Running::of(&places.catalogue(), std::slice::from_ref(&root), quick());
    running.wait_until_current();
    fs::rename(&root, &aside).unwrap();
    // Like the empty directory of an unmounted file system.
    fs::create_dir(&root).unwrap();
    running.wait_for(|note| {
        matches!(
            note,
            WatchEvent::Stale {
                reason: StaleReason::Away,
                ..
            }
        )
    });
    assert_eq!(catalogued(&places.open(), &root).len(), 3);
    fs::write(aside.join("dir/meanwhile"), b"x").unwrap();
    fs::remove_dir(&root).unwrap();
    fs::rename(&aside, &root).unwrap();
    running.wait_for(|note| matches!(note, WatchEvent::Committed { counts } if counts.added > 0));
    assert_eq!(catalogued(&places.open(), &root).len(), 4);
    running.end();
}

#[test]
fn how_fresh_a_tree_is_can_be_told() {
    let places = Places::new();
    let path = places.tree().as_os_str().as_encoded_bytes().to_vec();
    let running = places.watch(quick());
    running.wait_until_current();
    let fresh = places.open().freshness(&path).unwrap().unwrap();
    assert!(fresh.is_watched && fresh.stale.is_none(), "{fresh:?}");
    running.end();
    let fresh = places.open().freshness(&path).unwrap().unwrap();
    assert_eq!(fresh.stale.unwrap().reason, StaleReason::Ended);
    assert!(!fresh.is_watched);
    // Another watch continues where the first one ended.
    fs::write(places.tree().join("meanwhile"), b"x").unwrap();
    let again = places.watch(WatchSettings {
        scan_after: Duration::from_millis(300),
        ..quick()
    });
    places.check();
    let second = Watch::begin(&places.catalogue(), &[places.tree()], quick());
    assert!(matches!(
        second.err(),
        Some(WatchError::Watched { .. } | WatchError::Scan(_))
    ));
    again.wait_until_current();
    again.end();
}

#[test]
fn a_catalogue_within_the_tree_does_not_keep_its_own_watch_busy() {
    let places = Places::new();
    let within = places.tree().join("archive/files");
    let running = Running::of(&within, &[places.tree()], quick());
    running.wait_until_current();
    std::thread::sleep(Duration::from_millis(600));
    let _ = running.notes.try_iter().count();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(running.notes.try_iter().collect::<Vec<_>>(), []);
    running.end();
}

#[test]
fn parts_of_trees_and_trees_within_each_other_are_refused() {
    let places = Places::new();
    let part = places.tree().join("part");
    fs::create_dir(&part).unwrap();
    let both = [places.tree(), part.clone()];
    let refused = Watch::begin(&places.catalogue(), &both, quick()).err().unwrap();
    assert!(matches!(refused, WatchError::Twice { .. }), "{refused}");
    let running = places.watch(quick());
    running.wait_until_current();
    running.end();
    let refused = Watch::begin(&places.catalogue(), &[part], quick()).err().unwrap();
    assert!(matches!(refused, WatchError::Within { .. }), "{refused}");
}
