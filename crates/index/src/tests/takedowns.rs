//! Takedowns: captures that are removed, stay out, and come back.

use std::path::Path;

use extract::{Capture, CaptureKind};

use crate::tables::Table;
use crate::tests::support::{
    Pair, all_dumps, dump, entry, key, page, progress, run_child, settings, take_down,
};
use crate::{
    Batch, CaptureRow, Index, InputId, InputState, KeptSelector, LedgerRow, PageChange, Selector, View,
};

const DIR: &str = "WEFT_TEST_TAKEDOWN_DIR";

fn url(url: &str) -> Selector {
    Selector::Url(key(url))
}

#[test]
fn a_page_leaves_with_all_that_came_of_it_and_stays_a_uri_that_is_linked_to() {
    let (mut pair, input) = Pair::with_input();
    let secret = "http://a.com/secret";
    pair.load(
        input,
        [
            page(secret, 1, &[("http://b.org/only-from-there", "words")]),
            page("http://c.net/", 2, &[(secret, "a link to it")]),
            page(secret, 3, &[]),
        ],
    );
    let took_down = pair.take_down(&url(secret));
    pair.check();
    assert_eq!((took_down.takedown.captures, took_down.takedown.pages), (2, 1));
    assert_eq!(took_down.report.page_changes, [PageChange::Delete(key(secret))]);
    let uri = pair.snapshot().uri(&key(secret)).unwrap().unwrap();
    assert_eq!((uri.captured, uri.is_page, uri.inlinks), (false, false, 1));
    assert!(
        pair.snapshot()
            .uri(&key("http://b.org/only-from-there"))
            .unwrap()
            .is_none()
    );
    let ledger = pair.snapshot().input(input).unwrap();
    assert_eq!((ledger.captures, ledger.taken_down), (1, 2));
}

#[test]
fn what_is_taken_down_stays_out_whichever_input_it_comes_from() {
    let (mut pair, input) = Pair::with_input();
    let secret = "http://a.com/secret";
    pair.load(input, [page(secret, 1, &[])]);
    pair.take_down(&url(secret));
    let other = pair.input("b.warc.gz");
    let report = pair.apply(vec![
        (other, page(secret, 5, &[("http://x.org/", "x")])),
        (other, page("http://a.com/open", 6, &[])),
        // The same capture again, as after a crash.
        (other, page(secret, 5, &[])),
    ]);
    pair.check();
    assert_eq!((report.captures_new, report.captures_taken_down), (1, 1));
    pair.reopen();
    pair.apply(vec![(other, page(secret, 7, &[])), (input, page(secret, 1, &[]))]);
    pair.check();
    let taken_down = |id| pair.snapshot().input(id).unwrap().taken_down;
    assert_eq!((taken_down(input), taken_down(other)), (1, 2));
    assert_eq!(pair.snapshot().totals().unwrap().captures_taken_down, 3);
}

#[test]
fn an_older_version_comes_back_where_the_newest_is_taken_down() {
    let mut pair = Pair::new();
    let (old, new) = (pair.input("old.warc.gz"), pair.input("new.warc.gz"));
    pair.load(old, [page("http://a.com/", 1, &[("http://b.org/", "old")])]);
    pair.load(new, [page("http://a.com/", 9, &[("http://c.org/", "new")])]);
    pair.take_down(&Selector::Before(2000));
    pair.check();
    let mut other = Pair::new();
    let (old, new) = (other.input("old.warc.gz"), other.input("new.warc.gz"));
    other.load(new, [page("http://a.com/", 9, &[])]);
    other.load(old, [page("http://a.com/", 1, &[("http://b.org/", "old")])]);
    other.take_down(&Selector::Inputs(vec![new]));
    assert_eq!(
        other
            .snapshot()
            .version(&key("http://a.com/"))
            .unwrap()
            .unwrap()
            .fetch_time_ms,
        1000
    );
    assert_eq!(other.snapshot().input(new).unwrap().state, InputState::TakenDown);
}

