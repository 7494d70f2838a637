//! Records whose declared length extends over the following records, or ends before their block
//! does.

use warc::Compression;

use super::support::{EntrySummary, read, settings};

fn record(name: &str, declared: usize, body: &str) -> String {
    let date = "2020-01-01T00:00:00Z";
    format!(
        "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: {name}\r\nWARC-Date: {date}\r\n\
         Content-Length: {declared}\r\n\r\n{body}\r\n\r\n"
    )
}

/// Checks target, body and reasons of each record, plain and in one member of each container.
fn check(records: &[String], expected: &[(&str, &str, &[&str])]) {
    let content = records.concat().into_bytes();
    let zstd = Compression::Zstd {
        level: 1,
        dictionary: None,
    };
    for compression in [Compression::Plain, Compression::GZIP, zstd, Compression::Lz4] {
        let mut writer = warc::Writer::new(Vec::new(), compression.clone()).expect("a writer");
        writer.write_encoded(&content).expect("written");
        let stored = writer.finish().expect("finished");
        for kept in [0, 4, u64::MAX] {
            let mut settings = settings();
            settings.body_bytes_max = kept;
            let seen = read(stored.clone(), settings);
            let records = seen.iter().filter_map(|entry| match entry {
                EntrySummary::Record {
                    target,
                    body,
                    reasons,
                    ..
                } => Some((
                    target.as_deref().unwrap_or_default(),
                    body.as_slice(),
                    reasons.as_slice(),
                )),
                _ => None,
            });
            let expected = expected.iter().map(|(target, body, reasons)| {
                (
                    *target,
                    &body.as_bytes()[..body.len().min(usize::try_from(kept).unwrap_or(usize::MAX))],
                    *reasons,
                )
            });
            let (records, expected): (Vec<_>, Vec<_>) = (records.collect(), expected.collect());
            assert_eq!(records, expected, "{compression:?}, {kept} bytes kept");
        }
    }
}

#[test]
fn a_length_too_long_swallows_no_record() {
    let records = [
        record("a", 500, "first"),
        record("b", 6, "second"),
        record("c", 5, "third"),
    ];
    check(
        &records,
        &[
            ("a", "first", &["length-too-long"]),
            ("b", "second", &[]),
            ("c", "third", &[]),
        ],
    );
}

#[test]
fn a_length_beyond_the_file_swallows_no_record() {
    let records = [record("a", 500_000, "first"), record("b", 6, "second")];
    check(
        &records,
        &[("a", "first", &["length-too-long"]), ("b", "second", &[])],
    );
}

#[test]
fn a_length_too_short_is_told() {
    let records = [record("a", 3, "first"), record("b", 6, "second")];
    check(
        &records,
        &[("a", "fir", &["length-too-short"]), ("b", "second", &[])],
    );
}

#[test]
fn a_record_inside_a_record_is_left_alone() {
    let inner = record("inner", 5, "inner");
    let records = [record("a", inner.len(), &inner), record("b", 6, "second")];
    check(&records, &[("a", &inner, &[]), ("b", "second", &[])]);
}

#[test]
fn no_length_reaches_to_the_next_record() {
    let mut first = record("a", 5, "first");
    first = first.replace("Content-Length: 5", "Content-Length: five");
    check(
        &[first, record("b", 6, "second")],
        &[("a", "first", &["length-invalid"]), ("b", "second", &[])],
    );
}
