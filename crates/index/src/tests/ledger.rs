//! Inputs: recognised, continued, unknown; unusable keys; reopening.

use crate::tests::support::{Pair, all_dumps, dump, entry, key, noise, page, progress};
use crate::{
    ApplyError, Batch, DigestProgress, Index, InputId, InputProgress, InputState, LedgerRow, PageChange,
    RollBack, Settings, View,
};

const A: &str = "http://a.com/";

#[test]
fn the_same_bytes_under_another_name_are_the_same_input() {
    let (mut pair, input) = Pair::with_input();
    pair.load(input, [page(A, 1, &[])]);
    let before = dump(&pair.snapshot(), View::Ledger);
    let mut copy = entry("copy.warc.gz");
    copy.digest = entry("a.warc.gz").digest;
    let (id, found) = pair.index().register_input(copy, None).unwrap();
    assert_eq!((id, found.input.as_str()), (input, "a.warc.gz"));
    assert_eq!(dump(&pair.snapshot(), View::Ledger), before);
}

#[test]
fn an_input_takes_another_label_only_before_anything_of_it_is_indexed() {
    let (mut pair, input) = Pair::with_input();
    let registered = |pair: &Pair, label: &str| {
        let name = pair.snapshot().input(input).unwrap().input.clone();
        let labelled = LedgerRow {
            collection: label.to_owned(),
            ..entry(&name)
        };
        pair.index().register_input(labelled, None).unwrap().1.collection
    };
    for (label, kept) in [("spring", "spring"), ("autumn", "autumn"), ("", "autumn")] {
        assert_eq!(registered(&pair, label), kept);
    }
    pair.apply_batch(vec![], vec![progress(input, 9, InputState::Loading)]);
    assert_eq!(registered(&pair, "winter"), "autumn");
}

#[test]
fn a_grown_file_continues_its_input() {
    let mut pair = Pair::new();
    let input = pair.input("a.warc.gz.open");
    pair.apply_batch(
        vec![(input, page(A, 1, &[]))],
        vec![progress(input, 500, InputState::Loading)],
    );
    assert_eq!(pair.unfinished()[0], input);
    let mut grown = entry("a.warc.gz");
    grown.size = 2000;
    let (id, now) = pair.index().register_input(grown.clone(), Some(input)).unwrap();
    pair.model.register_input(grown, Some(input));
    assert_eq!(id, input);
    assert_eq!(
        (now.input.as_str(), now.size, now.bytes_done, now.captures),
        ("a.warc.gz", 2000, 500, 1)
    );
    pair.reopen();
    pair.apply_batch(
        vec![(input, page(A, 2, &[]))],
        vec![progress(input, 2000, InputState::Done)],
    );
    pair.check();
    assert!(pair.unfinished().is_empty());
}

#[test]
fn what_is_taken_back_leaves_every_view_and_what_it_replaced_comes_back() {
    let (mut pair, input) = Pair::with_input();
    let other = pair.input("b.warc.gz");
    pair.load(other, [page(A, 1, &[("http://b.org/", "old")])]);
    let before = all_dumps(&pair.snapshot());
    // A newer version, and a new page; offsets are times.
    pair.load(
        input,
        [
            page(A, 5, &[("http://c.org/", "new")]),
            page("http://d.net/", 6, &[]),
        ],
    );
    pair.apply_batch(vec![], vec![progress(input, 9, InputState::Loading)]);
    let report = pair.take_back(input, 5);
    let changes = [
        PageChange::Upsert(key(A)),
        PageChange::Delete(key("http://d.net/")),
    ];
    assert_eq!(report.page_changes, changes);
    pair.check();
    let after = all_dumps(&pair.snapshot());
    // All views except the ledger, where the position differs.
    for (view, (before, after)) in View::ALL.iter().zip(before.iter().zip(&after)) {
        assert!(*view == View::Ledger || before == after, "{}", view.name());
    }
    pair.load(input, [page(A, 7, &[])]);
}

#[test]
fn what_cannot_be_read_again_leaves_all_as_it_was() {
    let (mut pair, input) = Pair::with_input();
    let other = pair.input("b.warc.gz");
    pair.load(other, [page(A, 1, &[])]);
    pair.load(input, [page(A, 5, &[])]);
    let to = RollBack {
        bytes_done: 0,
        exchange_from: 0,
        records: 0,
        state: InputState::Loading,
    };
    let error = pair
        .index()
        .take_back(input, &to, &mut |_| Err("gone".into()), None)
        .unwrap_err();
    let expected = "the capture of http://a.com/ at offset 1 of b.warc.gz cannot be read again: gone";
    assert_eq!(error.to_string(), expected);
    pair.check();
}

