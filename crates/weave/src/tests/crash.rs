//! The process ends at every crash point; what is loaded afterwards is as if it had not.
//!
//! The test binary runs itself: the child loads a small history and aborts at the point named in its environment,
//! again and again, until it gets through.

use std::path::Path;

use extract::Capture;

use crate::tests::support::{all_dumps, entry, page, progress, run_child, settings};
use crate::{Batch, CRASH_POINTS, CaptureRow, InputId, InputState, TakeBack, Weave};

const DIR: &str = "WEFT_TEST_CRASH_DIR";
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

/// Loads all epochs that the ledger does not yet know of.
fn load(dir: &Path) -> Weave {
    let weave = Weave::open(dir, None, settings()).unwrap();
    let (input, known) = weave.register_input(entry("a.warc.gz"), None).unwrap();
    for epoch in known.bytes_done..EPOCHS {
        let state = if epoch + 1 == EPOCHS {
            InputState::Done
        } else {
            InputState::Loading
        };
        let captures: Vec<(InputId, Capture)> = captures(epoch).into_iter().map(|c| (input, c)).collect();
        weave
            .apply(Batch {
                captures,
                progress: vec![progress(input, epoch + 1, state)],
            })
            .unwrap();
    }
    come_and_go(&weave);
    weave
}

/// A second input that is taken back whole: its captures were the newest of their keys.
fn come_and_go(weave: &Weave) {
    let (input, known) = weave.register_input(entry("b.warc.gz"), None).unwrap();
    if known.state == InputState::Done {
        return;
    }
    if known.captures == 0 {
        let captures = captures(9).into_iter().map(|c| (input, c)).collect();
        let progress = vec![progress(input, 5, InputState::Loading)];
        weave.apply(Batch { captures, progress }).unwrap();
    }
    let to = TakeBack {
        bytes_done: 0,
        records: 0,
        state: InputState::Done,
    };
    let mut reread = |row: &CaptureRow| {
        let again = captures(row.offset / 10)
            .into_iter()
            .find(|c| c.offset == row.offset);
        again.ok_or_else(|| "not there".to_owned())
    };
    weave.take_back(input, &to, &mut reread).unwrap();
}

/// Not a test of its own: what the tests below run in another process.
#[test]
fn child() {
    if let Some(dir) = std::env::var_os(DIR) {
        load(Path::new(&dir));
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
            // At the same place every time: the third epoch of a run is another one after each crash.
            while crashes < 3 && !run_child("tests::crash::child", DIR, &dir, &format!("{point}:{nth}")) {
                crashes += 1;
            }
            assert!(crashes > 0 || nth > 1, "{point} was never passed");
            assert_eq!(
                all_dumps(&load(&dir).snapshot()),
                undisturbed,
                "after {crashes} crashes at {point}:{nth}"
            );
        }
    }
}
