//! `weft warc`: tools for files of records.

use expect_test::expect;

use crate::fixture;
use crate::support::{Place, json_lines};

/// A record that breaks two rules, behind one that breaks none.
fn faulty() -> Vec<u8> {
    let record = |id: &str, date: &str| {
        format!(
            "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: {id}\r\nWARC-Date: {date}\r\nContent-Type: text/plain\r\n\
             Content-Length: 3\r\n\r\nabc\r\n\r\n"
        )
    };
    let records = [
        record("<urn:test:1>", "2024-01-01T00:00:00Z"),
        record("urn:test:2", "20240101000000"),
    ];
    records.concat().into_bytes()
}

#[test]
fn a_check_names_file_offset_rule_and_clause() {
    let place = Place::new();
    place.write("good.warc", &fixture::small_web());
    place.write("bad.warc", &faulty());
    place.check(&["warc", "check", "good.warc", "bad.warc"], &expect![[r#""#]]);
    let run = place.run(&["warc", "check", "--json", "good.warc", "bad.warc", "missing.warc"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let rules: Vec<_> = json_lines(&run.stdout)
        .iter()
        .map(|row| row["rule"].clone())
        .collect();
    assert_eq!(rules, ["record-id", "date"]);
    assert!(run.stderr.contains("missing.warc"), "{run:?}");
    assert!(!place.path("weft-archive").exists(), "a check needs no archive");
}

#[test]
fn the_rules_of_a_check_are_listed_with_their_source() {
    let place = Place::new();
    let text = place.good(&["warc", "check", "--rules"]);
    assert!(text.contains("[WARC/1.1, 5.14]"), "{text}");
    let rows = json_lines(&place.good(&["warc", "check", "--rules", "--json"]));
    assert!(rows.len() > 40, "{} rules", rows.len());
    assert_eq!(place.run(&["warc", "check"]).code, Some(2));
    assert_eq!(place.run(&["warc", "check", "--rules", "x.warc"]).code, Some(2));
}