#[test]
fn forgotten_inputs_have_no_rows_and_their_numbers_are_not_used_again() {
    let (mut pair, input) = Pair::with_input();
    let kept = pair.input("b.warc.gz");
    pair.load(kept, [page(A, 2, &[])]);
    let before = all_dumps(&pair.snapshot());
    let failed = pair.input("c.warc.gz");
    pair.load(failed, [page(A, 1, &[])]);
    let epoch = pair.snapshot().epoch();
    pair.index()
        .forget(&[failed, input], &mut |_| Err("not asked for".into()), None)
        .unwrap();
    assert_eq!(pair.snapshot().epoch(), epoch.next(), "one step for both");
    for _ in 0..2 {
        let ledger = dump(&pair.snapshot(), View::Ledger);
        assert_eq!(ledger.lines().count(), 1, "{ledger}");
        assert_eq!(pair.snapshot().totals().unwrap().inputs, 1);
        assert!(pair.index().input_at(&entry("a.warc.gz").location).is_none());
        pair.reopen();
    }
    let captures = View::ALL.iter().position(|view| *view == View::Captures);
    assert_eq!(
        captures.map(|at| all_dumps(&pair.snapshot())[at].clone()),
        captures.map(|at| before[at].clone())
    );
    let (again, found) = pair.index().register_input(entry("a.warc.gz"), None).unwrap();
    assert_eq!((again, found.state), (InputId(4), InputState::Pending));
}

#[test]
fn a_missing_input_is_noted_in_its_row_until_it_is_found_again() {
    let (mut pair, input) = Pair::with_input();
    pair.load(input, [page(A, 1, &[])]);
    let place = entry("a.warc.gz").location;
    let missing = |pair: &Pair| pair.index().input_at(&place).unwrap().1.missing;
    let dumps = all_dumps(&pair.snapshot());
    pair.index().note_missing(input, "no such file").unwrap();
    assert_eq!(all_dumps(&pair.snapshot()), dumps);
    pair.reopen();
    assert_eq!(missing(&pair), "no such file");
    pair.index().register_input(entry("a.warc.gz"), None).unwrap();
    assert_eq!(missing(&pair), "");
    assert!(pair.index().input_at("/elsewhere").is_none());
}

#[test]
fn a_place_without_content_is_no_input_that_could_be_missing() {
    let pair = Pair::new();
    let mut absent = entry("a.warc.gz");
    absent.digest = format!("{}00", crate::NO_CONTENT);
    pair.index().register_input(absent.clone(), None).unwrap();
    assert!(pair.index().input_at(&absent.location).is_none());
}

#[test]
fn a_new_name_may_change_which_of_two_equal_captures_is_current() {
    let mut pair = Pair::new();
    let (one, two) = (pair.input("1.warc.gz.open"), pair.input("2.warc.gz"));
    let spelled = |url: &str, target: &str| {
        let mut capture = page(url, 5, &[(target, url)]);
        capture.page.as_mut().unwrap().title = url.into();
        capture
    };
    pair.apply(vec![(one, spelled("http://a.com/", "http://one.com/"))]);
    pair.apply(vec![(two, spelled("https://www.a.com/", "http://two.com/"))]);
    pair.check();
    assert_eq!(
        pair.snapshot().version("com,a)/").unwrap().unwrap().url,
        "https://www.a.com/"
    );
    pair.rename(one, "3.warc.gz");
    pair.check();
    assert_eq!(
        pair.snapshot().version("com,a)/").unwrap().unwrap().url,
        "http://a.com/"
    );
    pair.reopen();
    pair.rename(two, "4.warc.gz");
    pair.check();
    assert_eq!(
        pair.snapshot().version("com,a)/").unwrap().unwrap().url,
        "https://www.a.com/"
    );
    // A newer version settles the tie.
    pair.apply(vec![(one, page(A, 9, &[]))]);
    pair.rename(one, "5.warc.gz");
    pair.check();
}

#[test]
fn an_unknown_input_is_refused_and_changes_nothing() {
    let (mut pair, input) = Pair::with_input();
    pair.load(input, [page(A, 1, &[])]);
    let batch = Batch {
        captures: vec![(InputId(7), page(A, 2, &[]))],
        progress: Vec::new(),
        ..Batch::default()
    };
    assert!(matches!(
        pair.index().apply(batch),
        Err(ApplyError::UnknownInput(InputId(7)))
    ));
    pair.check();
    pair.load(input, [page(A, 3, &[])]);
}

#[test]
fn a_batch_that_changes_nothing_is_no_epoch() {
    let (mut pair, input) = Pair::with_input();
    let first = pair.apply(vec![(input, page(A, 1, &[]))]);
    let second = pair.apply(vec![(input, page(A, 1, &[]))]);
    assert_eq!(first.epoch, second.epoch);
    assert_eq!((second.captures_new, second.captures_known), (0, 1));
}

