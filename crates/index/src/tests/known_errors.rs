//! Known errors of an earlier system, each covered by a test.

use crate::tests::support::{Pair, dump, key, page, progress};
use crate::{InputState, View};

const A: &str = "http://a.com/";
const B: &str = "http://b.org/";
const C: &str = "http://c.net/x";

#[test]
fn a_changed_anchor_text_shows() {
    let (mut pair, input) = Pair::with_input();
    pair.load(
        input,
        [page(A, 1, &[(B, "old words")]), page(A, 2, &[(B, "new words")])],
    );
    assert_eq!(
        pair.snapshot().inlinks(&key(B), None, 9).unwrap()[0].anchor,
        "new words"
    );
}

/// An https capture, then an http capture that redirects to it: one URL key. The redirect was the
/// newest capture, became the current version, and removed the page's title, text and links from
/// all views and from search.
#[test]
fn a_redirect_to_the_own_key_does_not_hide_the_page() {
    let redirect = |time| {
        let mut capture = page("http://www.a.com/", time, &[]);
        (capture.status, capture.page) = (301, None);
        capture.redirects_to_itself = true;
        capture
    };
    let captures = [page(A, 1, &[(B, "b")]), redirect(3), redirect(2)];
    for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
        let (mut pair, input) = Pair::with_input();
        pair.load(input, order.map(|n| captures[n].clone()));
        let snapshot = pair.snapshot();
        let version = snapshot.version(&key(A)).unwrap().unwrap();
        assert!(version.is_page && version.title == "Title 1");
        assert_eq!((version.fetch_time_ms, version.last_seen_ms), (1000, 3000));
        assert_eq!(snapshot.text(&key(A)).unwrap().as_deref(), Some("Text 1"));
        assert_eq!(snapshot.inlinks(&key(B), None, 9).unwrap().len(), 1);
    }
    let (mut pair, input) = Pair::with_input();
    pair.load(input, [redirect(1)]);
    assert_eq!(pair.snapshot().version(&key(A)).unwrap(), None);
    assert!(pair.snapshot().uri(&key(A)).unwrap().unwrap().captured);
}

#[test]
fn a_page_crawled_again_without_links_loses_its_old_ones() {
    let (mut pair, input) = Pair::with_input();
    pair.load(input, [page(A, 1, &[(B, "b"), (C, "c")]), page(A, 2, &[])]);
    assert_eq!(pair.snapshot().uri(&key(B)).unwrap(), None);
    assert_eq!(dump(&pair.snapshot(), View::Links), "");
}

#[test]
fn an_older_crawl_loaded_later_changes_nothing() {
    let (mut pair, input) = Pair::with_input();
    pair.load(input, [page(A, 5, &[(B, "b")])]);
    let views = [
        View::Pages,
        View::Links,
        View::Inlinks,
        View::Uris,
        View::Domains,
        View::Top,
    ];
    let before = views.map(|view| dump(&pair.snapshot(), view));
    pair.load(input, [page(A, 4, &[(C, "c")])]);
    assert_eq!(views.map(|view| dump(&pair.snapshot(), view)), before);
    assert_eq!(pair.snapshot().totals().unwrap().captures, 2);
}

#[test]
fn the_same_page_twice_in_one_load_counts_once() {
    let (mut pair, input) = Pair::with_input();
    let mut again = page(A, 1, &[(B, "b")]);
    again.offset = 77;
    pair.apply(vec![
        (input, page(A, 1, &[(B, "b")])),
        (input, page(A, 1, &[(B, "b")])),
        (input, again),
    ]);
    pair.check();
    assert_eq!(pair.snapshot().uri(&key(B)).unwrap().unwrap().inlinks, 1);
    assert_eq!(pair.snapshot().totals().unwrap().captures, 2);
}

#[test]
fn a_page_without_links_is_still_a_page() {
    let (mut pair, input) = Pair::with_input();
    pair.load(input, [page(A, 1, &[])]);
    assert!(pair.snapshot().version(&key(A)).unwrap().unwrap().is_page);
    assert_eq!(pair.snapshot().domain("a.com").unwrap().unwrap().pages, 1);
}

#[test]
fn failed_inputs_are_in_the_ledger() {
    let (mut pair, input) = Pair::with_input();
    let state = InputState::Failed {
        reason: "cannot be read".into(),
    };
    pair.apply_batch(vec![(input, page(A, 1, &[]))], vec![progress(input, 10, state)]);
    pair.check();
    let ledger = dump(&pair.snapshot(), View::Ledger);
    assert_eq!(
        ledger,
        "a.warc.gz\tsha256:a.warc.gz\t1000\tfailed(cannot be read)\t1\t1\t0\t10\n"
    );
    assert_eq!(pair.unfinished().len(), 1);
}

#[test]
fn deletes_stay_deleted() {
    // The last link to a URI is removed. Neither another epoch nor reopening brings it back.
    let (mut pair, input) = Pair::with_input();
    pair.load(input, [page(A, 1, &[(B, "b")]), page(A, 2, &[])]);
    for time in 3..6 {
        pair.load(input, [page(C, time, &[])]);
        pair.reopen();
        pair.check();
        assert_eq!(pair.snapshot().uri(&key(B)).unwrap(), None);
        assert_eq!(pair.snapshot().domain("b.org").unwrap(), None);
    }
}

#[test]
fn paging_is_by_key_not_by_counting_rows() {
    // Between two result pages a row is inserted before the border: no row is shown twice or left
    // out.
    let (mut pair, input) = Pair::with_input();
    let source = |n: i64| format!("http://s{n}.com/");
    for n in 1..8 {
        pair.apply(vec![(input, page(&source(n), n, &[(B, "b")]))]);
    }
    let first = pair.snapshot().inlinks(&key(B), None, 4).unwrap();
    let last = &first.last().unwrap().source_key;
    pair.load(input, [page("http://s0.com/", 100, &[(B, "b")])]);
    let second = pair.snapshot().inlinks(&key(B), Some(last), 4).unwrap();
    let seen: Vec<String> = first.into_iter().chain(second).map(|l| l.source_key).collect();
    assert_eq!(seen, (1..8).map(|n| key(&source(n))).collect::<Vec<_>>());
}
