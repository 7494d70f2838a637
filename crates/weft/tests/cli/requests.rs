//! Exports that include the request and metadata records of captures.

use std::fs;

use crate::fixture;
use crate::support::Workspace;

/// Returns a record with this id.
fn record(kind: &str, id: &str, url: &str, to: &[(&str, &str)]) -> Vec<u8> {
    let mut headers = vec![("WARC-Target-URI", url), ("WARC-Date", "2020-01-01T00:00:00Z")];
    headers.extend(to);
    let media = match kind {
        "response" => "application/http; msgtype=response",
        "request" => "application/http; msgtype=request",
        _ => "application/warc-fields",
    };
    headers.push(("Content-Type", media));
    let block = match kind {
        "response" => format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{id}"),
        "request" => "GET / HTTP/1.1\r\n\r\n".to_owned(),
        _ => "via: http://a.example/\r\n".to_owned(),
    };
    let bytes = String::from_utf8(fixture::record(kind, &headers, block.as_bytes())).expect("text");
    bytes.replace(&format!("<urn:uuid:{kind}>"), id).into_bytes()
}

/// Returns the ids of the records in a gzipped file, in order, without the leading warcinfo record.
fn ids(bytes: &[u8]) -> Vec<String> {
    let text = std::io::read_to_string(flate2::read::MultiGzDecoder::new(bytes)).expect("gzip");
    let ids = text
        .lines()
        .filter_map(|line| line.strip_prefix("WARC-Record-ID: "));
    ids.skip(1).map(str::to_owned).collect()
}

const A: &str = "http://a.example/";
const B: &str = "http://b.example/";

/// Two orders used by crawlers: requests first, named by the responses; and requests after the
/// responses, with metadata.
fn crawl() -> Vec<u8> {
    let concurrent = |id| ("WARC-Concurrent-To", id);
    [
        record("request", "<q1>", A, &[]),
        record("response", "<r1>", A, &[concurrent("<q1>")]),
        record("metadata", "<m1>", A, &[concurrent("<q1>")]),
        record("response", "<r2>", B, &[]),
        record("request", "<q2>", B, &[concurrent("<r2>")]),
        record("metadata", "<m2>", B, &[("WARC-Refers-To", "<r2>")]),
        // Records about another URL, or about a missing record.
        record("metadata", "<m3>", "http://c.example/", &[concurrent("<r2>")]),
        record("request", "<q4>", A, &[concurrent("<r4>")]),
        record("response", "<r5>", &format!("{A}more"), &[]),
        record(
            "request",
            "<q5>",
            &format!("{A}more"),
            &[concurrent("<r5>"), concurrent("<q6>")],
        ),
    ]
    .concat()
}

#[track_caller]
fn check(place: &Workspace, arguments: &[&str], expected: &[&str]) {
    let _ = fs::remove_file(place.path("x.warc.gz"));
    let told = place.good(&[&["export", "--warc", "x.warc.gz", "--with-requests"], arguments].concat());
    let captures = expected.iter().filter(|id| id.starts_with("<r")).count();
    let related = expected.len() - captures;
    let word = if related == 1 { "record" } else { "records" };
    assert!(
        told.contains(&format!("with {related} {word} of requests and metadata")),
        "{told}"
    );
    assert_eq!(ids(&fs::read(place.path("x.warc.gz")).expect("a file")), expected);
}