#[test]
fn keys_too_long_for_the_engine_go_to_quarantine() {
    let (mut pair, input) = Pair::with_input();
    let long = format!("http://a.com/{}", "x".repeat(70_000));
    let report = pair.apply(vec![
        (input, page(&long, 1, &[])),
        (input, page(A, 2, &[(&long, "long")])),
    ]);
    pair.check();
    assert_eq!((report.captures_new, report.links_added), (1, 0));
    let version = pair.snapshot().version("com,a)/").unwrap().unwrap();
    assert_eq!((version.links, version.links_dropped), (0, 1));
    let quarantine = dump(&pair.snapshot(), View::Quarantine);
    assert!(
        quarantine.starts_with("a.warc.gz\t1\turl-key-length\tURL key of 700"),
        "{quarantine}"
    );
}

#[test]
fn what_is_in_memory_is_in_its_tables_after_closing() {
    let home = tempfile::tempdir().unwrap();
    let open = || Index::open(&home.path().join("index"), None, Settings::default()).unwrap();
    let uris_on_disk = |index: &Index| {
        let tables = index.disk_bytes();
        tables
            .iter()
            .find(|(table, _)| *table == "uris")
            .map_or(0, |(_, bytes)| *bytes)
    };
    let index = open();
    let (input, _) = index.register_input(entry("a.warc.gz"), None).unwrap();
    let captures = (0..240).map(|n| {
        let mut capture = page(&format!("http://h.com/{n}"), n, &[(A, "a")]);
        if let Some(page) = &mut capture.page {
            page.text = noise(n as u64);
        }
        (input, capture)
    });
    let captures = captures.collect();
    index
        .apply(Batch {
            captures,
            progress: Vec::new(),
            ..Batch::default()
        })
        .unwrap();
    assert_eq!(uris_on_disk(&index), 0);
    drop(index);

    let index = open();
    assert!(uris_on_disk(&index) > 0);
    assert_eq!(index.snapshot().text("com,h)/239").unwrap(), Some(noise(239)));
    index.settle().unwrap();
    let captures = vec![(input, page(A, 500, &[]))];
    index
        .apply(Batch {
            captures,
            progress: Vec::new(),
            ..Batch::default()
        })
        .unwrap();
    assert_eq!(index.snapshot().totals().unwrap().captures, 241);
}

/// Two inputs with the same beginning are digested while they are read.
#[test]
fn digests_of_beginnings_are_no_identity_and_move_with_epochs() {
    let mut pair = Pair::new();
    let begun = |name: &str, bytes: u64| {
        let mut begun = entry(name);
        begun.digest = crate::digest_of_beginning("sha256:alike", bytes);
        begun.digesting = format!("state after {bytes}");
        begun
    };
    let ids = ["a.warc.gz", "b.warc.gz"].map(|name| {
        pair.model.register_input(begun(name, 10), None);
        pair.index().register_input(begun(name, 10), None).unwrap().0
    });
    assert_ne!(ids[0], ids[1]);
    let step = |input, bytes_done, digested: &LedgerRow| InputProgress {
        digested: Some(DigestProgress {
            digest: digested.digest.clone(),
            digesting: digested.digesting.clone(),
            size: None,
        }),
        ..progress(input, bytes_done, InputState::Loading)
    };
    pair.apply_batch(vec![], ids.map(|id| step(id, 300, &begun("", 500))).into());
    pair.reopen();
    let rows = pair.index().inputs(|entry| !entry.is_digested());
    assert_eq!(rows.len(), 2);
    for (_, row) in rows {
        assert_eq!(row.beginning(), (500, "sha256:alike"));
        assert_eq!((row.digesting.as_str(), row.size), ("state after 500", 1000));
    }
    assert_eq!(pair.index().input_of(&begun("", 500).digest), None);
    // The first is read to its end.
    pair.apply_batch(vec![], vec![step(ids[0], 1000, &entry("whole"))]);
    assert_eq!(pair.index().input_of(&entry("whole").digest), Some(ids[0]));
    pair.check();
    // The second turns out to be the same: it fails, and keeps the digest of its beginning.
    pair.index()
        .apply(Batch {
            captures: vec![],
            progress: vec![step(ids[1], 1000, &entry("whole"))],
            ..Batch::default()
        })
        .unwrap();
    let (id, row) = pair.index().inputs(|entry| !entry.is_digested()).remove(0);
    assert_eq!(id, ids[1]);
    assert!(
        matches!(&row.state, InputState::Failed { reason } if reason.contains("the content of a.warc.gz")),
        "{row:?}"
    );
}
