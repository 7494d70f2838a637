//! Index lines and captures: whichever comes first, each capture is shown once, from every cursor
//! and in both directions. Compared with a plain list.

use std::collections::BTreeSet;

use extract::{Capture, CaptureKind};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::support::progress;
use crate::{
    Batch, CaptureRow, Epoch, Index, InputId, InputState, KeyRange, LedgerRow, RollBack, Selector, Settings,
    TakedownRequest,
};
use extract::IndexLine;

/// 2014-01-26T20:06:24Z
const TIME_MS: i64 = 1_390_766_784_000;

fn capture(key: u8, second: i64, digest: u8, offset: u64) -> Capture {
    Capture {
        url_key: format!("com,example)/{key}"),
        url: format!("http://example.com/{key}"),
        // Indexes have whole seconds; records may have milliseconds.
        fetch_time_ms: TIME_MS + second * 1000 + 123,
        mime: "image/png".into(),
        status: 200,
        digest: format!("D{digest}"),
        offset,
        length: 50,
        kind: CaptureKind::Response,
        ..Capture::default()
    }
}

/// Returns the line of an index for a capture in a file.
fn line(capture: &Capture, filename: &str, offset: u64) -> IndexLine {
    IndexLine {
        url_key: capture.url_key.clone(),
        fetch_time_ms: capture.fetch_time_ms.div_euclid(1000) * 1000,
        url: capture.url.clone(),
        mime: capture.mime.clone(),
        status: capture.status,
        digest: capture.digest.clone(),
        filename: filename.to_owned(),
        record_offset: capture.offset,
        record_length: capture.length,
        offset,
        length: 20,
        alias_of: None,
        text: None,
    }
}

/// A shown capture: key, second, file and offset, and whether only an index lists it.
type LineFields = (String, i64, String, u64, bool);

fn shown(row: &CaptureRow) -> LineFields {
    let name = format::file_name::base_name(&row.input_name).to_owned();
    (
        row.url_key.clone(),
        row.fetch_time_ms.div_euclid(1000),
        name,
        row.offset,
        row.index_only,
    )
}

/// All captures and lines in the order of loading.
#[derive(Default)]
struct Plain {
    captures: Vec<(InputId, Capture)>,
    lines: Vec<(InputId, IndexLine)>,
}

impl Plain {
    fn shown(&self, name: impl Fn(InputId) -> String) -> BTreeSet<LineFields> {
        let mut all = BTreeSet::new();
        for (input, c) in &self.captures {
            let second = c.fetch_time_ms.div_euclid(1000);
            all.insert((c.url_key.clone(), second, name(*input), c.offset, false));
        }
        for (_, l) in &self.lines {
            let second = l.fetch_time_ms.div_euclid(1000);
            let file = format::file_name::base_name(&l.filename).to_owned();
            let is_covered = self.captures.iter().any(|(input, c)| {
                let same = (&c.url_key, c.fetch_time_ms.div_euclid(1000)) == (&l.url_key, second);
                let place = (name(*input), c.offset) == (file.clone(), l.record_offset);
                same && (place || (&c.url, &c.digest) == (&l.url, &l.digest))
            });
            if !is_covered {
                all.insert((l.url_key.clone(), second, file, l.record_offset, true));
            }
        }
        all
    }
}

fn check(index: &Index, plain: &Plain) {
    let snapshot = index.snapshot();
    let name = |id: InputId| format::file_name::base_name(&snapshot.input(id).unwrap().input).to_owned();
    let expected = plain.shown(name);
    let mut walk = snapshot.captures_and_lines(KeyRange::All, false, None);
    let (mut rows, mut cursors) = (Vec::new(), Vec::new());
    while let Some(row) = walk.next() {
        rows.push(shown(&row.unwrap()));
        cursors.push(walk.cursor().to_vec());
    }
    let found: BTreeSet<LineFields> = rows.iter().cloned().collect();
    assert_eq!(found, expected);
    let are_captures = rows.iter().filter(|row| !row.4).count();
    assert_eq!(are_captures, plain.captures.len(), "captures are never hidden");
    assert_eq!(rows.len(), found.len(), "each line exactly once");
    for (at, cursor) in cursors.iter().enumerate() {
        let after = snapshot.captures_and_lines(KeyRange::All, false, Some(cursor));
        let after: Vec<LineFields> = after.map(|row| shown(&row.unwrap())).collect();
        assert_eq!(after, rows[at + 1..]);
        let before = snapshot.captures_and_lines(KeyRange::All, true, Some(cursor));
        let mut before: Vec<LineFields> = before.map(|row| shown(&row.unwrap())).collect();
        before.reverse();
        assert_eq!(before, rows[..at]);
    }
    let mut skipping = snapshot.captures_and_lines(KeyRange::All, false, None);
    assert_eq!(skipping.skip_rows(usize::MAX).unwrap(), rows.len());
    assert_eq!(
        snapshot.captures(KeyRange::All, None).count(),
        plain.captures.len()
    );
    let totals = snapshot.totals().unwrap();
    let sums = (plain.captures.len() as u64, plain.lines.len() as u64, 0);
    assert_eq!((totals.captures, totals.index_lines, totals.attachments), sums);
    assert_eq!(snapshot.check().unwrap().damages, []);
}

