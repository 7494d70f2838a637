//! Ends the process at every crash point and checks that later loads give the same result as
//! without a crash.
//!
//! The test binary runs itself: the child loads a small history and aborts at the point named in
//! its environment, again and again, until it completes.

use std::path::Path;

use extract::Capture;
use fjall::AbstractTree;

use crate::crash::CLOSING_CRASH_POINTS;
use crate::tables::Table;
use crate::tests::support::{all_dumps, entry, page, progress, run_child, settings};
use crate::{Batch, CRASH_POINTS, CaptureRow, Index, InputId, InputState, RollBack, Settings};

const DIR: &str = "WEFT_TEST_CRASH_DIR";
const CLOSING_DIR: &str = "WEFT_TEST_CLOSING_CRASH_DIR";
const EPOCHS: u64 = 5;

fn captures(epoch: u64) -> Vec<Capture> {
    (0..4)
        .map(|n| {
            let url = format!("http://h{}.com/{}", n % 2, (n * 7 + epoch * 3) % 5);
            let target = format!("http://t.org/{}", (n + epoch) % 4);
            page(&url, (epoch * 10 + n) as i64, &[(&target, "x")])
        })
        .collect()
}

/// Loads all epochs that the ledger does not yet have.
fn load(dir: &Path) -> Index {
    load_with(dir, settings())
}

fn load_with(dir: &Path, settings: Settings) -> Index {
    let index = Index::open(dir, None, settings).unwrap();
    let (input, known) = index.register_input(entry("a.warc.gz"), None).unwrap();
    for epoch in known.bytes_done..EPOCHS {
        let state = if epoch + 1 == EPOCHS {
            InputState::Done
        } else {
            InputState::Loading
        };
        let captures: Vec<(InputId, Capture)> = captures(epoch).into_iter().map(|c| (input, c)).collect();
        index
            .apply(Batch {
                captures,
                progress: vec![progress(input, epoch + 1, state)],
                ..Batch::default()
            })
            .unwrap();
    }
    come_and_go(&index);
    index
}

/// Loads a second input whose captures are the newest of their keys, and takes it back completely.
fn come_and_go(index: &Index) {
    let (input, known) = index.register_input(entry("b.warc.gz"), None).unwrap();
    if known.state == InputState::Done {
        return;
    }
    if known.captures == 0 {
        let captures = captures(9).into_iter().map(|c| (input, c)).collect();
        let progress = vec![progress(input, 5, InputState::Loading)];
        index
            .apply(Batch {
                captures,
                progress,
                ..Batch::default()
            })
            .unwrap();
    }
    let to = RollBack {
        bytes_done: 0,
        exchange_from: 0,
        records: 0,
        state: InputState::Done,
    };
    let mut reread = |row: &CaptureRow| {
        let again = captures(row.offset / 10)
            .into_iter()
            .find(|c| c.offset == row.offset);
        again.ok_or_else(|| "not there".into())
    };
    index.take_back(input, &to, &mut reread, None).unwrap();
}

/// Not a test itself: the tests below run it in another process.
#[test]
fn child() {
    if let Some(dir) = std::env::var_os(DIR) {
        load(Path::new(&dir));
    }
}

/// Settings that leave no rows in the journal.
fn all_settled() -> Settings {
    Settings {
        unsettled_size_bytes_max: 0,
        ..settings()
    }
}

/// As [`child`], for an index that is closed with an empty journal.
#[test]
fn closing_child() {
    if let Some(dir) = std::env::var_os(CLOSING_DIR) {
        load_with(Path::new(&dir), all_settled());
    }
}

#[test]
fn a_crash_at_any_point_changes_nothing_in_the_end() {
    let home = tempfile::tempdir().unwrap();
    let undisturbed = all_dumps(&load(&home.path().join("undisturbed")).snapshot());
    for point in CRASH_POINTS {
        for nth in [1, 3] {
            let dir = home.path().join(format!("{point}-{nth}"));
            let mut crashes = 0;
            // Each run crashes at the same pass of the point. After a crash, the third epoch of a
            // run is another one.
            while crashes < 3 && !run_child("tests::crash::child", DIR, &dir, &format!("{point}:{nth}")) {
                crashes += 1;
            }
            assert!(crashes > 0 || nth > 1, "{point} was never reached");
            assert_eq!(
                all_dumps(&load(&dir).snapshot()),
                undisturbed,
                "after {crashes} crashes at {point}:{nth}"
            );
        }
    }
}

#[test]
fn a_crash_while_closing_loses_nothing() {
    let home = tempfile::tempdir().unwrap();
    let undisturbed = all_dumps(&load(&home.path().join("undisturbed")).snapshot());
    for point in CLOSING_CRASH_POINTS {
        let dir = home.path().join(point);
        let ended = run_child(
            "tests::crash::closing_child",
            CLOSING_DIR,
            &dir,
            &format!("{point}:1"),
        );
        assert!(!ended, "{point} was never reached");
        assert_eq!(
            all_dumps(&load(&dir).snapshot()),
            undisturbed,
            "after a crash at {point}"
        );
    }
}

#[test]
fn closing_leaves_nothing_to_read_again_and_readers_keep_what_they_read() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("index");
    let journal_bytes = || -> u64 {
        let journals = crate::tables::journals(&dir).unwrap();
        assert!(!journals.is_empty());
        journals.iter().map(|path| path.metadata().unwrap().len()).sum()
    };
    let index = load_with(&dir, all_settled());
    let (snapshot, mut dumps) = (index.snapshot(), all_dumps(&index.snapshot()));
    drop(index);
    // A reader is still open, so the journal stays.
    assert!(journal_bytes() > 0);
    assert_eq!(all_dumps(&snapshot), dumps);
    drop(snapshot);
    for round in 0..3 {
        let index = load_with(&dir, all_settled());
        assert_eq!(all_dumps(&index.snapshot()), dumps, "round {round}");
        index
            .register_input(entry(&format!("c{round}.warc.gz")), None)
            .unwrap();
        dumps = all_dumps(&index.snapshot());
        drop(index);
        assert_eq!(journal_bytes(), 0, "round {round}");
    }
    assert_eq!(all_dumps(&load(&dir).snapshot()), dumps);
}

/// Regression: once a journal was longer than the limit, every small load wrote files of its few
/// rows.
#[test]
fn small_loads_do_not_write_small_files_because_the_journal_is_long() {
    let home = tempfile::tempdir().unwrap();
    let some_unsettled = Settings {
        unsettled_size_bytes_max: 16 << 10,
        ..settings()
    };
    let index = Index::open(&home.path().join("index"), None, some_unsettled).unwrap();
    let mut written = 0;
    for n in 0..300 {
        index
            .register_input(entry(&format!("{n}.warc.gz")), None)
            .unwrap();
        index.settle().unwrap();
        let snapshot = index.snapshot();
        let inputs = snapshot.cut().tables().unwrap().space(Table::Inputs);
        written += u32::from(inputs.tree.active_memtable().is_empty());
    }
    assert!((1..30).contains(&written), "{written}");
}
