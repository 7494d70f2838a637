//! Tests with whole records, built by hand.

use super::*;

mod hostile;

/// Returns a record as a reader would return it.
pub(crate) fn record(kind: warc::Kind, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> warc::Record {
    let body = body.into();
    let mut header_fields = warc::Headers::new();
    headers
        .iter()
        .for_each(|(name, value)| header_fields.push(name, value));
    warc::Record {
        span: warc::Span {
            offset: 7,
            length: 11,
        },
        format: warc::Format::Warc(1, 0),
        kind,
        headers: header_fields,
        body_length: body.len() as u64,
        body,
        payload_sha1: None,
        defects: Vec::new(),
    }
}

const ALL: Settings = Settings {
    links: LinkScope::All,
    text: true,
    documents: Documents::NONE,
};

fn response(target: &str, block: &str) -> warc::Record {
    let headers = [
        ("WARC-Target-URI", target),
        ("WARC-Date", "2014-01-26T20:06:24.5Z"),
        ("Content-Type", "application/http; msgtype=response"),
    ];
    record(warc::Kind::Response, &headers, block)
}

fn capture_of(record: &warc::Record) -> Capture {
    match extract(record, &ALL) {
        Extracted::Capture(capture) => {
            check_row(record, &capture);
            *capture
        }
        other => panic!("{other:?}"),
    }
}

/// Checks that the outcome without content differs from the capture in its content only.
#[track_caller]
fn check_row(record: &warc::Record, whole: &Capture) {
    let Extracted::Capture(row) = extract_row(record) else {
        panic!("no capture")
    };
    assert!(row.digest.is_empty() || row.digest == whole.digest);
    let expected = Capture {
        page: whole.page.as_ref().map(|_| Page::default()),
        document: None,
        document_defect: None,
        digest: row.digest.clone(),
        ..whole.clone()
    };
    assert_eq!(*row, expected);
}

#[test]
fn a_row_is_made_without_reading_the_content() {
    const HTML: &str = "Content-Type: text/html\r\n";
    const UNKNOWN: &str = "Content-Type: text/html\r\nTransfer-Encoding: x-secret\r\n";
    for (fields, payload, is_page) in [
        (HTML, "<a href=/x>y</a>", true),
        (HTML, "", true),
        (UNKNOWN, "<html>", true),
        (UNKNOWN, "\x01\x02", false),
        ("", "<html>", true),
        ("", "words", false),
        ("Content-Type: text/plain\r\n", "<html>", false),
    ] {
        let block = format!("HTTP/1.1 200 OK\r\n{fields}\r\n{payload}");
        let capture = capture_of(&response("http://a.org/", &block));
        assert_eq!(capture.page.is_some(), is_page, "{fields}{payload}");
    }
    let block = "HTTP/1.1 302 Found\r\nLocation: /b\r\n\r\n";
    capture_of(&response("http://a.org/", block));
    for mime in ["text/plain", "image/png"] {
        let headers = [
            ("WARC-Target-URI", "http://a.org/"),
            ("WARC-Date", "2014-01-26T20:06:24Z"),
            ("Content-Type", mime),
        ];
        capture_of(&record(warc::Kind::Conversion, &headers, "Title\nwords"));
        capture_of(&record(warc::Kind::Resource, &headers, "words"));
    }
}

#[test]
fn a_response() {
    let capture = capture_of(&response(
        "<http://www.Example.com/a b>",
        "HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n\
         2f\r\n<title>T</title><a href='/x'>y</a> some words..\r\n0\r\n\r\n",
    ));
    assert_eq!(
        (capture.url.as_str(), capture.url_key.as_str()),
        ("http://www.Example.com/a%20b", "com,example)/a%20b")
    );
    assert_eq!(
        (capture.fetch_time_ms, capture.status, capture.mime.as_str()),
        (1_390_766_784_500, 200, "text/html")
    );
    assert_eq!(capture.digest, "MJN63VL4IWM6I57FSPTWFKW7BOIDKBKA");
    assert_eq!(
        (capture.offset, capture.length, capture.kind),
        (7, 11, CaptureKind::Response)
    );
    let page = capture.page.unwrap();
    assert_eq!(
        (page.title.as_str(), page.text.as_str(), page.text_truncated),
        ("T", "y some words..", false)
    );
    assert_eq!(page.links.len(), 1);
}

/// Returns a response whose payload was first encoded and then chunked.
fn chunked(fields: &str, payload: &[u8]) -> warc::Record {
    let mut block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}\r\n").into_bytes();
    for chunk in payload.chunks(37) {
        block.extend(format!("{:x}\r\n", chunk.len()).bytes());
        block.extend(chunk);
        block.extend(b"\r\n");
    }
    block.extend(b"0\r\n\r\n");
    let mut record = response("http://a.org/", "");
    record.body_length = block.len() as u64;
    record.body = block;
    record
}

