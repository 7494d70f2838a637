//! Format 1, row by row. A change of these rows is a change of the format: it needs another number in
//! docs/format-index.md, because a program reads only its own format.
//!
//! `WEFT_WRITE_FORMAT=PATH` writes the fixture.

use std::fmt::Write as _;

use extract::{Capture, CaptureKind, Link, Page, RefersTo};

use crate::cut::Cut;
use crate::tables::Table;
use crate::tests::support::{Pair, all_dumps, page, progress, settings};
use crate::write::Write;
use crate::{Index, InputState, QuarantineEntry};

const FIXTURE: &str = include_str!("format_1.txt");

/// Loads captures of every sort that rows distinguish, in two epochs.
fn pair() -> Pair {
    let (mut pair, input) = Pair::with_input();
    let mut quarantined = progress(input, 900, InputState::Loading);
    quarantined.quarantined.push(QuarantineEntry {
        offset: 800,
        length: 20,
        reason: "truncated-member".into(),
        detail: "at 810".into(),
    });
    let mut shown = page(
        "http://www.example.com/a",
        10,
        &[("http://t.com/1", "one"), ("http://example.com/b", "")],
    );
    if let Some(page) = &mut shown.page {
        page.canonical = Some("http://example.com/a".into());
        page.robots = Some("noindex".into());
        page.links[0].nofollow = true;
    }
    let many = (20..26).map(|n| {
        let anchor = format!("text {n}");
        page(
            &format!("http://s{n}.org/"),
            n,
            &[("http://t.com/1", anchor.as_str())],
        )
    });
    let mut captures: Vec<(_, Capture)> = many.chain([shown]).map(|page| (input, page)).collect();
    captures.push((input, redirect()));
    pair.apply_batch(captures, vec![quarantined]);
    let again = page("http://www.example.com/a", 30, &[("http://t.com/2", "two")]);
    pair.apply(vec![(input, again), (input, revisit()), (input, document())]);
    pair
}

fn redirect() -> Capture {
    Capture {
        status: 301,
        page: None,
        redirect: Some(Link {
            url_key: "com,t)/1".into(),
            url: "http://t.com/1".into(),
            anchor: String::new(),
            nofollow: false,
            kind: Default::default(),
        }),
        ..page("http://moved.com/", 40, &[])
    }
}

fn revisit() -> Capture {
    Capture {
        kind: CaptureKind::Revisit,
        page: None,
        digest: "D20".into(),
        method: "GET".into(),
        refers_to: Some(Box::new(RefersTo {
            url_key: "org,s20)/".into(),
            time_ms: Some(20_000),
        })),
        ..page("http://copy.org/", 50, &[])
    }
}

fn document() -> Capture {
    Capture {
        page: None,
        mime: "text/plain".into(),
        document: Some(Box::new(Page {
            title: "A document".into(),
            text: "Its text".into(),
            language: "eng".into(),
            ..Page::default()
        })),
        ..page("http://example.com/d.txt", 60, &[])
    }
}

/// Returns table, key and value of every row, escaped, one a line.
fn rows(cut: &Cut) -> String {
    let mut out = String::new();
    for table in Table::ALL {
        for row in cut.iter(table) {
            let (key, value) = row.unwrap();
            // Bytes of a compressed row depend on the library.
            let value = match (table, value.split_first()) {
                (Table::Changes, Some((1, packed))) => {
                    [&[2], zstd::decode_all(packed).unwrap().as_slice()].concat()
                }
                _ => value.to_vec(),
            };
            let (key, value) = (key.escape_ascii(), value.escape_ascii());
            writeln!(out, "{}\t{key}\t{value}", table.name()).unwrap();
        }
    }
    out
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.extend_from_slice(plain.as_bytes());
        let (byte, length) = match escape.as_bytes()[0] {
            b'x' => (u8::from_str_radix(&escape[1..3], 16).unwrap(), 3),
            b't' => (b'\t', 1),
            b'n' => (b'\n', 1),
            b'r' => (b'\r', 1),
            other => (other, 1),
        };
        out.push(byte);
        rest = &escape[length..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

#[test]
fn rows_are_written_as_in_format_1() {
    let pair = pair();
    pair.check();
    let rows = rows(pair.snapshot().cut());
    if let Some(path) = std::env::var_os("WEFT_WRITE_FORMAT") {
        std::fs::write(path, &rows).unwrap();
        return;
    }
    for (row, expected) in rows.lines().zip(FIXTURE.lines()) {
        assert_eq!(row, expected);
    }
    assert_eq!(rows.lines().count(), FIXTURE.lines().count());
}

#[test]
fn rows_of_format_1_are_read() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("index");
    {
        let index = Index::open(&dir, None, settings()).unwrap();
        let snapshot = index.snapshot();
        let tables = snapshot.cut().tables().unwrap();
        let mut write = Write::new(tables);
        for line in FIXTURE.lines() {
            let mut fields = line.split('\t');
            let name = fields.next().unwrap();
            let table = Table::ALL.into_iter().find(|table| table.name() == name).unwrap();
            let [key, value] = [(); 2].map(|()| unescaped(fields.next().unwrap()));
            write.put(table, key, value);
        }
        write.commit().unwrap();
    }
    let index = Index::open(&dir, None, settings()).unwrap();
    let pair = pair();
    assert_eq!(all_dumps(&index.snapshot()), all_dumps(&pair.snapshot()));
    assert_eq!(index.snapshot().check().unwrap().damages, []);
}
