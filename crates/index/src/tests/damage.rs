//! A damaged index, and the reports about it.

use std::path::PathBuf;
use std::sync::Arc;

use extract::IndexLine;
use fjall::AbstractTree;

use crate::cut::Cut;
use crate::tables::{Table, Tables};
use crate::tests::support::{Pair, key, noise, page};
use crate::views::totals;
use crate::{Batch, Snapshot, SnapshotError};

/// Creates an index with rows in every table that answers use: in-links in separate rows, stored
/// rankings, and texts in separate files.
fn pair() -> Pair {
    let (mut pair, input) = Pair::with_input();
    let pages = (1..40).map(|n| {
        let said = format!("t {}", n % 6);
        let links = [("http://t.com/", said.as_str()), ("http://u.t.com/", "u")];
        let mut page = page(&format!("http://s.org/{n}"), n, &links);
        page.page.as_mut().unwrap().text = noise(n as u64);
        (input, page)
    });
    pair.apply(pages.collect());
    // Adds a past version.
    let mut newer = page("http://s.org/1", 50, &[]);
    newer.page.as_mut().unwrap().text = noise(50);
    pair.apply(vec![(input, newer)]);
    pair.check();
    pair
}

fn tables(pair: &Pair) -> Arc<Tables> {
    pair.snapshot().cut().tables().unwrap().clone()
}

/// Writes all rows to files, as the engine does by itself for large tables.
fn write_files(tables: &Tables) {
    for table in Table::ALL {
        tables.space(table).rotate_memtable().unwrap();
    }
    let waits = |table: Table| tables.space(table).tree.sealed_memtable_count() > 0;
    while Table::ALL.into_iter().any(waits) {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

fn files(tables: &Tables, table: Table) -> Vec<PathBuf> {
    let version = tables.space(table).tree.current_version();
    let rows = version.iter_tables().map(|file| file.path.to_path_buf());
    let values = version.blob_files.iter().map(|file| file.path().to_path_buf());
    rows.chain(values).collect()
}

/// Returns a snapshot of the tables' present state, read from files where they have files.
fn fresh_snapshot(pair: &Pair, tables: &Arc<Tables>) -> Snapshot {
    let cut = Cut::take(tables);
    let totals = totals::read(&cut).unwrap();
    Snapshot::new(&pair.dir(), cut, totals)
}

#[test]
fn a_damaged_file_is_found_and_its_table_named() {
    let pair = pair();
    let tables = tables(&pair);
    write_files(&tables);
    for table in [
        Table::Captures,
        Table::Versions,
        Table::Links,
        Table::Uris,
        Table::Inlinks,
        Table::Anchors,
        Table::Sources,
        Table::Domains,
        Table::Rankings,
        Table::Texts,
        Table::PastTexts,
        Table::PastLinks,
        Table::PastInlinks,
        Table::Changes,
    ] {
        let name = table.name();
        let files = files(&tables, table);
        assert!(!files.is_empty(), "{name}");
        for path in files {
            let whole = std::fs::read(&path).unwrap();
            let mut bytes = whole.clone();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x55;
            std::fs::write(&path, &bytes).unwrap();
            let damages = pair.snapshot().check().unwrap().damages;
            assert_eq!(damages.len(), 1, "{name}: {damages:?}");
            assert_eq!(damages[0].table, name);
            assert!(
                damages[0].detail.contains(&path.display().to_string()),
                "{damages:?}"
            );
            std::fs::write(&path, &whole).unwrap();
        }
    }
    assert_eq!(pair.snapshot().check().unwrap().damages, []);
}

/// Missing rows, for example by an error of the program: every file is intact.
#[test]
fn rows_that_do_not_follow_from_others_are_found() {
    for table in [
        Table::Inlinks,
        Table::Anchors,
        Table::Rankings,
        Table::Domains,
        Table::PastTexts,
        Table::PastLinks,
        Table::PastInlinks,
    ] {
        let pair = pair();
        let tables = tables(&pair);
        let (row, _) = pair.snapshot().cut().iter(table).next().unwrap().unwrap();
        tables.space(table).remove(row).unwrap();
        let damages = fresh_snapshot(&pair, &tables).check().unwrap().damages;
        assert_eq!(damages.len(), 1, "{damages:?}");
        assert_eq!(damages[0].table, table.name());
    }
}

#[test]
fn a_rendered_text_without_its_attachment_is_found() {
    let mut pair = pair();
    let input = pair.input("texts.warc.gz");
    let attachment = IndexLine {
        url_key: key("http://s.org/1"),
        fetch_time_ms: 50_000,
        url: "urn:text:http://s.org/1".into(),
        mime: "text/plain".into(),
        status: 0,
        digest: "T".into(),
        filename: String::new(),
        record_offset: 5,
        record_length: 10,
        offset: 5,
        length: 10,
        alias_of: None,
        text: Some("words".into()),
    };
    let batch = Batch {
        lines: vec![(input, attachment)],
        ..Batch::default()
    };
    pair.index().apply(batch).unwrap();
    let tables = tables(&pair);
    let damages = || fresh_snapshot(&pair, &tables).check().unwrap().damages;
    assert_eq!(damages(), []);
    let mut rows = pair.snapshot().cut().iter(Table::IndexLines);
    let (row, _) = rows.next().unwrap().unwrap();
    tables.space(Table::IndexLines).remove(row).unwrap();
    let found: Vec<_> = damages().into_iter().map(|damage| damage.table).collect();
    assert_eq!(found, [Table::RenderedTexts.name()]);
}

#[test]
fn a_question_to_a_damaged_table_says_what_to_do() {
    let mut pair = pair();
    write_files(&tables(&pair));
    // Without reopening, the rows read before would still be in memory.
    pair.reopen();
    let tables = tables(&pair);
    for path in files(&tables, Table::Texts) {
        let bytes = vec![0x55; std::fs::metadata(&path).unwrap().len() as usize];
        std::fs::write(&path, bytes).unwrap();
    }
    let error = fresh_snapshot(&pair, &tables)
        .text(&key("http://s.org/7"))
        .unwrap_err();
    assert!(
        matches!(error, SnapshotError::Damaged { table: "texts", .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("load its inputs into a new one"),
        "{error}"
    );
}