/// Regression: gzip within chunks had become a page of noise.
#[test]
fn transfer_codings_come_off_before_those_of_the_content() {
    use crate::http::coding::tests::encode;
    let html = b"<title>T</title><a href=/x>y</a>";
    let gzip = encode("gzip", html);
    for (fields, payload) in [
        ("Transfer-Encoding: gzip, chunked\r\n", gzip.clone()),
        (
            "Transfer-Encoding: x-gzip\r\nTransfer-Encoding: Chunked\r\n",
            gzip.clone(),
        ),
        (
            "Transfer-Encoding: deflate;q=1, chunked\r\n",
            encode("zlib", html),
        ),
        (
            "Transfer-Encoding: deflate, chunked\r\nContent-Encoding: gzip\r\n",
            encode("raw", &gzip),
        ),
        // Declared, but not applied.
        ("Transfer-Encoding: gzip, chunked\r\n", html.to_vec()),
    ] {
        let record = chunked(fields, &payload);
        let page = capture_of(&record).page.unwrap();
        assert_eq!(
            (page.title.as_str(), page.text.as_str(), page.links.len()),
            ("T", "y", 1),
            "{fields}"
        );
        assert_eq!(defects_of(&record).next(), None, "{fields}");
        let mut shown = String::new();
        let block = std::io::Cursor::new(record.body.clone());
        let mut payload = PayloadReader::of_block(record.kind, &record.headers, block, 1000).unwrap();
        std::io::Read::read_to_string(&mut payload, &mut shown).unwrap();
        assert_eq!(shown.as_bytes(), html, "{fields}");
    }
}

#[test]
fn an_unknown_transfer_coding_is_a_defect_and_no_text() {
    let fields = "Transfer-Encoding: x-pack, chunked\r\n";
    let packed = chunked(fields, b"\x01\x02 noise <a href=/x>");
    let defect = defects_of(&packed).next().unwrap();
    assert_eq!(
        (defect.reason, defect.detail.as_str()),
        (reason::TRANSFER_CODING_UNKNOWN, "Transfer-Encoding: x-pack")
    );
    let capture = capture_of(&packed);
    assert_eq!(
        (capture.status, capture.mime.as_str(), capture.page),
        (200, "text/html", None)
    );
    // A declaration of a server that applied no coding.
    assert!(
        capture_of(&chunked(fields, b"<html><a href=/x>y</a>"))
            .page
            .is_some()
    );
}

#[test]
fn redirects_and_errors_are_no_pages() {
    let moved = capture_of(&response(
        "http://a.org/",
        "HTTP/1.1 302 Found\r\nLocation: //b.org/x#y\r\nContent-Type: text/html\r\n\r\n<a href=/z>",
    ));
    assert_eq!(moved.page, None);
    let target = moved.redirect.as_ref().map(|l| l.url.as_str());
    assert_eq!(target, Some("http://b.org/x"));
    let own_key = capture_of(&response(
        "http://a.org/",
        "HTTP/1.1 301 Moved\r\nLocation: https://www.a.org/\r\n\r\n",
    ));
    assert_eq!((own_key.redirect, own_key.mime.as_str()), (None, "unk"));
    assert!(own_key.redirects_to_itself && !moved.redirects_to_itself);
    let missing = capture_of(&response(
        "http://a.org/",
        "HTTP/1.1 404 Not Found\r\nLocation: /x\r\n\r\n<html>",
    ));
    assert_eq!((missing.page, missing.redirect), (None, None));
}

#[test]
fn undeclared_types_are_sniffed() {
    assert!(
        capture_of(&response(
            "http://a.org/",
            "HTTP/1.1 200 OK\r\n\r\n <!doctype HTML>x"
        ))
        .page
        .is_some()
    );
    assert!(
        capture_of(&response("http://a.org/", "HTTP/1.1 200 OK\r\n\r\nplain"))
            .page
            .is_none()
    );
    assert!(
        capture_of(&response(
            "http://a.org/",
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n<html>"
        ))
        .page
        .is_none()
    );
}

