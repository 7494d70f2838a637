//! Walks and look-ups across row groups, compared with the rows that were written.

use facts::LocalFileStore;
use facts::serving::ServingWriter;
use index::{KeyRange, TopRow};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::views::{CaptureWalk, Views};

/// Rows of each table, more than two row groups.
const ROWS: usize = 9_000;

/// Captures of one URL key.
const OF_KEY: usize = 3;

fn url_key(number: usize) -> String {
    format!("org,example)/{number:05}")
}

fn rows(table: ServingTable) -> Vec<Value> {
    let row = |number: usize| match table {
        ServingTable::Captures => json!({
            "url_key": url_key(number / OF_KEY), "fetch_time": number, "input_number": 1, "offset": number,
            "url": "http://example.org/", "mime": "text/html", "status": 200, "method": "", "digest": "sha",
            "length": 1, "kind": "response", "index_only": number.is_multiple_of(10), "is_damaged": false,
            "record_offset": number.is_multiple_of(10).then_some(7), "filename": number.is_multiple_of(10).then_some("x"),
        }),
        ServingTable::Inlinks => json!({
            "source_key": url_key(number), "target_key": url_key(ROWS), "target_url": "http://example.org/",
            "anchor": "", "nofollow": false,
        }),
        // Half of the rows have the same counts.
        _ => json!({
            "domain": "", "rank": number + 1, "url_key": url_key(number), "inlinks": 9,
            "inlinks_external": (ROWS / 2).saturating_sub(number),
        }),
    };
    match table {
        ServingTable::Inputs => vec![json!({
            "input_number": 1, "input": "a.warc.gz", "location": "/a.warc.gz", "digest": "", "collection": "c",
        })],
        ServingTable::Captures | ServingTable::Inlinks | ServingTable::Top => (0..ROWS).map(row).collect(),
        _ => Vec::new(),
    }
}

fn tables() -> (TempDir, ServedTables) {
    let dir = tempfile::tempdir().unwrap();
    let store = LocalFileStore::new(dir.path());
    let mut manifest = Manifest::new(5, false);
    for table in ServingTable::ALL {
        let mut writer = ServingWriter::new(&store, table, 5);
        rows(table).into_iter().for_each(|row| writer.push(row).unwrap());
        manifest.insert(table, writer.finish().unwrap());
    }
    manifest.write(&store).unwrap();
    let opened = ServedTables::open(&dir.path().display().to_string(), Sources::default()).unwrap();
    (dir, opened)
}

/// Times of the next captures, which are their numbers.
fn times(walk: &mut dyn CaptureWalk, count: usize) -> Vec<usize> {
    walk.take(count)
        .map(|capture| capture.unwrap().fetch_time_ms as usize)
        .collect()
}

#[test]
fn captures_are_walked_from_any_place_in_both_directions() {
    let (_dir, tables) = tables();
    let all: Vec<usize> = (0..ROWS).collect();
    assert_eq!(
        times(&mut *tables.captures_and_lines(KeyRange::All, false, None), ROWS),
        all
    );
    let backward: Vec<usize> = all.iter().rev().copied().collect();
    assert_eq!(
        times(&mut *tables.captures_and_lines(KeyRange::All, true, None), ROWS),
        backward
    );
    let records: Vec<usize> = all.iter().copied().filter(|number| number % 10 != 0).collect();
    assert_eq!(times(&mut *tables.captures(KeyRange::All, None), ROWS), records);
    // Around the borders of row groups, and at the ends.
    for place in [1, 4_095, 4_096, 4_097, 8_191, 8_192, ROWS - 1, ROWS] {
        let mut walk = tables.captures_and_lines(KeyRange::All, false, None);
        assert_eq!(walk.skip_rows(place).unwrap(), place);
        let cursor = walk.cursor().to_vec();
        let rest = all.get(place..).unwrap_or_default();
        let mut after = tables.captures_and_lines(KeyRange::All, false, Some(&cursor));
        assert_eq!(times(&mut *after, 3), rest[..rest.len().min(3)], "after {place}");
        let mut before = tables.captures_and_lines(KeyRange::All, true, Some(&cursor));
        let expected: Vec<usize> = (0..place - 1).rev().take(3).collect();
        assert_eq!(times(&mut *before, 3), expected, "before {place}");
    }
}

#[test]
fn ranges_of_keys_have_their_captures_alone() {
    let (_dir, tables) = tables();
    for key in [0, 1_365, 2_730, ROWS / OF_KEY - 1] {
        let first = key * OF_KEY;
        let expected: Vec<usize> = (first..first + OF_KEY).collect();
        for range in [KeyRange::Exact(url_key(key)), KeyRange::Prefix(url_key(key))] {
            let mut walk = tables.captures_and_lines(range, false, None);
            assert_eq!(times(&mut *walk, ROWS), expected, "{key}");
        }
        let mut walk = tables.captures_and_lines(KeyRange::Exact(url_key(key)), true, None);
        let backward: Vec<usize> = expected.into_iter().rev().collect();
        assert_eq!(times(&mut *walk, ROWS), backward, "{key}");
    }
    for range in [
        KeyRange::Exact("org,example)/".into()),
        KeyRange::Exact("zzz)/".into()),
    ] {
        assert_eq!(
            times(&mut *tables.captures_and_lines(range, false, None), 1),
            Vec::<usize>::new()
        );
    }
}

#[test]
fn lists_continue_after_any_row() {
    let (_dir, tables) = tables();
    let ranked = |number: usize| TopRow {
        url_key: url_key(number),
        inlinks: 9,
        inlinks_external: (ROWS / 2).saturating_sub(number) as u64,
    };
    assert_eq!(tables.top(None, None, 2).unwrap(), [ranked(0), ranked(1)]);
    for place in [0, 1, 4_095, 4_096, 5_000, 8_191, ROWS - 2] {
        let next = tables.top(None, Some(&ranked(place)), 1).unwrap();
        assert_eq!(next, [ranked(place + 1)]);
        let sources = tables.inlinks(&url_key(ROWS), Some(&url_key(place)), 1).unwrap();
        assert_eq!(sources[0].source_key, url_key(place + 1));
    }
    assert!(tables.top(None, Some(&ranked(ROWS - 1)), 1).unwrap().is_empty());
    assert!(tables.top(Some("example.org"), None, 1).unwrap().is_empty());
    assert!(tables.inlinks(&url_key(1), None, 1).unwrap().is_empty());
}

#[test]
fn a_damaged_file_is_an_error_of_the_answer() {
    let (dir, tables) = tables();
    std::fs::write(dir.path().join("captures/00000005-00000.parquet"), b"PAR1").unwrap();
    let mut walk = tables.captures(KeyRange::All, None);
    assert!(matches!(walk.next(), Some(Err(SnapshotError::Serving { .. }))));
    assert!(walk.next().is_none());
}
