//! What readers see while epochs are committed.

use std::sync::atomic::{AtomicBool, Ordering};

use extract::CaptureKind;

use crate::tests::support::{Pair, all_dumps, as_kind, key, page};
use crate::{Epoch, KeyRange, PageChange, Snapshot};

const A: &str = "http://a.com/";
const B: &str = "http://b.org/";

#[test]
fn a_snapshot_stays_at_its_epoch() {
    let (mut pair, input) = Pair::with_input();
    pair.load(input, [page(A, 1, &[(B, "b")])]);
    let old = pair.snapshot();
    let before = all_dumps(&old);
    pair.load(input, [page(A, 2, &[]), page(B, 3, &[(A, "a")])]);
    assert_eq!(all_dumps(&old), before);
    assert_eq!((old.epoch(), pair.snapshot().epoch()), (Epoch(1), Epoch(3)));
}

/// Every epoch moves the only link from one target to the next. A reader must always see exactly
/// one link, the matching counts, and the number of the epoch that they belong to.
#[test]
fn no_read_mixes_epochs() {
    let (mut pair, input) = Pair::with_input();
    let target = |n: i64| format!("http://t{n}.com/");
    pair.apply(vec![(input, page(A, 1, &[(&target(1), "x")]))]);
    let index = pair.index().clone();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !done.load(Ordering::Relaxed) {
                let snapshot = index.snapshot();
                let n = snapshot.epoch().0 as i64;
                let links = snapshot.outlinks(&key(A), None, 9).unwrap();
                assert_eq!(links.len(), 1);
                assert_eq!(links[0].target_key, key(&target(n)));
                assert_eq!(snapshot.uri(&key(&target(n))).unwrap().unwrap().inlinks, 1);
                assert_eq!(snapshot.uri(&key(&target(n - 1))).unwrap(), None);
                assert_eq!(snapshot.totals().unwrap().captures, n as u64);
                seen += 1;
            }
            seen
        });
        for n in 2..150 {
            pair.apply(vec![(input, page(A, n, &[(&target(n), "x")]))]);
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
    pair.check();
}

