//! `weft warc`: tools for files of records.

use std::io::Write;

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

/// The same page twice, chunked and gzipped, with its request.
fn page_with_request() -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(b"<p>hello").expect("in memory");
    let body = gzip.finish().expect("in memory");
    let mut block =
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    block.extend(format!("{:x}\r\n", body.len()).bytes());
    block.extend([&body[..], b"\r\n0\r\n\r\n"].concat());
    let record = |kind: &str, id: &str, media: &str, block: &[u8]| {
        let headers = [
            ("WARC-Record-ID", id),
            ("WARC-Target-URI", "http://a.example/"),
            ("WARC-Date", "2020-01-01T00:00:00Z"),
            ("Content-Type", media),
        ];
        fixture::record(kind, &headers, block)
    };
    let request = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";
    [
        record(
            "request",
            "<urn:test:1>",
            "application/http; msgtype=request",
            request,
        ),
        record(
            "response",
            "<urn:test:2>",
            "application/http; msgtype=response",
            &block,
        ),
    ]
    .concat()
}

#[test]
fn a_record_is_extracted_whole_or_in_parts() {
    let place = Place::new();
    let file = page_with_request();
    place.write("x.warc", &file);
    let url = ["warc", "extract", "x.warc", "--url", "http://a.example/"];
    let run = |more: &[&str]| place.run(&[&url[..], more].concat());
    let rows = json_lines(&place.good(&[&url[..], &["--json"]].concat()));
    let kinds: Vec<_> = rows.iter().map(|row| row["type"].clone()).collect();
    assert_eq!(kinds, ["request", "response"]);
    assert_eq!(run(&["--payload"]).stdout, "<p>hello");
    assert!(run(&["--headers"]).stdout.contains("HTTP/1.1 200 OK\r\n"));
    for part in [&[][..], &["--stored"]] {
        let out = [&["-o", "out.warc", "--force"], part].concat();
        assert_eq!(run(&out).code, Some(0));
        let written = std::fs::read(place.path("out.warc")).expect("it was written");
        assert_eq!(written, file, "{part:?}");
    }
    let offset = rows[1]["offset"].to_string();
    place.good(&["warc", "extract", "x.warc", "--offset", &offset, "-o", "one.warc"]);
    let one = std::fs::read(place.path("one.warc")).expect("it was written");
    assert!(file.ends_with(&one) && one.len() < file.len());

    place.write("twice.warc", &[&file[..], &file].concat());
    let twice = place.run(&[
        "warc",
        "extract",
        "twice.warc",
        "--url",
        "http://a.example/",
        "--payload",
    ]);
    assert_eq!(twice.code, Some(2));
    assert!(twice.stderr.contains("there are 2 records"), "{}", twice.stderr);
    let none = place.run(&["warc", "extract", "x.warc", "--record-id", "urn:none"]);
    assert_eq!(none.code, Some(1));
    assert!(
        none.stderr
            .contains("x.warc holds no record with the id urn:none"),
        "{none:?}"
    );
    let there = run(&["-o", "one.warc"]);
    assert_eq!(there.code, Some(2), "{there:?}");
    assert_eq!(run(&["-o", "x.warc", "--force"]).code, Some(2));
    assert_eq!(std::fs::read(place.path("x.warc")).expect("the input"), file);

    let wrong = [
        ("WARC-Record-ID", "<urn:test:3>"),
        ("WARC-Block-Digest", "md5:00000000000000000000000000000000"),
    ];
    place.write("wrong.warc", &fixture::record("resource", &wrong, b"block"));
    let wrong = place.run(&["warc", "extract", "wrong.warc", "--offset", "0"]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.stdout.ends_with("block\r\n\r\n"), "{wrong:?}");
    assert!(
        wrong.stderr.contains("wrong.warc at 0: block-digest-mismatch"),
        "{wrong:?}"
    );
}