#[test]
fn resources() {
    let headers = [
        ("WARC-Target-URI", "http://a.org/x"),
        ("WARC-Date", "2014"),
        ("Content-Type", "text/html; charset=iso-8859-1"),
    ];
    let capture = capture_of(&record(
        warc::Kind::Resource,
        &headers,
        b"<title>caf\xe9</title>".to_vec(),
    ));
    assert_eq!((capture.status, capture.kind), (0, CaptureKind::Resource));
    assert_eq!(capture.page.unwrap().title, "café");
}

#[test]
fn revisits() {
    let headers = [
        ("WARC-Target-URI", "http://a.org/x"),
        ("WARC-Date", "2014"),
        ("WARC-Payload-Digest", "sha1:abc"),
    ];
    let capture = capture_of(&record(
        warc::Kind::Revisit,
        &headers,
        "HTTP/1.1 304 Not Modified\r\n\r\n",
    ));
    assert_eq!(
        (capture.status, capture.mime.as_str(), capture.digest.as_str()),
        (304, "warc/revisit", "ABC")
    );
    let capture = capture_of(&record(warc::Kind::Revisit, &headers[..2], ""));
    assert_eq!((capture.status, capture.digest.as_str()), (0, "-"));
}

#[test]
fn arc_documents_may_lack_their_http_head() {
    let headers = [
        ("WARC-Target-URI", "http://a.org/x"),
        ("WARC-Date", "2014"),
        ("Content-Type", "text/html"),
    ];
    let mut document = record(warc::Kind::Response, &headers, "<html>");
    document.format = warc::Format::Arc(1);
    let capture = capture_of(&document);
    assert_eq!(
        (capture.status, capture.mime.as_str(), capture.kind),
        (0, "text/html", CaptureKind::Arc)
    );
    document.body = b"HTTP/1.0 200 OK\r\n\r\n<title>t</title>".to_vec();
    document.body_length = document.body.len() as u64;
    let capture = capture_of(&document);
    assert_eq!((capture.status, capture.mime.as_str()), (200, "text/html"));
    assert_eq!(capture.page.unwrap().title, "t");
}

#[test]
fn converted_text() {
    let headers = [
        ("WARC-Target-URI", "http://a.org/x"),
        ("WARC-Date", "2014"),
        ("WARC-Identified-Content-Language", "spa,cat"),
        ("Content-Type", "text/plain"),
    ];
    let capture = capture_of(&record(
        warc::Kind::Conversion,
        &headers,
        "A  title\n\n  line two \n",
    ));
    assert_eq!(
        (capture.kind, capture.status, capture.mime.as_str()),
        (CaptureKind::Wet, 0, "text/plain")
    );
    let page = capture.page.unwrap();
    assert_eq!(
        (page.title.as_str(), page.text.as_str(), page.language.as_str()),
        ("A title", "A title\nline two", "es")
    );
}

#[test]
fn payloads() {
    let payload = |record: &warc::Record| {
        let block = std::io::Cursor::new(record.body.clone());
        let mut reader = PayloadReader::of_block(record.kind, &record.headers, block, 1 << 20).unwrap();
        let mut payload = String::new();
        std::io::Read::read_to_string(&mut reader, &mut payload).unwrap();
        payload
    };
    let block = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(payload(&response("http://a.org/", block)), "abc");
    let metadata = record(warc::Kind::Metadata, &[], "HTTP/1.1 is text here");
    assert_eq!(payload(&metadata), "HTTP/1.1 is text here");
}

#[test]
fn other_records_are_counted() {
    for kind in [
        warc::Kind::Warcinfo,
        warc::Kind::Request,
        warc::Kind::Metadata,
        warc::Kind::Unknown,
    ] {
        assert!(
            matches!(extract(&record(kind, &[], "x"), &ALL), Extracted::Counted),
            "{kind:?}"
        );
    }
    let dns = record(
        warc::Kind::Response,
        &[("WARC-Target-URI", "dns:a.org")],
        "20140126\na.org. 1 IN A 1.2.3.4",
    );
    assert!(matches!(extract(&dns, &ALL), Extracted::Counted));
}