#[derive(Debug, Clone)]
enum Step {
    Capture { input: usize, n: u64 },
    Line { input: usize, of: usize, n: u64 },
    TakeBack { input: usize },
    TakeDown { key: u8 },
    Reopen,
}

/// Returns the capture at a position of a file; always the same one.
fn nth(input: usize, n: u64) -> Capture {
    let mixed = n * 7 + input as u64;
    capture((mixed % 3) as u8, (mixed % 2) as i64, (n % 4) as u8, n * 100)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..2_usize, 0..6_u64).prop_map(|(input, n)| Step::Capture { input, n }),
        5 => (2..4_usize, 0..2_usize, 0..6_u64).prop_map(|(input, of, n)| Step::Line { input, of, n }),
        1 => (0..4_usize).prop_map(|input| Step::TakeBack { input }),
        1 => (0..3_u8).prop_map(|key| Step::TakeDown { key }),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..30)
}

fn run(steps: Vec<Step>) {
    let dir = tempfile::tempdir().unwrap();
    let open = || Index::open(dir.path(), None, Settings::default()).unwrap();
    let mut index = open();
    let files = ["a.warc.gz", "b.warc.gz", "a.cdxj", "b.cdxj"];
    let inputs: Vec<InputId> = files
        .iter()
        .map(|name| {
            let digest = format!("sha256:{name}");
            let entry = LedgerRow::pending(&format!("crawls/{name}"), name, &digest, 1 << 20, "");
            index.register_input(entry, None).unwrap().0
        })
        .collect();
    let mut plain = Plain::default();
    let mut taken_down = BTreeSet::new();
    for step in steps {
        let mut batch = Batch::default();
        match step {
            Step::Capture { input, n } => {
                let (id, capture) = (inputs[input], nth(input, n));
                let is_new = !plain
                    .captures
                    .iter()
                    .any(|(i, c)| (*i, c.offset) == (id, capture.offset));
                if is_new && !taken_down.contains(&capture.url_key) {
                    plain.captures.push((id, capture.clone()));
                }
                batch.captures.push((id, capture));
            }
            Step::Line { input, of, n } => {
                let id = inputs[input];
                let line = line(&nth(of, n), files[of], n * 20 + of as u64 * 1000);
                let is_new = !plain
                    .lines
                    .iter()
                    .any(|(i, l)| (*i, l.offset) == (id, line.offset));
                if is_new && !taken_down.contains(&line.url_key) {
                    plain.lines.push((id, line.clone()));
                }
                // Twice, as after a crash.
                batch.lines = vec![(id, line.clone()), (id, line)];
            }
            Step::TakeBack { input } => {
                let to = RollBack {
                    bytes_done: 0,
                    exchange_from: 0,
                    records: 0,
                    state: InputState::Loading,
                };
                let id = inputs[input];
                let mut reread = |row: &CaptureRow| {
                    let of = inputs.iter().position(|id| *id == row.input).unwrap();
                    Ok(nth(of, row.offset / 100))
                };
                index.take_back(id, &to, &mut reread, None).unwrap();
                plain.captures.retain(|(input, _)| *input != id);
                plain.lines.retain(|(input, _)| *input != id);
            }
            Step::TakeDown { key } => {
                let url_key = format!("com,example)/{key}");
                let asked = TakedownRequest {
                    selector: Selector::Url(url_key.clone()),
                    who: String::new(),
                    reason: String::new(),
                    at_ms: 0,
                };
                let would = index.preview_takedown(&asked.selector, 100).unwrap();
                let before = plain.shown(|id| {
                    let at = inputs.iter().position(|input| *input == id).unwrap();
                    files[at].to_owned()
                });
                let leave = before.iter().filter(|shown| shown.0 == url_key).count() as u64;
                assert_eq!(would.captures, leave);
                let took = index
                    .take_down(&asked, &mut |_| Err("not asked for".into()), None)
                    .unwrap();
                if took.is_new {
                    assert_eq!(took.takedown.captures, leave);
                }
                plain.captures.retain(|(_, c)| c.url_key != url_key);
                plain.lines.retain(|(_, l)| l.url_key != url_key);
                taken_down.insert(url_key);
            }
            Step::Reopen => {
                drop(index);
                index = open();
            }
        }
        index.apply(batch).unwrap();
        check(&index, &plain);
    }
}