#[test]
fn wat_wet_and_warc_of_one_capture_give_one_page_in_any_order() {
    let mut warc = page(A, 1, &[(B, "from warc")]);
    warc.page.as_mut().unwrap().text = String::new();
    let mut wat = as_kind(CaptureKind::Wat, page(A, 1, &[(B, "from wat")]));
    wat.page.as_mut().unwrap().text = String::new();
    let mut wet = as_kind(CaptureKind::Wet, page(A, 1, &[]));
    wet.page.as_mut().unwrap().text = "from wet".into();
    for (n, capture) in [&mut warc, &mut wat, &mut wet].into_iter().enumerate() {
        capture.offset = n as u64;
    }
    let captures = [warc, wat, wet];
    let mut results = Vec::new();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let (mut pair, input) = Pair::with_input();
        pair.load(input, order.map(|i| captures[i].clone()));
        let snapshot = pair.snapshot();
        assert_eq!(snapshot.text(&key(A)).unwrap().unwrap(), "from wet");
        assert_eq!(snapshot.inlinks(&key(B), None, 9).unwrap()[0].anchor, "from warc");
        results.push(all_dumps(&snapshot));
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_text_goes_when_a_newer_version_has_none() {
    let (mut pair, input) = Pair::with_input();
    let mut pdf = page(A, 2, &[]);
    pdf.page = None;
    pair.load(input, [page(A, 1, &[]), pdf]);
    assert_eq!(pair.snapshot().text(&key(A)).unwrap(), None);
    assert!(!pair.snapshot().version(&key(A)).unwrap().unwrap().is_page);
}

/// Data cached by a reader of one epoch must not reach a reader of another, whichever reads first.
#[test]
fn a_shown_page_is_of_the_epoch_that_was_asked() {
    let (mut pair, input) = Pair::with_input();
    let mut capture = page(A, 1, &[]);
    capture.page.as_mut().unwrap().text = "old".into();
    pair.load(input, [capture.clone()]);
    let old = pair.snapshot();
    capture.fetch_time_ms += 1000;
    capture.offset += 1;
    capture.page.as_mut().unwrap().text = "new".into();
    pair.load(input, [capture, page(B, 3, &[(A, "a")])]);
    let new = pair.snapshot();
    for _ in 0..2 {
        let (old, new) = (old.shown(&key(A)).unwrap(), new.shown(&key(A)).unwrap());
        assert_eq!((old.text.as_deref(), old.inlinks), (Some("old"), 0));
        assert_eq!((new.text.as_deref(), new.inlinks), (Some("new"), 1));
    }
}

#[test]
fn search_is_told_of_pages_and_of_their_in_link_buckets() {
    let (mut pair, input) = Pair::with_input();
    let upsert = |url: &str| PageChange::Upsert(key(url));
    let changes = |pair: &Pair, since| -> Vec<PageChange> {
        pair.snapshot()
            .pages_changed_since(Epoch(since))
            .map(Result::unwrap)
            .collect()
    };
    let report = pair.apply(vec![(input, page(A, 1, &[]))]);
    assert_eq!(report.page_changes, [upsert(A)]);
    let bucket = |url: &str, bucket| PageChange::Bucket(key(url), bucket);
    let report = pair.apply(vec![(input, page(B, 2, &[(A, "a")]))]);
    let anchors = |url: &str| PageChange::Anchors(key(url));
    assert_eq!(report.page_changes, [anchors(A), upsert(B)]);
    let mut gone = page(B, 3, &[]);
    gone.page = None;
    let report = pair.apply(vec![(input, gone)]);
    assert_eq!(report.page_changes, [anchors(A), PageChange::Delete(key(B))]);
    // From the beginning: every key with a version once.
    assert_eq!(changes(&pair, 0), [upsert(A), PageChange::Delete(key(B))]);
    assert_eq!(changes(&pair, 1).len(), 4);
    assert_eq!(changes(&pair, 2), [anchors(A), PageChange::Delete(key(B))]);
    assert_eq!(changes(&pair, 3), []);
    // Links without text change only the bucket, and the fifth link not even that: buckets are 1,
    // 2, 3, 4-5.
    for n in 0..5 {
        let url = format!("http://s{n}.com/");
        let report = pair.apply(vec![(input, page(&url, 10 + n, &[(A, "")]))]);
        let told: Vec<_> = report
            .page_changes
            .into_iter()
            .filter(|change| change.url_key() == key(A))
            .collect();
        match n {
            4 => assert_eq!(told, []),
            _ => assert_eq!(told, [bucket(A, n as u8 + 1)]),
        }
    }
    // The weight of a text changes with 1, 2 and 4 hosts.
    for n in 0..5 {
        let url = format!("http://s{n}.com/");
        let report = pair.apply(vec![(input, page(&url, 20 + n, &[(A, "a")]))]);
        let told = report.page_changes.contains(&anchors(A));
        assert_eq!(told, [0, 1, 3].contains(&n), "host {n}");
    }
}

#[test]
fn captures_are_found_by_key_prefix_and_cursor() {
    let (mut pair, input) = Pair::with_input();
    let urls = [
        "http://a.com/",
        "http://a.com/x",
        "http://sub.a.com/",
        "http://ab.com/",
    ];
    for (url, n) in urls.iter().zip(1..) {
        pair.apply(vec![(input, page(url, n, &[])), (input, page(url, n + 50, &[]))]);
    }
    let snapshot = pair.snapshot();
    let times = |range: KeyRange| -> Vec<i64> {
        snapshot
            .captures(range, None)
            .map(|row| row.unwrap().fetch_time_ms / 1000)
            .collect()
    };
    assert_eq!(times(KeyRange::Exact("com,a)/".into())), [1, 51]);
    assert_eq!(times(KeyRange::Prefix("com,a)".into())), [1, 51, 2, 52]);
    assert_eq!(times(KeyRange::Prefix("com,a,".into())), [3, 53]);
    assert_eq!(
        times(KeyRange::Between("com,a)/x".into(), "com,ab".into())),
        [2, 52, 3, 53]
    );
    let exact = urlkey::url_ranges("http://a.com/", urlkey::MatchType::Exact).unwrap();
    let exact = exact.into_iter().map(KeyRange::from);
    assert_eq!(exact.flat_map(&times).collect::<Vec<_>>(), [1, 51]);
    assert_eq!(times(KeyRange::All), [1, 51, 2, 52, 3, 53, 4, 54]);
    let mut captures = snapshot.captures(KeyRange::All, None);
    let first: Vec<_> = captures.by_ref().take(3).map(Result::unwrap).collect();
    let rest: Vec<_> = snapshot
        .captures(KeyRange::All, Some(captures.cursor()))
        .map(Result::unwrap)
        .collect();
    assert_eq!((first.len(), rest.len()), (3, 5));
    let back = |range: KeyRange, before: Option<&[u8]>| -> Vec<i64> {
        snapshot
            .captures_reversed(range, before)
            .map(|row| row.unwrap().fetch_time_ms / 1000)
            .collect()
    };
    assert_eq!(back(KeyRange::Prefix("com,a)".into()), None), [52, 2, 51, 1]);
    assert_eq!(back(KeyRange::All, Some(captures.cursor())), [51, 1]);
    let between = Snapshot::captures_cursor_at("com,a)/", 51_000);
    assert_eq!(back(KeyRange::Exact("com,a)/".into()), Some(&between)), [1]);
    let mut from = snapshot.captures(KeyRange::Exact("com,a)/".into()), Some(&between));
    assert_eq!(from.next().unwrap().unwrap().fetch_time_ms, 51_000);
    let mut passing = snapshot.captures(KeyRange::All, None);
    assert_eq!(passing.skip_rows(6).unwrap(), 6);
    assert_eq!(passing.next().unwrap().unwrap().fetch_time_ms, 4_000);
    assert_eq!(passing.skip_rows(6).unwrap(), 1);
    let newest = snapshot.captures_newest("com,a)/", 1).unwrap();
    assert_eq!(newest[0].fetch_time_ms, 51_000);
}