/// Regression: the first segment was taken for the whole page, and the others were ignored.
#[test]
fn records_in_segments_are_told() {
    let segment = [
        ("WARC-Target-URI", "http://a.org/"),
        ("WARC-Date", "2020-01-01T00:00:00Z"),
        ("WARC-Segment-Number", "1"),
    ];
    let body =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\n<title>T</title>words";
    let first = record(warc::Kind::Response, &segment, body);
    let capture = capture_of(&first);
    assert_eq!(capture.truncated, reason::SEGMENT);
    assert!(capture.page.unwrap().text_truncated);
    let reasons: Vec<_> = defects_of(&first).map(|defect| defect.reason).collect();
    assert_eq!(reasons, [reason::SEGMENT]);
    let continuation = [
        ("WARC-Target-URI", "http://a.org/"),
        ("WARC-Segment-Number", "2"),
        ("WARC-Segment-Origin-ID", "<urn:uuid:1>"),
        ("WARC-Segment-Total-Length", "99"),
    ];
    match extract(
        &record(warc::Kind::Continuation, &continuation, "more words"),
        &ALL,
    ) {
        Extracted::Unusable(defect) => {
            assert_eq!(defect.reason, reason::SEGMENT);
            assert!(
                defect.detail.starts_with("segment 2 of the record <urn:uuid:1>"),
                "{}",
                defect.detail
            );
        }
        other => panic!("{other:?}"),
    }
    // Numbered, but complete.
    let whole = record(warc::Kind::Response, &segment, body.replace("99", "21"));
    assert_eq!(capture_of(&whole).truncated, "");
    assert_eq!(defects_of(&whole).next(), None);
}

/// A record that was damaged after the crawl is marked: its declared digest is not that of its
/// bytes.
#[test]
fn damaged_records_are_marked() {
    for (defect, expected) in [
        (warc::reason::TRUNCATED_MEMBER, Capture::DAMAGED),
        (warc::reason::DAMAGED_MEMBER, Capture::DAMAGED),
        (warc::reason::CHECKSUM_MISMATCH, Capture::DAMAGED),
        (warc::reason::TRUNCATED_RECORD, Capture::DAMAGED),
        (warc::reason::LENGTH_TOO_LONG, Capture::DAMAGED),
        // These lose no bytes, or depend on the flags of a load.
        (warc::reason::LINE_ENDS_MISSING, ""),
        (warc::reason::PAYLOAD_DIGEST_MISMATCH, ""),
    ] {
        let block = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>T</title>words";
        let mut damaged = response("http://a.org/", block);
        damaged.defects.push(warc::Defect::new(defect, ""));
        let capture = capture_of(&damaged);
        assert_eq!(capture.truncated, expected, "{defect}");
        let is_marked = capture.page.unwrap().text_truncated;
        assert_eq!(is_marked, !expected.is_empty(), "{defect}");
    }
}

#[test]
fn unusable_records_say_why() {
    let check = |headers: &[(&str, &str)], body: &str, expected: &str| match extract(
        &record(warc::Kind::Response, headers, body),
        &ALL,
    ) {
        Extracted::Unusable(defect) => {
            assert_eq!(defect.reason, expected);
            assert!(reason::ALL.contains(&defect.reason));
        }
        other => panic!("{other:?}"),
    };
    let http = "HTTP/1.1 200 OK\r\n\r\n";
    check(&[("WARC-Date", "2014")], http, reason::MISSING_TARGET_URI);
    check(
        &[("WARC-Target-URI", "http:///"), ("WARC-Date", "2014")],
        http,
        reason::BAD_TARGET_URI,
    );
    check(
        &[("WARC-Target-URI", "http://a.org/")],
        http,
        reason::MISSING_DATE,
    );
    check(
        &[("WARC-Target-URI", "http://a.org/"), ("WARC-Date", "34b4b5a1")],
        http,
        reason::BAD_DATE,
    );
    check(
        &[("WARC-Target-URI", "http://a.org/"), ("WARC-Date", "2014")],
        "<html>",
        reason::NOT_HTTP,
    );
}

#[test]
fn a_body_longer_than_was_kept_has_its_digest_from_the_reader() {
    let mut long = response("http://a.org/", "HTTP/1.1 200 OK\r\n\r\n");
    long.body_length = 1 << 30;
    long.payload_sha1 = Some("COMPUTED".into());
    assert_eq!(capture_of(&long).digest, "COMPUTED");
    long.headers.push("WARC-Payload-Digest", "sha1:ABC");
    assert_eq!(capture_of(&long).digest, "ABC");
}