#[test]
fn a_takedown_goes_ahead_where_an_older_capture_cannot_be_read_again() {
    let mut pair = Pair::new();
    let [oldest, old, new] = ["oldest", "old", "new"].map(|name| pair.input(&format!("{name}.warc.gz")));
    for (input, time) in [(oldest, 1), (old, 2), (new, 3)] {
        pair.load(input, [page("http://a.com/", time, &[])]);
    }
    let model = pair.model.clone();
    let mut reread = |row: &CaptureRow| {
        if row.input == old {
            Err("the file is gone".into())
        } else {
            Ok(model.capture(row.input, row.offset).unwrap().clone())
        }
    };
    let asked = take_down(&Selector::Inputs(vec![new]));
    let took_down = pair.index().take_down(&asked, &mut reread, None).unwrap();
    let unreadable: Vec<(&str, &str)> = took_down
        .unreadable
        .iter()
        .map(|(row, why)| (row.input_name.as_str(), why.as_str()))
        .collect();
    assert_eq!(unreadable, [("old.warc.gz", "the file is gone")]);
    let version = pair.snapshot().version(&key("http://a.com/")).unwrap().unwrap();
    assert_eq!(version.fetch_time_ms, 1000, "the best readable capture");
    assert_eq!(pair.snapshot().check().unwrap().damages, []);
}

/// Regression: their texts and links stayed in the tables of the past, where nothing referred to
/// them.
#[test]
fn captures_that_could_not_be_read_again_leave_with_their_texts_and_links() {
    let mut pair = Pair::new();
    let [old, new] = ["old", "new"].map(|name| pair.input(&format!("{name}.warc.gz")));
    let captures = [(1, "first"), (2, "second")].map(|(time, text)| {
        let mut capture = page("http://a.com/", time, &[("http://b.org/", text)]);
        capture.page.as_mut().unwrap().text = text.into();
        capture
    });
    pair.load(old, captures);
    pair.load(new, [page("http://a.com/", 3, &[])]);
    let mut gone = |_: &CaptureRow| Err("the file is gone".into());
    for input in [new, old] {
        let asked = take_down(&Selector::Inputs(vec![input]));
        pair.index().take_down(&asked, &mut gone, None).unwrap();
    }
    let snapshot = pair.snapshot();
    assert_eq!(snapshot.check().unwrap().damages, []);
    for table in [Table::PastTexts, Table::PastLinks, Table::PastInlinks] {
        assert_eq!(snapshot.cut().iter(table).count(), 0, "rows of {table:?}");
    }
}

#[test]
fn whole_inputs_leave_with_their_losses_and_come_back_as_new_ones() {
    let mut pair = Pair::new();
    let (stays, goes) = (pair.input("stays.warc.gz"), pair.input("goes.warc.gz"));
    let mut lossy = progress(goes, 90, InputState::Done);
    lossy.quarantined.push(crate::QuarantineEntry {
        offset: 50,
        length: 3,
        reason: "junk".into(),
        detail: "words of it".into(),
    });
    lossy.exchange_from = 40;
    pair.apply_batch(vec![(stays, page("http://a.com/", 1, &[]))], Vec::new());
    pair.apply_batch(vec![(goes, page("http://b.org/", 2, &[]))], vec![lossy.clone()]);
    let before = all_dumps(&pair.snapshot());
    let took_down = pair.index().take_down(
        &take_down(&Selector::Inputs(vec![goes])),
        &mut |_| Err("not asked for".into()),
        None,
    );
    let took_down = took_down.unwrap();
    assert!(matches!(took_down.takedown.rule, KeptSelector::Inputs { .. }));
    let snapshot = pair.snapshot();
    assert_eq!(dump(&snapshot, View::Quarantine), "");
    let row = snapshot.input(goes).unwrap();
    drop(snapshot);
    assert_eq!(
        (row.records, row.captures, row.bytes_done, row.taken_down),
        (0, 0, 0, 1)
    );
    assert_eq!((&row.state, row.quarantined), (&InputState::TakenDown, 0));
    assert_eq!(row.exchange_from, 0, "it is read again from its beginning");
    let (found, known) = pair.index().register_input(entry("goes.warc.gz"), None).unwrap();
    assert_eq!(
        (found, known.state),
        (goes, InputState::TakenDown),
        "it is known by its digest"
    );
    pair.index()
        .undo_takedown(took_down.takedown.id, "somebody", 8)
        .unwrap()
        .unwrap();
    pair.reopen();
    assert_eq!(pair.snapshot().input(goes).unwrap().state, InputState::Pending);
    pair.index()
        .apply(Batch {
            captures: vec![(goes, page("http://b.org/", 2, &[]))],
            progress: vec![lossy],
            ..Batch::default()
        })
        .unwrap();
    assert_eq!(all_dumps(&pair.snapshot()), before);
}

