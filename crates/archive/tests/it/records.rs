//! Reading records at the locations in answers: each is the record of its capture, and never
//! another one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use archive::question::{Body, Question, Record, RecordBody};
use archive::{Archive, Interrupt, RecordError, open_record, raw_record};

use crate::data::{self, load, own};

fn record(archive: &Archive, url: &str, at: Option<&str>) -> RecordBody {
    let question = Question::Record(Record {
        url: url.to_owned(),
        at: at.map(str::to_owned),
        capture: None,
        fuzzy: false,
        with_content: false,
    });
    match data::ask(archive, question) {
        Body::Record(record) => record,
        other => panic!("{other:?}"),
    }
}

/// Opens the records of all captures of `inputs`, and returns their kinds.
fn kinds_opened(shared: &Path, inputs: &[&str]) -> BTreeSet<String> {
    let root = tempfile::tempdir().unwrap();
    let archive = own(root.path());
    load(&archive, &data::request(shared, inputs));
    let captures = data::dump(&archive, "captures");
    let kind_of = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let digits: String = cells[1].chars().filter(char::is_ascii_digit).take(14).collect();
        let found = record(&archive, cells[2], Some(&digits));
        match open_record(archive.sources(), &found, &Interrupt::new()) {
            Ok(_) => found.capture.kind.to_string(),
            Err(error) => panic!("{error} for {line}"),
        }
    };
    captures.lines().map(kind_of).collect()
}

#[test]
fn every_record_is_known_to_be_its_captures_own() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    // Every kind of record and of file, including odd ones. WET separately, because its captures
    // have URLs and times of others.
    let mut kinds = kinds_opened(&shared, &["edge", "commoncrawl", "crawls/hackfest.warc.gz"]);
    kinds.extend(kinds_opened(&shared, &["commoncrawl/whirlwind.warc.wet.gz"]));
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    assert_eq!(kinds, ["arc", "resource", "response", "revisit", "wat", "wet"]);
}

/// A response of `http://HOST.example/` on a day of January 2020, with a declared digest if one is
/// given.
fn response(host: &str, day: u32, digest: Option<&str>) -> String {
    let block = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nsome text";
    let digest = digest.map(|digest| format!("WARC-Payload-Digest: sha1:{digest}\r\n"));
    format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2020-01-{day:02}T00:00:00Z\r\n\
         WARC-Target-URI: http://{host}.example/\r\n{}Content-Type: application/http\r\n\
         Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        digest.unwrap_or_default(),
        block.len()
    )
}

/// Loads `was`, then replaces it by `is`.
fn check_changed(was: &str, is: &str, found: &str) {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    let path: &Path = &root.path().join("x.warc");
    fs::write(path, was).unwrap();
    load(&archive, &data::request(root.path(), &["x.warc"]));
    let place = record(&archive, "http://a.example/", None);
    raw_record(archive.sources(), &place, &Interrupt::new()).unwrap();
    fs::write(path, is).unwrap();
    let errors = [
        open_record(archive.sources(), &place, &Interrupt::new()).err(),
        raw_record(archive.sources(), &place, &Interrupt::new()).err(),
    ];
    for error in errors {
        let error = error.expect("an error");
        assert!(matches!(error, RecordError::Changed { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains(found) && text.contains("http://a.example/"),
            "{text}"
        );
    }
}

#[test]
fn a_record_that_is_not_the_captures_own_is_not_given() {
    let was = &response("a", 1, None);
    check_changed(
        was,
        &response("b", 1, None),
        "found a response record of http://b.example/",
    );
    check_changed(was, &response("a", 2, None), "at 2020-01-02T00:00:00Z");
    check_changed(
        was,
        &was.replace("response", "resource"),
        "found a resource record",
    );
    let digests = [
        "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
        "B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A",
    ];
    let [was, is] = digests.map(|digest| response("a", 1, Some(digest)));
    check_changed(&was, &is, digests[1]);
}

/// A crawler that deduplicates across URLs refers to another URL, whose content is that of the
/// revisit.
#[test]
fn a_revisit_of_another_url_has_the_content_of_that_one() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(root.path());
    let inputs = [
        "edge/url-agnostic-orig.warc.gz",
        "edge/url-agnostic-revisit.warc.gz",
    ];
    load(&archive, &data::request(&shared, &inputs));
    let found = record(&archive, "http://test@example.com/", None);
    assert_eq!(found.capture.kind.to_string(), "revisit");
    let original = found.original.expect("it refers to a capture");
    assert_eq!(original.capture.digest, found.capture.digest);
    assert_ne!(original.capture.url_key, found.capture.url_key);
}

/// An unmodified page has no digest: the time to which the revisit refers identifies the capture.
#[test]
fn what_was_not_modified_is_found_by_its_time() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(root.path());
    let revisit = "WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Record-ID: <urn:x:2>\r\nWARC-Date: 2020-03-01T00:00:00Z\r\n\
        WARC-Target-URI: http://again.example/\r\nWARC-Refers-To-Target-URI: http://first.example/\r\n\
        WARC-Refers-To-Date: 2020-01-02T00:00:00Z\r\n\
        WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n\
        Content-Type: application/http\r\nContent-Length: 29\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\n\r\n\r\n";
    let file = [
        response("first", 1, None),
        response("first", 2, None),
        revisit.to_owned(),
    ]
    .concat();
    fs::write(root.path().join("x.warc"), file).unwrap();
    load(&archive, &data::request(root.path(), &["x.warc"]));
    let found = record(&archive, "http://again.example/", None);
    let original = found.original.expect("it refers to a capture");
    assert_eq!(original.capture.timestamp, "20200102000000");
    assert_eq!(original.capture.url, "http://first.example/");
}
