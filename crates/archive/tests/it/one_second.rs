//! Several captures of one URL key in the same second: each can be requested, and the right one is
//! found.

use std::path::Path;

use archive::question::{Body, CdxRow, LoadRequest, Page, PageBody, Question, Record};
use archive::{Archive, ErrorCode};
use inputs::LoadInput;

use crate::data::{ask, load, own};

const URL: &str = "http://self.example/";

fn record(url: &str, date: &str, status: &str, body: &str) -> String {
    let location = if status.starts_with('3') {
        "Location: /\r\n"
    } else {
        ""
    };
    let http = format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{location}\r\n{body}");
    format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n\
         WARC-Record-ID: <urn:uuid:{:032x}>\r\nContent-Type: application/http; msgtype=response\r\n\
         Content-Length: {}\r\n\r\n{http}\r\n\r\n",
        body.len(),
        http.len()
    )
}

fn loaded(dir: &Path, records: &[String]) -> Archive {
    let path = dir.join("x.warc");
    std::fs::write(&path, records.concat()).unwrap();
    let archive = own(&dir.join("archive"));
    let request = LoadRequest {
        inputs: vec![LoadInput {
            name: "in/x.warc".into(),
            path: path.to_string_lossy().into_owned(),
        }],
        ..LoadRequest::default()
    };
    load(&archive, &request);
    archive
}

fn found(archive: &Archive, at: Option<&str>, capture: Option<&str>) -> Result<CdxRow, ErrorCode> {
    let question = Question::Record(Record {
        url: URL.into(),
        at: at.map(Into::into),
        capture: capture.map(Into::into),
        fuzzy: false,
        with_content: false,
    });
    match archive.ask(question) {
        Ok(answer) => match answer.body {
            Body::Record(record) => Ok(record.capture),
            other => panic!("{other:?}"),
        },
        Err(error) => Err(error.code),
    }
}

fn page(archive: &Archive) -> PageBody {
    match ask(archive, Question::Page(Page { url: URL.into() })) {
        Body::Page(page) => page,
        other => panic!("{other:?}"),
    }
}

/// A redirect to the page itself that sets a cookie, the page, and an error, all in one second.
#[test]
fn the_current_version_is_found_by_its_second_and_every_capture_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let date = "2020-01-01T00:00:00Z";
    let archive = loaded(
        dir.path(),
        &[
            record(URL, date, "302 Found", "moved"),
            record(URL, date, "200 OK", "<title>Real</title>words"),
            record(URL, date, "429 Too Many", "slow down"),
            record(URL, "2021-01-01T00:00:00Z", "500 Oops", "later"),
        ],
    );
    let page = page(&archive);
    let current = page.current.expect("a current version");
    assert_eq!((current.status, page.status), (200, 200));
    for at in [
        None,
        Some("20200101000000"),
        Some("2020"),
        Some("20200101000000000"),
        Some("2019"),
    ] {
        assert_eq!(
            found(&archive, at, None).unwrap().name(),
            current.name(),
            "{at:?}"
        );
    }
    assert_eq!(page.captures.len(), 4);
    for row in &page.captures {
        let base = row.name().replace("in/", "");
        for name in [row.name(), base] {
            let found = found(&archive, Some(&row.timestamp), Some(&name)).unwrap();
            assert_eq!((found.name(), found.status), (row.name(), row.status));
        }
    }
    assert_eq!(
        found(&archive, None, Some("1,in/x.warc")).unwrap_err(),
        ErrorCode::NotFound
    );
    for name in ["", "x", "x,1", "-1,in/x.warc"] {
        assert_eq!(
            found(&archive, None, Some(name)).unwrap_err(),
            ErrorCode::BadRequest,
            "{name:?}"
        );
    }
}

#[test]
fn milliseconds_tell_captures_of_one_second_apart() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(
        dir.path(),
        &[
            record(URL, "2020-01-01T00:00:00.100Z", "404 Not Found", "a"),
            record(URL, "2020-01-01T00:00:00.500Z", "429 Too Many", "b"),
            record(URL, "2020-01-01T00:00:00.900Z", "403 Forbidden", "c"),
        ],
    );
    for (at, status) in [
        ("20200101000000", 403),
        ("20200101000000100", 404),
        ("20200101000000500", 429),
        ("202001010000005", 429),
        ("20200101000000700", 429),
        ("20200101000000701", 403),
        ("20200101000009000", 403),
        ("20191231235959999", 404),
    ] {
        assert_eq!(found(&archive, Some(at), None).unwrap().status, status, "{at}");
    }
    assert_eq!(
        found(&archive, Some("202001010000001234"), None).unwrap_err(),
        ErrorCode::BadRequest
    );
}