#[test]
fn the_register_says_everything_but_what() {
    let (mut pair, input) = Pair::with_input();
    pair.load(input, [page("http://a.com/secret/1", 1, &[])]);
    let selectors = [
        url("http://a.com/secret/1"),
        Selector::Prefix("com,a)/secret".into()),
        Selector::Collection("secret".into()),
        Selector::Before(5),
        Selector::Inputs(vec![input]),
    ];
    for selector in &selectors {
        pair.index()
            .take_down(&take_down(selector), &mut |_| Err("gone".into()), None)
            .unwrap();
    }
    pair.reopen();
    let register = pair.index().takedowns();
    let ids: Vec<u32> = register.iter().map(|takedown| takedown.id).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5]);
    assert_eq!(
        (register[0].who.as_str(), register[0].reason.as_str()),
        ("somebody", "asked for")
    );
    assert_eq!(register[0].captures, 1);
    let text = serde_json::to_string(&register).unwrap();
    assert!(
        !text.contains("secret") && !text.contains("sha256:a.warc.gz"),
        "{text}"
    );
    assert_ne!(
        format!("{:?}", register[0].rule),
        format!("{:?}", register[2].rule)
    );
    // A repeated request returns the existing takedown.
    let again = pair.take_down(&selectors[0]);
    assert_eq!((again.is_new, again.takedown.id), (false, 1));
    pair.index().undo_takedown(1, "other", 9).unwrap();
    let undone = pair.index().takedowns()[0].undone.clone().unwrap();
    assert_eq!((undone.who.as_str(), undone.at_ms), ("other", 9));
    assert!(pair.index().undo_takedown(99, "other", 9).unwrap().is_none());
}

#[test]
fn what_is_undone_comes_back_when_it_is_read_again_and_not_before() {
    let (mut pair, input) = Pair::with_input();
    let captures = [
        page("http://a.com/1", 1, &[("http://b.org/", "x")]),
        page("http://a.com/2", 2, &[]),
    ];
    pair.load(input, captures.clone());
    let before = all_dumps(&pair.snapshot());
    pair.take_down(&Selector::Prefix("com,a)/".into()));
    pair.check();
    assert!(pair.index().returning(input).unwrap().is_empty());
    pair.index().undo_takedown(1, "somebody", 8).unwrap();
    assert_eq!(pair.model.undo_takedown(1).len(), 2);
    pair.check();
    let returning = pair.index().returning(input).unwrap();
    assert_eq!(returning.iter().map(|row| row.offset).collect::<Vec<_>>(), [1, 2]);
    let rules = pair.index().takedown_rules().unwrap();
    assert!(rules.is_returning("a.warc.gz", 2) && !rules.is_returning("a.warc.gz", 3));
    pair.load(input, captures);
    assert!(pair.index().returning(input).unwrap().is_empty());
    assert_eq!(all_dumps(&pair.snapshot()), before);
}

#[test]
fn rules_that_another_process_is_told_say_the_same() {
    let (mut pair, input) = Pair::with_input();
    pair.load(input, [page("http://a.com/secret/1", 1, &[])]);
    pair.take_down(&Selector::Prefix("com,a)/s".into()));
    pair.take_down(&Selector::Before(500));
    let told = serde_json::to_string(&pair.index().takedown_rules().unwrap()).unwrap();
    let rules: crate::TakedownRules = serde_json::from_str(&told).unwrap();
    for (key, time, expected) in [
        ("com,a)/secret/1", 900, Some(1)),
        ("com,a)/s", 900, Some(1)),
        ("com,a)/", 900, None),
        ("com,a)/", 499, Some(2)),
        ("com,a)/", 500, None),
    ] {
        assert_eq!(
            rules.takes_down(key.as_bytes(), time, ""),
            expected,
            "{key} at {time}"
        );
    }
}

#[test]
fn what_would_leave_is_told_and_nothing_changes() {
    let (mut pair, input) = Pair::with_input();
    pair.load(
        input,
        (1..6).map(|n| page(&format!("http://a.com/{}", n % 3), n, &[])),
    );
    let before = all_dumps(&pair.snapshot());
    let would = pair.index().preview_takedown(&Selector::Before(4000), 2).unwrap();
    assert_eq!((would.captures, would.url_keys, would.rows.len()), (3, 3, 2));
    assert_eq!(would.inputs.into_iter().collect::<Vec<_>>(), [(input, 3)]);
    assert_eq!(all_dumps(&pair.snapshot()), before);
    assert!(pair.index().takedowns().is_empty());
}

