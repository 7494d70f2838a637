//! Rebuilds views: one row or all rows of a table are lost, and a rebuild restores them.

use std::path::Path;

use crate::crash::REBUILDING_CRASH_POINTS;
use crate::tables::Table;
use crate::tests::support::{Pair, all_dumps, page, run_child, settings};
use crate::write::Write;
use crate::{Index, RebuildError, RebuildReport, View};

const DIR: &str = "WEFT_TEST_REBUILD_DIR";

/// Pages of several domains, some with many in-links, loaded in several epochs and some of them
/// again.
fn pair() -> Pair {
    let (mut pair, input) = Pair::with_input();
    for epoch in 0..4 {
        let pages = (1..20).map(|n| {
            let own = format!("http://t{}.com/", n % 3);
            let said = format!("t {}", n % 3);
            let links = [
                ("http://t.com/", said.as_str()),
                (own.as_str(), "u"),
                ("http://u.t.com/x", ""),
            ];
            let some = &links[..(n as usize + epoch) % 4];
            let url = format!("http://s{}.org/{}", n % 2, n + 5 * epoch as i64);
            (input, page(&url, 100 * epoch as i64 + n, some))
        });
        pair.apply(pages.collect());
    }
    pair.check();
    pair
}

/// Tables that are rebuilt, and a view of each.
const TABLES: [(Table, View); 6] = [
    (Table::Uris, View::Uris),
    (Table::Inlinks, View::Inlinks),
    (Table::Anchors, View::Inlinks),
    (Table::Sources, View::Inlinks),
    (Table::Domains, View::Domains),
    (Table::Rankings, View::Top),
];

fn rebuild(index: &Index, view: View) -> RebuildReport {
    index.rebuild(&[view], &mut |_, _| {}).unwrap()
}

fn mended(rebuilt: &RebuildReport, table: Table) -> u64 {
    let found = rebuilt.tables.iter().find(|sum| sum.table == table.name());
    found.unwrap().rows_repaired
}

/// Removes all rows of a table, or every second one.
fn lose(index: &Index, table: Table, every: usize) -> u64 {
    let snapshot = index.snapshot();
    let tables = snapshot.cut().tables().unwrap();
    let mut write = Write::new(tables);
    let mut lost = 0;
    for row in snapshot.cut().iter(table).step_by(every) {
        write.remove(table, row.unwrap().0);
        lost += 1;
    }
    write.commit().unwrap();
    lost
}

#[test]
fn a_lost_row_comes_back() {
    for (table, view) in TABLES {
        let mut pair = pair();
        let expected = all_dumps(&pair.snapshot());
        let epoch = pair.snapshot().epoch();
        pair.index().lose_row(table.name()).unwrap();
        pair.reopen();
        let held = pair.snapshot();
        let rebuilt = rebuild(pair.index(), view);
        assert_eq!(mended(&rebuilt, table), 1, "{rebuilt:?}");
        assert_eq!((held.epoch(), rebuilt.epoch), (epoch, epoch.next()));
        assert_eq!(all_dumps(&pair.snapshot()), expected, "{}", table.name());
        pair.check();
        // A second rebuild repairs nothing and makes no epoch.
        let again = rebuild(pair.index(), view);
        assert!(again.tables.iter().all(|sum| sum.rows_repaired == 0), "{again:?}");
        assert_eq!(again.epoch, rebuilt.epoch);
    }
}

#[test]
fn lost_tables_come_back_and_indexing_goes_on() {
    for every in [1, 2] {
        for (table, view) in TABLES {
            let mut pair = pair();
            let lost = lose(pair.index(), table, every);
            let rebuilt = rebuild(pair.index(), view);
            assert!(
                mended(&rebuilt, table) >= lost,
                "{} of {lost}: {rebuilt:?}",
                table.name()
            );
            pair.reopen();
            pair.check();
            let input = pair.input("b.warc.gz");
            let pages = (0..12).map(|n| {
                let url = format!("http://s{}.org/{}", n % 2, 2 * n);
                (
                    input,
                    page(&url, 900 + n, &[("http://t1.com/", ""), ("http://v.com/", "v")]),
                )
            });
            pair.apply(pages.collect());
            pair.check();
        }
    }
}

/// Readers during and after the rebuild keep the cut that they took.
#[test]
fn a_snapshot_stays_what_it_was() {
    let mut pair = pair();
    pair.index().lose_row("domains").unwrap();
    pair.reopen();
    let held = pair.snapshot();
    let before = all_dumps(&held);
    let mut seen = Vec::new();
    pair.index()
        .rebuild(&[View::Uris, View::Domains], &mut |_, _| {
            seen.push(pair.snapshot().epoch());
        })
        .unwrap();
    assert_eq!(all_dumps(&held), before);
    assert!(seen.iter().all(|epoch| *epoch == held.epoch()));
    assert_ne!(all_dumps(&pair.snapshot()), before);
}

#[test]
fn what_others_are_made_from_is_not_made() {
    let mut pair = pair();
    for view in [
        View::Captures,
        View::Pages,
        View::Links,
        View::Ledger,
        View::Quarantine,
    ] {
        let refused = pair.index().rebuild(&[View::Top, view], &mut |_, _| {});
        assert!(matches!(refused, Err(RebuildError::NotDerived(name)) if name == view.name()));
    }
    // A loss in a source table does not spread.
    for (table, named) in [("links", "links"), ("versions", "versions")] {
        pair.index().lose_row(table).unwrap();
        pair.reopen();
        let before = all_dumps_but_damaged(&pair);
        let refused = pair.index().rebuild(&[View::Uris], &mut |_, _| {});
        assert!(
            matches!(&refused, Err(RebuildError::Untrusted { table, .. }) if *table == named),
            "{refused:?}"
        );
        assert_eq!(all_dumps_but_damaged(&pair), before);
        pair = self::pair();
    }
}

/// Returns the dumps that do not fail after a lost row of links or versions.
fn all_dumps_but_damaged(pair: &Pair) -> Vec<String> {
    [View::Captures, View::Uris, View::Domains, View::Top]
        .map(|view| crate::tests::support::dump(&pair.snapshot(), view))
        .to_vec()
}

/// Not a test itself: the test below runs it in another process.
#[test]
fn child() {
    if let Some(dir) = std::env::var_os(DIR) {
        let index = Index::open(Path::new(&dir), None, settings()).unwrap();
        rebuild(&index, View::Uris);
    }
}

#[test]
fn a_rebuild_that_is_killed_is_gone_through_with() {
    for point in REBUILDING_CRASH_POINTS {
        for nth in [1, 2] {
            let mut pair = pair();
            let expected = all_dumps(&pair.snapshot());
            lose(pair.index(), Table::Uris, 2);
            lose(pair.index(), Table::Inlinks, 3);
            lose(pair.index(), Table::Anchors, 2);
            lose(pair.index(), Table::Rankings, 1);
            let dir = pair.dir();
            drop(pair.take_index());
            let is_passed = !run_child("tests::rebuild::child", DIR, &dir, &format!("{point}:{nth}"));
            assert!(is_passed || nth > 1, "{point} was never reached");
            // Opening alone finishes the rebuild.
            let index = Index::open(&dir, None, settings()).unwrap();
            assert_eq!(all_dumps(&index.snapshot()), expected, "{point}:{nth}");
            assert_eq!(index.snapshot().check().unwrap().damages, [], "{point}:{nth}");
            let again = rebuild(&index, View::Uris);
            assert!(
                again.tables.iter().all(|sum| sum.rows_repaired == 0),
                "{point}:{nth}: {again:?}"
            );
        }
    }
}