#[test]
fn requests_and_metadata_come_along_if_asked_for() {
    let place = Workspace::new();
    let crawl = crawl();
    place.write_old("crawl.warc", &crawl);
    // The same with one member per record, whose boundaries are only found by reading.
    place.good(&["warc", "recompress", "crawl.warc", "-o", "crawl.warc.gz"]);
    for (input, archive) in [("crawl.warc", "plain"), ("crawl.warc.gz", "gzip")] {
        place.good(&["load", input, "--archive", archive]);
        let all = ["<r1>", "<r5>", "<r2>", "<q1>", "<m1>", "<q2>", "<m2>", "<q5>"];
        check(&place, &["--archive", archive], &all);
        check(
            &place,
            &["--archive", archive, "--url-prefix", B],
            &["<r2>", "<q2>", "<m2>"],
        );
        let more = format!("{A}more");
        check(
            &place,
            &["--archive", archive, "--url-prefix", &more],
            &["<r5>", "<q5>"],
        );
    }
    let without = place.good(&["export", "--warc", "plain.warc.gz", "--archive", "plain"]);
    assert!(!without.contains("requests"), "{without}");
    assert_eq!(
        ids(&fs::read(place.path("plain.warc.gz")).expect("a file")),
        ["<r1>", "<r5>", "<r2>"]
    );

    place.good(&[
        "export",
        "--wacz",
        "x.wacz",
        "--with-requests",
        "--archive",
        "plain",
    ]);
    place.good(&["load", "x.wacz", "--archive", "again"]);
    check(
        &place,
        &["--archive", "again", "--url-prefix", B],
        &["<r2>", "<q2>", "<m2>"],
    );
    let wrong = place.run(&[
        "export",
        "--cdxj",
        "x.cdxj",
        "--with-requests",
        "--archive",
        "again",
    ]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}

/// An export puts all requests after all captures, far from their own.
#[test]
fn what_was_exported_with_requests_is_exported_so_again() {
    let place = Workspace::new();
    let pair = |n: usize| {
        let (answer, asked, url) = (format!("<r{n}>"), format!("<q{n}>"), format!("{A}{n}"));
        [
            record("response", &answer, &url, &[]),
            record("request", &asked, &url, &[("WARC-Concurrent-To", &answer)]),
        ]
        .concat()
    };
    place.write_old("crawl.warc", &(0..200).map(pair).collect::<Vec<_>>().concat());
    place.good(&["load", "crawl.warc", "--archive", "one"]);
    place.good(&[
        "export",
        "--warc",
        "one.warc.gz",
        "--with-requests",
        "--archive",
        "one",
    ]);
    place.good(&["load", "one.warc.gz", "--archive", "two"]);
    place.good(&[
        "export",
        "--warc",
        "two.warc.gz",
        "--with-requests",
        "--archive",
        "two",
    ]);
    let [one, two] =
        ["one.warc.gz", "two.warc.gz"].map(|file| ids(&fs::read(place.path(file)).expect("a file")));
    assert_eq!((one.len(), &one), (400, &two));
}

#[test]
fn requests_of_what_may_not_leave_stay() {
    let place = Workspace::new();
    place.write_old("crawl.warc", &crawl());
    place.good(&["load", "crawl.warc"]);
    place.good(&[
        "rights",
        "add",
        "--deny",
        "--domain",
        "b.example",
        "--except",
        "staff",
    ]);
    place.good(&["forget", "--url", &format!("{A}more"), "--reason", "test"]);
    check(&place, &["--as", ""], &["<r1>", "<q1>", "<m1>"]);
}

#[test]
fn what_another_command_is_writing_is_not_overwritten() {
    let place = Workspace::new();
    place.write_old("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc"]);
    for (form, file) in [
        ("--wacz", "x.wacz"),
        ("--warc", "x.warc.gz"),
        ("--cdxj", "x.cdxj"),
    ] {
        let part = format!("{file}.part");
        place.write(&part, b"another's");
        let another = fs::File::open(place.path(&part)).expect("it is there");
        another.lock().expect("a lock");
        let run = place.run(&["export", form, file]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(
            run.stderr.contains("exists: another command is writing it"),
            "{}",
            run.stderr
        );
        assert_eq!(fs::read(place.path(&part)).expect("it is there"), b"another's");
        drop(another);
        // The leftover of a killed command is overwritten.
        place.good(&["export", form, file]);
        assert!(!place.path(&part).exists());
        let made = fs::read(place.path(file)).expect("a file");
        assert!(!made.starts_with(b"another's"), "{file}");
    }
    fs::create_dir(place.path("zipnum.part")).expect("a folder");
    assert_eq!(place.run(&["export", "--zipnum", "zipnum"]).code, Some(2));
    assert!(place.path("zipnum.part").exists());
}