fn captures(input: u64) -> Vec<Capture> {
    (0..6)
        .map(|n| {
            let url = format!("http://h{}.com/{}", n % 2, n % 3);
            let target = format!("http://t.org/{}", n + input);
            page(&url, (input * 10 + n) as i64, &[(&target, "x")])
        })
        .collect()
}

/// Loads two inputs with takedowns in between, and skips steps that are already done.
fn load(dir: &Path) -> Index {
    let index = Index::open(dir, None, settings()).unwrap();
    let mut reread = |row: &CaptureRow| {
        let mut all = captures(row.offset / 10).into_iter();
        all.find(|c| c.offset == row.offset)
            .ok_or_else(|| "not there".into())
    };
    let read = |input: &str, number: u64| {
        let (id, known): (InputId, LedgerRow) = index.register_input(entry(input), None).unwrap();
        let returning = index.returning(id).unwrap();
        let captures = captures(number).into_iter();
        let captures: Vec<_> = if known.state == InputState::Done {
            captures
                .filter(|c| returning.iter().any(|row| row.offset == c.offset))
                .collect()
        } else {
            captures.collect()
        };
        let captures = captures.into_iter().map(|c| (id, c)).collect();
        let progress = match known.state {
            InputState::Done => Vec::new(),
            _ => vec![progress(id, 90, InputState::Done)],
        };
        index
            .apply(Batch {
                captures,
                progress,
                ..Batch::default()
            })
            .unwrap();
        id
    };
    read("a.warc.gz", 0);
    let prefix = take_down(&Selector::Prefix("com,h1)/".into()));
    if index.takedowns().is_empty() {
        index.take_down(&prefix, &mut reread, None).unwrap();
    }
    let second = read("b.warc.gz", 1);
    index.undo_takedown(1, "somebody", 9).unwrap();
    read("a.warc.gz", 0);
    read("b.warc.gz", 1);
    let inputs = take_down(&Selector::Inputs(vec![second]));
    index.take_down(&inputs, &mut reread, None).unwrap();
    index
}

/// Not a test itself: the test below runs it in another process.
#[test]
fn child() {
    if let Some(dir) = std::env::var_os(DIR) {
        load(Path::new(&dir));
    }
}

#[test]
fn a_crash_in_a_takedown_changes_nothing_in_the_end() {
    let home = tempfile::tempdir().unwrap();
    let undisturbed = all_dumps(&load(&home.path().join("undisturbed")).snapshot());
    let points = [
        "take_back.before_commit",
        "take_back.before_sync",
        "take_back.before_publish",
        "undo_takedown.before_commit",
        "undo_takedown.before_sync",
    ];
    for point in points {
        let dir = home.path().join(point);
        let ended = run_child("tests::takedowns::child", DIR, &dir, &format!("{point}:1"));
        assert!(!ended, "{point} was never reached");
        let index = load(&dir);
        assert_eq!(
            all_dumps(&index.snapshot()),
            undisturbed,
            "after a crash at {point}"
        );
        assert_eq!(index.takedowns().len(), 2, "after a crash at {point}");
        assert_eq!(index.snapshot().check().unwrap().damages, []);
    }
}

#[test]
fn redirects_and_revisits_leave_like_pages() {
    let (mut pair, input) = Pair::with_input();
    let mut redirect = page("http://a.com/secret", 1, &[]);
    redirect.status = 302;
    redirect.page = None;
    redirect.redirect = page("http://x.org/", 1, &[("http://a.com/target", "")])
        .page
        .map(|mut page| page.links.remove(0));
    let revisit = crate::tests::support::as_kind(CaptureKind::Revisit, page("http://a.com/secret", 2, &[]));
    pair.load(input, [redirect, revisit, page("http://a.com/target", 3, &[])]);
    pair.take_down(&url("http://a.com/target"));
    pair.check();
    // The redirect still links to it.
    assert!(
        pair.snapshot()
            .uri(&key("http://a.com/target"))
            .unwrap()
            .is_some()
    );
    pair.take_down(&url("http://a.com/secret"));
    pair.check();
    assert!(
        pair.snapshot()
            .uri(&key("http://a.com/target"))
            .unwrap()
            .is_none()
    );
}

/// Returns how many directories a directory contains.
fn folders(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir).unwrap();
    entries
        .filter(|entry| entry.as_ref().unwrap().path().is_dir())
        .count()
}

/// Returns all files below a directory with their bytes.
fn bytes_below(dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(bytes_below(&path))
        } else {
            found.push((path.clone(), std::fs::read(&path).unwrap()))
        }
    }
    found
}

