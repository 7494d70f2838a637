//! Compares offsets and lengths of records with indexes made by other programs.

use std::collections::BTreeMap;

use warc::Kind;

use super::support::{EntrySummary, data, read, settings};

/// Returns offset and length of every record that a capture index would list.
fn spans_of(name: &str, kinds: &[Kind]) -> Option<BTreeMap<u64, u64>> {
    let file = std::fs::File::open(data(name)?).expect("opens");
    let entries = read(file, settings());
    let listed = entries.into_iter().filter_map(|entry| match entry {
        EntrySummary::Record { span, kind, .. } if kinds.contains(&kind) => Some((span.offset, span.length)),
        _ => None,
    });
    Some(listed.collect())
}

#[test]
fn iana_agrees_with_its_cdxj() {
    let Some(spans) = spans_of("crawls/iana.warc.gz", &[Kind::Response, Kind::Revisit]) else {
        return;
    };
    let index = std::fs::read_to_string(data("crawls/iana.cdxj").expect("found above")).expect("an index");
    let field = |line: &str, name: &str| -> u64 {
        let start = line.find(&format!("\"{name}\": \"")).expect("the field") + name.len() + 5;
        let digits: String = line[start..].chars().take_while(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    };
    let listed: BTreeMap<u64, u64> = index
        .lines()
        .map(|line| (field(line, "offset"), field(line, "length")))
        .collect();
    assert_eq!(listed.len(), index.lines().count());
    for (offset, length) in &listed {
        assert_eq!(spans.get(offset), Some(length), "record at {offset}");
    }
    // The index omits only responses with status 204 or without content type, and this file has no
    // such responses.
    assert_eq!(spans.len(), listed.len());
}

/// Checks the lines of a space-separated index with length and offset in the next-to-last columns.
fn check_cdx(archive: &str, index: &str) {
    let Some(spans) = spans_of(archive, &[Kind::Response, Kind::Revisit]) else {
        return;
    };
    let index = std::fs::read_to_string(data(index).expect("found above")).expect("an index");
    let mut lines = 0;
    for line in index.lines().filter(|line| !line.starts_with(" CDX")) {
        let columns: Vec<&str> = line.split(' ').collect();
        let [.., length, offset, _] = columns[..] else {
            panic!("{line}")
        };
        let (length, offset): (u64, u64) = (length.parse().expect("length"), offset.parse().expect("offset"));
        assert_eq!(spans.get(&offset), Some(&length), "{line}");
        lines += 1;
    }
    assert_eq!(lines, spans.len());
}

#[test]
fn iana_agrees_with_its_cdx() {
    check_cdx("crawls/iana.warc.gz", "crawls/iana.cdx");
}

#[test]
fn dupes_agrees_with_its_cdx() {
    check_cdx("crawls/dupes.warc.gz", "crawls/dupes.cdx");
}
