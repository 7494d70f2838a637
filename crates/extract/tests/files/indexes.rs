//! Compares captures with indexes that pywb made of the same files: every line, in both directions.
//!
//! pywb omits the status of revisits, although their records hold the HTTP head of the response;
//! Weft has it. There are no other differences.

use super::data;
use extract::{Capture, CaptureKind};
use std::collections::BTreeMap;

/// One line of an index.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    url_key: String,
    /// 14 digits.
    time: String,
    url: String,
    mime: String,
    /// Empty if the index has none.
    status: String,
    digest: String,
    length: String,
}

/// Lines by offset.
type Index = BTreeMap<u64, Line>;

fn parse_cdxj(text: &str) -> Index {
    let lines = text.lines().map(|line| {
        let mut parts = line.splitn(3, ' ');
        let (url_key, time, json) = (
            parts.next().unwrap(),
            parts.next().unwrap(),
            parts.next().unwrap(),
        );
        let fields: BTreeMap<String, String> = serde_json::from_str(json).unwrap();
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        let line = Line {
            url_key: url_key.to_owned(),
            time: time.to_owned(),
            url: field("url"),
            mime: field("mime"),
            status: field("status"),
            digest: field("digest"),
            length: field("length"),
        };
        (field("offset").parse().unwrap(), line)
    });
    lines.collect()
}

fn parse_cdx(text: &str) -> Index {
    let lines = text.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [url_key, time, url, mime, status, digest, _, _, length, offset, _] = fields[..] else {
            panic!("{line}")
        };
        let own = |field: &str| {
            if field == "-" {
                String::new()
            } else {
                field.to_owned()
            }
        };
        let line = Line {
            url_key: own(url_key),
            time: own(time),
            url: own(url),
            mime: own(mime),
            status: own(status),
            digest: own(digest),
            length: own(length),
        };
        (offset.parse().unwrap(), line)
    });
    lines.collect()
}

fn line_of(capture: &Capture) -> (u64, Line) {
    let date = warc::format_date(capture.fetch_time_ms);
    let has_status = capture.kind != CaptureKind::Revisit && capture.status != 0;
    let line = Line {
        url_key: capture.url_key.clone(),
        time: date.chars().filter(char::is_ascii_digit).take(14).collect(),
        url: capture.url.clone(),
        mime: capture.mime.clone(),
        status: if has_status {
            capture.status.to_string()
        } else {
            String::new()
        },
        digest: capture.digest.clone(),
        length: capture.length.to_string(),
    };
    (capture.offset, line)
}

fn check(archive: &str, index: &str, parse: fn(&str) -> Index) {
    let Some(index) = data::file(index) else { return };
    let expected = parse(&std::fs::read_to_string(index).unwrap());
    let found: Index = data::captures(archive).iter().map(line_of).collect();
    for (offset, line) in &expected {
        assert_eq!(found.get(offset), Some(line), "{archive} at {offset}");
    }
    assert_eq!(
        found.len(),
        expected.len(),
        "{archive}: captures that the index lacks"
    );
}

#[test]
fn iana_agrees_with_its_cdxj() {
    check("crawls/iana.warc.gz", "crawls/iana.cdxj", parse_cdxj);
}

#[test]
fn iana_agrees_with_its_cdx() {
    check("crawls/iana.warc.gz", "crawls/iana.cdx", parse_cdx);
}

#[test]
fn dupes_agrees_with_its_cdx() {
    check("crawls/dupes.warc.gz", "crawls/dupes.cdx", parse_cdx);
}