fn files_with(dir: &Path, word: &str) -> Vec<std::path::PathBuf> {
    let has = |bytes: &[u8]| bytes.windows(word.len()).any(|window| window == word.as_bytes());
    let files = bytes_below(dir).into_iter();
    files
        .filter(|(_, bytes)| has(bytes))
        .map(|(path, _)| path)
        .collect()
}

/// Returns an index with a page whose words occur nowhere else, and enough links that rows are
/// packed with a dictionary and in-links have rows of their own.
fn with_planted(word: &str) -> (Pair, InputId) {
    let (mut pair, input) = Pair::with_input();
    let mut captures: Vec<(InputId, Capture)> = (0..120)
        .map(|n| {
            let targets: Vec<String> = (0..16)
                .map(|t| format!("http://t{t}.org/{word}/{}", n % 3))
                .collect();
            let links: Vec<(&str, &str)> = targets.iter().map(|t| (t.as_str(), word)).collect();
            (input, page(&format!("http://planted.com/{word}/{n}"), n, &links))
        })
        .collect();
    captures.extend((120..220).map(|n| {
        let target = format!("http://t.org/{}", n % 3);
        (
            input,
            page(&format!("http://stays.com/{n}"), n, &[(&target, "some words")]),
        )
    }));
    pair.apply(captures);
    let mut text = page(&format!("http://planted.com/{word}"), 221, &[]);
    if let Some(page) = &mut text.page {
        page.text = format!("{word} {}", crate::tests::support::noise(3));
    }
    pair.load(input, [text]);
    (pair, input)
}

#[test]
fn no_file_holds_what_was_taken_down_once_it_is_purged() {
    let word = "zq7xkvwplantedj4m9";
    let (mut pair, input) = with_planted(word);
    assert!(pair.snapshot().cut().link_dictionary().is_some());
    pair.take_down(&Selector::Prefix("com,planted)/".into()));
    pair.check();
    let before = all_dumps(&pair.snapshot());
    assert!(!files_with(&pair.dir(), word).is_empty());
    let epoch = pair.snapshot().epoch();
    pair.index().purge(epoch, &mut |_, _| ()).unwrap();
    assert_eq!(
        files_with(pair.dir().parent().unwrap(), word),
        [] as [std::path::PathBuf; 0]
    );
    assert_eq!(all_dumps(&pair.snapshot()), before);
    pair.check();
    // The index still works as before.
    pair.load(
        input,
        [page("http://stays.com/new", 999, &[("http://t.org/1", "x")])],
    );
    pair.reopen();
    pair.check();
    assert_eq!(
        files_with(pair.dir().parent().unwrap(), word),
        [] as [std::path::PathBuf; 0]
    );
}

#[test]
fn a_purge_waits_for_readers_and_changes_nothing_where_one_stays() {
    let (pair, _) = with_planted("word");
    let held = pair.snapshot();
    let before = all_dumps(&held);
    let error = pair.index().purge(held.epoch(), &mut |_, _| ()).unwrap_err();
    assert!(error.to_string().contains("while it is being read"), "{error}");
    drop(held);
    assert_eq!(all_dumps(&pair.snapshot()), before);
    let epoch = pair.snapshot().epoch();
    pair.index().purge(epoch, &mut |_, _| ()).unwrap();
    assert_eq!(all_dumps(&pair.snapshot()), before);
}

const PURGE_DIR: &str = "WEFT_TEST_PURGE_DIR";

/// Not a test itself: the test below runs it in another process.
#[test]
fn purging_child() {
    if let Some(dir) = std::env::var_os(PURGE_DIR) {
        let index = load(Path::new(&dir));
        let epoch = index.snapshot().epoch();
        index.purge(epoch, &mut |_, _| ()).unwrap();
    }
}

#[test]
fn a_crash_in_a_purge_loses_nothing_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let undisturbed = all_dumps(&load(&home.path().join("undisturbed")).snapshot());
    for point in crate::PURGING_CRASH_POINTS {
        let place = home.path().join(point);
        let dir = place.join("index");
        let ended = run_child(
            "tests::takedowns::purging_child",
            PURGE_DIR,
            &dir,
            &format!("{point}:1"),
        );
        assert!(!ended, "{point} was never reached");
        assert_eq!(folders(&place), 2);
        let index = load(&dir);
        assert_eq!(
            all_dumps(&index.snapshot()),
            undisturbed,
            "after a crash at {point}"
        );
        assert_eq!(folders(&place), 1, "after a crash at {point}");
    }
}