#[test]
fn captures_are_shown_once_whatever_comes_first() {
    let given = std::env::var("WEFT_TEST_SEED").ok();
    let seed = given.map_or(u64::from(std::process::id()), |seed| seed.parse().unwrap());
    println!("WEFT_TEST_SEED={seed}");
    let mut config = Config::with_cases(12);
    config.failure_persistence = None;
    config.rng_seed = RngSeed::Fixed(seed);
    TestRunner::new(config)
        .run(&steps(), |steps| {
            run(steps);
            Ok(())
        })
        .unwrap();
}

/// A POST of another program's lines may have any time, so the greatest possible time must not
/// overflow.
#[test]
fn lines_of_the_last_second_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open(dir.path(), None, Settings::default()).unwrap();
    let entry = LedgerRow::pending("x.cdxj", "/x.cdxj", "sha256:x", 100, "");
    let (id, _) = index.register_input(entry, None).unwrap();
    let mut line = line(&capture(0, 0, 0, 0), "x.warc.gz", 0);
    line.fetch_time_ms = civil_max();
    let report = index
        .apply(Batch {
            lines: vec![(id, line)],
            progress: vec![progress(id, 20, InputState::Done)],
            ..Batch::default()
        })
        .unwrap();
    assert_eq!((report.epoch, report.lines_new), (Epoch(1), 1));
    let found: Vec<CaptureRow> = index
        .snapshot()
        .captures_and_lines(KeyRange::All, false, None)
        .map(Result::unwrap)
        .collect();
    assert_eq!(found.len(), 1);
    assert!(found[0].index_only && found[0].input_name == "x.warc.gz");
}

/// A snapshot keeps its sums, so a later takedown must not change them.
#[test]
fn attachments_and_lines_are_counted_apart() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open(dir.path(), None, Settings::default()).unwrap();
    let input = |name: &str| {
        let entry = LedgerRow::pending(name, &format!("/{name}"), &format!("sha256:{name}"), 100, "");
        index.register_input(entry, None).unwrap().0
    };
    let (lines, records) = (input("x.cdxj"), input("x.warc.gz"));
    let attachment = |offset| IndexLine {
        url: "urn:text:http://example.com/0".into(),
        ..line(&capture(0, 0, 0, offset), "", offset)
    };
    let of_index = line(&capture(1, 0, 0, 0), "y.warc.gz", 0);
    index
        .apply(Batch {
            lines: vec![
                (lines, of_index),
                (records, attachment(10)),
                (records, attachment(20)),
            ],
            ..Batch::default()
        })
        .unwrap();
    let counted = |snapshot: &crate::Snapshot| {
        let totals = snapshot.totals().unwrap();
        (totals.index_lines, totals.attachments)
    };
    let before = index.snapshot();
    assert_eq!(counted(&before), (1, 2));
    let asked = TakedownRequest {
        selector: Selector::Url("com,example)/0".into()),
        who: String::new(),
        reason: String::new(),
        at_ms: 0,
    };
    index
        .take_down(&asked, &mut |_| Err("not asked for".into()), None)
        .unwrap();
    assert_eq!((counted(&index.snapshot()), counted(&before)), ((1, 0), (1, 2)));
}

/// 9999-12-31T23:59:59Z
fn civil_max() -> i64 {
    253_402_300_799_000
}
