//! Packages (WACZ): their members load like the same files outside a package.

use std::io::{Cursor, Write};

use serde_json::json;
use sha2::{Digest, Sha256};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use crate::addresses::{dumps, local};
use crate::support::Workspace;
use crate::web::{Behaviour, Web};
use crate::{fixture, replay};

pub(crate) const WARC: &str = "archive/web.warc";

/// Returns a ZIP file with these members.
pub(crate) fn zipped(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(*name, options).expect("a member");
        zip.write_all(bytes).expect("its bytes");
    }
    zip.finish().expect("a file").into_inner()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    format!(
        "sha256:{}",
        data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
    )
}

/// Returns a description that declares these digests.
pub(crate) fn described(declared: &[(&str, String)]) -> Vec<u8> {
    let resources = declared
        .iter()
        .map(|(path, hash)| json!({"path": path, "hash": hash}));
    let described = json!({
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "resources": resources.collect::<Vec<_>>(),
    });
    described.to_string().into_bytes()
}

pub(crate) fn wacz(warc: &[u8], method: CompressionMethod) -> Vec<u8> {
    let described = described(&[(WARC, sha256(warc))]);
    let digest = json!({"path": "datapackage.json", "hash": sha256(&described)}).to_string();
    let members: [(&str, &[u8]); 3] = [
        (WARC, warc),
        ("datapackage.json", &described),
        ("datapackage-digest.json", digest.as_bytes()),
    ];
    zipped(&members, method)
}

/// Checks that inputs whose names begin with `prefix` give the same as `web.warc` loaded directly.
fn check_loaded(place: &Workspace, archive: &str, prefix: &str) {
    assert_eq!(
        dumps(place, archive, prefix),
        dumps(place, "local", ""),
        "{prefix}"
    );
    let page = "http://www.library.example/";
    for part in ["--headers", "--payload", "--stored"] {
        let record = |archive| place.run(&["record", page, part, "--archive", archive]);
        let (packed, local) = (record(archive), record("local"));
        assert_eq!(
            (packed.code, packed.stdout),
            (local.code, local.stdout),
            "{prefix} {part}: {}",
            packed.stderr
        );
    }
    let verified = place.good(&["verify", "--archive", archive]);
    assert!(verified.contains("every view matches 1 input"), "{verified}");
}

#[test]
fn members_give_what_files_give() {
    let place = local();
    let warc = fixture::small_web();
    let stored = wacz(&warc, CompressionMethod::Stored);
    place.write_old("stored.wacz", &stored);
    place.write_old("deflated.WACZ", &wacz(&warc, CompressionMethod::Deflated));
    for (archive, method) in [
        ("nested", CompressionMethod::Stored),
        ("deeper", CompressionMethod::Deflated),
    ] {
        let hash = sha256(&stored);
        let described = described(&[("one#%.wacz", hash)]);
        let nested = zipped(
            &[("one#%.wacz", &stored), ("datapackage.json", &described)],
            method,
        );
        place.write_old(&format!("{archive}.wacz"), &nested);
    }
    for (archive, file, prefix) in [
        ("stored", "stored.wacz", "stored.wacz#archive/"),
        ("deflated", "deflated.WACZ", "deflated.WACZ#archive/"),
        ("nested", "nested.wacz", "nested.wacz#one#%.wacz#archive/"),
        ("deeper", "deeper.wacz", "deeper.wacz#one#%.wacz#archive/"),
    ] {
        place.good(&["load", file, "--archive", archive]);
        check_loaded(&place, archive, prefix);
        let again = place.good(&["load", file, "--archive", archive]);
        assert!(again.contains("1 input: 1 already known"), "{again}");
    }
    let web = Web::start(&stored, Behaviour::Ranges);
    place.good(&["load", &web.url("/x.wacz"), "--archive", "far"]);
    check_loaded(&place, "far", &web.url("/x.wacz#archive/"));
}

/// Checks that the views of captures equal those of `web.warc`, whatever the ledger contains.
fn check_views(place: &Workspace, archive: &str, prefix: &str) {
    let views = |archive: &str, prefix: &str| {
        let mut dumps = dumps(place, archive, prefix);
        dumps.retain(|view, _| !matches!(*view, "ledger" | "quarantine"));
        dumps
    };
    assert_eq!(views(archive, prefix), views("local", ""), "{archive}");
}

#[test]
fn what_is_wrong_in_a_package_is_told_and_the_rest_loaded() {
    let place = local();
    let warc = fixture::small_web();
    let wrong = described(&[(WARC, sha256(b"other")), ("archive/gone.warc", sha256(b""))]);
    let digest = json!({"path": "datapackage.json", "hash": sha256(b"other")}).to_string();
    let members: [(&str, &[u8]); 4] = [
        (WARC, &warc),
        ("datapackage.json", &wrong),
        ("datapackage-digest.json", digest.as_bytes()),
        ("archive/notes.txt", b"just text"),
    ];
    place.write_old("x.wacz", &zipped(&members, CompressionMethod::Stored));
    let run = place.run(&["load", "x.wacz", "--archive", "wrong"]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    for expected in [
        "package-digest".to_owned(),
        format!("found {}, expected {}", sha256(&warc), sha256(b"other")),
        "2 defects in records that are still usable".to_owned(),
        "x.wacz#archive/gone.warc: failed(datapackage.json lists it".to_owned(),
        format!(
            "x.wacz#datapackage-digest.json at 0: package-digest: datapackage.json is {}",
            sha256(&wrong)
        ),
        "x.wacz#archive/notes.txt: no archive's name".to_owned(),
    ] {
        let quarantine = place
            .run(&["status", "--quarantine", "--archive", "wrong"])
            .stdout;
        let told = format!("{}{quarantine}", run.stdout);
        assert!(told.contains(&expected), "{expected}\n{told}");
    }
    let prefix = "x.wacz#archive/";
    check_views(&place, "wrong", prefix);

    let whole = wacz(&warc, CompressionMethod::Stored);
    let cases: [(&str, &[u8], &str); 3] = [
        (
            "cut.wacz",
            &whole[..whole.len() / 2],
            "cut.wacz: failed(cannot be read as a package",
        ),
        (
            "empty.wacz",
            b"",
            "empty.wacz: failed(cannot be read as a package",
        ),
        (
            "bare.wacz",
            &zipped(&[(WARC, &warc)], CompressionMethod::Stored),
            "bare.wacz#datapackage.json: failed(missing: it is no WACZ",
        ),
    ];
    for (file, bytes, expected) in cases {
        place.write_old(file, bytes);
        let archive = file.trim_end_matches(".wacz");
        let run = place.run(&["load", file, "--archive", archive]);
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        assert!(run.stdout.contains(expected), "{expected}\n{}", run.stdout);
    }
    check_views(&place, "bare", "bare.wacz#archive/");
}

/// Returns a package with two members of the same name; the last of them holds `warc`.
fn with_a_name_twice(warc: &[u8], declared: &[(&str, String)]) -> Vec<u8> {
    let described = described(declared);
    let members: [(&str, &[u8]); 3] = [
        ("archive/bew.warc", &fixture::other_web()),
        (WARC, warc),
        ("datapackage.json", &described),
    ];
    let mut bytes = zipped(&members, CompressionMethod::Stored);
    let (name, other) = (WARC.as_bytes(), b"archive/bew.warc");
    while let Some(at) = bytes.windows(name.len()).position(|window| window == other) {
        bytes[at..at + name.len()].copy_from_slice(name);
    }
    bytes
}

#[test]
fn members_that_are_not_declared_or_not_alone_are_told_and_used() {
    let place = local();
    let warc = fixture::small_web();
    let unlisted = zipped(
        &[
            (WARC, &warc),
            ("pages/pages.jsonl", b"{\"format\": \"json-pages-1.0\"}\n"),
            ("datapackage.json", &described(&[])),
        ],
        CompressionMethod::Deflated,
    );
    place.write_old("unlisted.wacz", &unlisted);
    place.write_old("twice.wacz", &with_a_name_twice(&warc, &[(WARC, sha256(&warc))]));
    let not_listed = "datapackage.json does not list it";
    let cases: [(&str, &[&str]); 2] = [
        (
            "unlisted",
            &[
                "package-unlisted",
                not_listed,
                "unlisted.wacz#pages/pages.jsonl: failed(datapackage.json does",
            ],
        ),
        (
            "twice",
            &["package-same-name", "found 2 members of this name, expected 1"],
        ),
    ];
    for (archive, expected) in cases {
        let file = format!("{archive}.wacz");
        let run = place.run(&["load", &file, "--archive", archive]);
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        let quarantine = place.good(&["status", "--quarantine", "--archive", archive]);
        for expected in expected {
            let told = format!("{}{quarantine}", run.stdout);
            assert!(told.contains(expected), "{expected}\n{told}");
        }
        check_views(&place, archive, &format!("{file}#archive/"));
        let verified = place.good(&["verify", "--archive", archive]);
        assert!(verified.contains("every view matches"), "{verified}");
    }
}

#[test]
fn lists_of_pages_are_read_through_when_they_are_loaded() {
    let place = local();
    let warc = fixture::small_web();
    let pages = b"{\"url\": \"http://museum.example/\", \"ts\": \"2015-03-01T08:00:00Z\"}\nnothing\n{}\n";
    let declared = [(WARC, sha256(&warc)), ("pages/pages.jsonl", sha256(b"other"))];
    let described = described(&declared);
    for (archive, method) in [
        ("stored", CompressionMethod::Stored),
        ("deflated", CompressionMethod::Deflated),
    ] {
        let members: [(&str, &[u8]); 3] = [
            (WARC, &warc),
            ("pages/pages.jsonl", pages),
            ("datapackage.json", &described),
        ];
        let file = format!("{archive}.wacz");
        place.write_old(&file, &zipped(&members, method));
        let run = place.run(&["load", &file, "--archive", archive]);
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        for expected in [
            format!("found {}, expected {}", sha256(pages), sha256(b"other")),
            "2 lines are not used, the first of them: line 2 at offset 64: found no JSON".to_owned(),
        ] {
            assert!(run.stdout.contains(&expected), "{expected}\n{}", run.stdout);
        }
        check_views(&place, archive, &format!("{file}#archive/"));
    }
}

#[test]
fn a_package_is_not_kept_in_parts() {
    let place = Workspace::new();
    place.write_old("x.wacz", &wacz(&fixture::small_web(), CompressionMethod::Stored));
    let run = place.run(&["load", "x.wacz", "--keep", "--volume", "disk"]);
    assert!(
        run.stderr
            .contains("is in a package, and packages are stored whole"),
        "{}",
        run.stderr
    );
    assert_ne!(run.code, Some(0));
}

/// Returns the captures of an archive, without the location of their records.
fn captures(place: &Workspace, archive: &str) -> Vec<String> {
    let all = place.good(&[
        "export",
        "--cdxj",
        &format!("{archive}.cdxj"),
        "--archive",
        archive,
    ]);
    assert!(all.contains("written to"), "{all}");
    let index = std::fs::read_to_string(place.path(&format!("{archive}.cdxj"))).expect("an index");
    let mut lines: Vec<String> = index
        .lines()
        .map(|line| {
            let (place, object) = line.split_at(line.find('{').expect("an object"));
            let mut object: serde_json::Value = serde_json::from_str(object).expect("JSON");
            for field in ["offset", "length", "filename"] {
                object
                    .as_object_mut()
                    .expect("an object")
                    .remove(field)
                    .expect(field);
            }
            format!("{place}{object}")
        })
        .collect();
    lines.sort();
    lines
}

/// Loads a crawl with revisits and a small one. Returns false if the test data is missing.
fn crawls(place: &Workspace) -> bool {
    let Some(shared) = test_env::shared_data() else {
        return false;
    };
    let bytes = std::fs::read(shared.join("crawls/iana.warc.gz")).expect("a crawl");
    place.write_old("iana.warc.gz", &bytes);
    place.write_old("web.warc", &fixture::small_web());
    place.good(&[
        "load",
        "iana.warc.gz",
        "--collection",
        "iana",
        "--archive",
        "from",
    ]);
    place.good(&["load", "web.warc", "--archive", "from"]);
    true
}

#[test]
fn a_capture_that_another_file_has_is_not_left_out() {
    let Some(shared) = test_env::shared_data() else {
        println!("skipped: there are no crawls");
        return;
    };
    let place = Workspace::new();
    for name in ["blackbook.arc.gz", "blackbook.warc.gz"] {
        let bytes = std::fs::read(shared.join("crawls").join(name)).expect("a crawl");
        place.write_old(name, &bytes);
    }
    place.run(&["load", "blackbook.arc.gz", "blackbook.warc.gz"]);
    let prefix = "http://www.archive.org/";
    let run = place.run(&["export", "--warc", "both.warc.gz", "--url-prefix", prefix]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stderr
            .contains(" written from another file, because one cannot be copied"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("left out"), "{}", run.stderr);
}

/// A revisit has the time and the digest of the page, but not its payload.
#[test]
fn a_revisit_is_no_copy_of_a_capture_that_is_left_out() {
    let headers = [
        ("WARC-Target-URI", "http://a.example/"),
        ("WARC-Date", "2014-01-26T20:06:24Z"),
        ("Content-Type", "application/http; msgtype=response"),
        ("WARC-Payload-Digest", "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        (
            "WARC-Profile",
            "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
        ),
    ];
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    let page = [&head[..], b"<title>A</title>"].concat();
    let place = Workspace::new();
    place.write_old("page.warc", &fixture::record("response", &headers[..4], &page));
    place.write_old("revisit.warc", &fixture::record("revisit", &headers, head));
    place.good(&["load", "page.warc", "revisit.warc"]);
    std::fs::remove_file(place.path("page.warc")).expect("remove");
    let run = place.run(&["export", "--warc", "out.warc.gz"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(!run.stderr.contains("written from another file"), "{run:?}");
}

#[test]
fn what_is_exported_can_be_loaded_again() {
    let place = Workspace::new();
    if !crawls(&place) {
        return;
    }
    for (form, file, archive) in [
        ("--wacz", "all.wacz", "of-wacz"),
        ("--warc", "all.warc.gz", "of-warc"),
    ] {
        place.good(&["export", form, file, "--archive", "from"]);
        place.good(&["load", file, "--archive", archive]);
        assert_eq!(captures(&place, archive), captures(&place, "from"), "{form}");
        let verified = place.good(&["verify", "--archive", archive]);
        assert!(verified.contains("every view matches"), "{verified}");
        let again = place.run(&["export", form, file, "--archive", "from"]);
        assert_eq!(again.code, Some(2), "{}", again.stderr);
        assert!(again.stderr.contains("already exists"), "{}", again.stderr);
        std::fs::remove_file(place.path("from.cdxj")).expect("the index is there");
    }
}

#[test]
fn a_part_is_exported() {
    let place = Workspace::new();
    if !crawls(&place) {
        return;
    }
    for (arguments, file) in [
        (["--collection", "iana"], "collection"),
        (["--url-prefix", "http://www.iana.org/"], "prefix"),
    ] {
        let wacz = format!("{file}.wacz");
        let export = ["export", "--wacz", &wacz, "--archive", "from"];
        place.good(&[&export[..], &arguments[..]].concat());
        place.good(&["load", &wacz, "--archive", file]);
        let whole = captures(&place, "from");
        let expected: Vec<&String> = whole
            .iter()
            .filter(|line| {
                file == "prefix" && line.starts_with("org,iana)/")
                    || file == "collection" && !line.contains("library.example")
            })
            .filter(|line| file == "prefix" || !line.contains(".example"))
            .collect();
        assert!(expected.len() > 50, "{}", expected.len());
        assert_eq!(
            captures(&place, file).iter().collect::<Vec<_>>(),
            expected,
            "{file}"
        );
        std::fs::remove_file(place.path("from.cdxj")).expect("the index is there");
    }
}

/// Loads a package and returns the URLs of its captures.
fn urls_in(place: &Workspace, wacz: &str) -> Vec<String> {
    let archive = wacz.trim_end_matches(".wacz");
    place.good(&["load", wacz, "--archive", archive]);
    let dumped = place.good(&["dump", "captures", "--archive", archive]);
    let url = |line: &str| line.split('\t').nth(2).expect("a URL").to_owned();
    dumped.lines().map(url).collect()
}

#[test]
fn what_a_search_finds_is_exported_with_its_parts() {
    let place = replay::page_with_parts();
    let other = replay::response("http://b.example/", "2020-01-01T00:00:00Z", "text/html", "other");
    place.write("other.warc", &other);
    place.good(&["load", "other.warc"]);
    let told = place.good(&["export", "--wacz", "parts.wacz", "link"]);
    assert!(told.contains("7 captures written to parts.wacz"), "{told}");
    let mut urls = urls_in(&place, "parts.wacz");
    urls.sort();
    let parts = [
        "",
        "frame",
        "s.css",
        "small.png",
        "t.css",
        "there.png",
        "x.js?_=23",
    ];
    assert_eq!(urls, parts.map(|part| format!("http://a.example/{part}")));
    let check = |of: &[&str]| {
        let run = place.run(&[&["replay-check", "http://a.example/"], of].concat());
        (run.code, run.stdout)
    };
    assert_eq!(check(&["--archive", "parts"]), check(&[]));

    place.good(&["export", "--wacz", "page.wacz", "--pages-only", "link"]);
    assert_eq!(urls_in(&place, "page.wacz"), ["http://a.example/"]);
    let most = place.run(&["export", "--cdxj", "most.cdxj", "link", "nowhere"]);
    assert!(most.stderr.contains("note: no page has most"), "{}", most.stderr);
    std::fs::remove_file(place.path("parts.warc")).expect("it is there");
    let gone = place.run(&["export", "--wacz", "gone.wacz", "link"]);
    assert_eq!(gone.code, Some(1), "{}", gone.stderr);
    let unknown = "the embedded resources of http://a.example/ are unknown";
    assert!(gone.stderr.contains(unknown), "{}", gone.stderr);
    for wrong in [
        &["--wacz", "x.wacz", "link", "--collection", "c"][..],
        &["--wacz", "x.wacz", "--pages-only"],
        &["--bag", "x", "link"],
    ] {
        let run = place.run(&[&["export"], wrong].concat());
        assert_eq!(run.code, Some(2), "{wrong:?}: {}", run.stderr);
    }
}

#[test]
fn an_export_of_nothing_is_an_error_and_leaves_no_file() {
    let place = local();
    for (flag, arguments) in [
        ("--wacz", &["--collection", "nosuch"][..]),
        ("--warc", &["--url-prefix", "http://nosuch.example/"][..]),
        ("--cdxj", &["nowhere"][..]),
        ("--zipnum", &["--collection", "nosuch"][..]),
    ] {
        let export = ["export", "--archive", "local", flag, "out"];
        let run = place.run(&[&export[..], arguments].concat());
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("no capture to export"), "{run:?}");
        assert!(!place.path("out").exists() && !place.path("out.part").exists());
    }
    // The records of these captures are gone: each is named.
    std::fs::remove_file(place.path("web.warc")).expect("it is there");
    let run = place.run(&["export", "--archive", "local", "--warc", "out"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("were left out:"), "{run:?}");
    assert!(!place.path("out").exists());
}

#[test]
fn standard_output_is_not_a_file_called_dash() {
    let place = local();
    for arguments in [
        &["export", "--wacz", "-"][..],
        &["export", "--cdxj", "-"][..],
        &["export", "--zipnum", "-"][..],
        &["export", "--bag", "-"][..],
        &["verify", "--csv", "-"][..],
        &["synth", "--pages", "1", "-"][..],
        &["redact", "web.warc", "-"][..],
    ] {
        let run = place.run(&[arguments, &["--archive", "local"][..]].concat());
        assert_eq!(run.code, Some(2), "{arguments:?}: {run:?}");
        assert!(run.stderr.contains("a file called -"), "{arguments:?}: {run:?}");
        assert!(!place.path("-").exists(), "{arguments:?}");
    }
    place.good(&["export", "--cdxj", "./-", "--archive", "local"]);
    assert!(place.path("-").exists());
}

/// Returns what crawlers add to a page: its text and a picture.
fn attached(page: &str, date: &str) -> Vec<u8> {
    let attachment = |scheme: &str, mime: &str| {
        let target = format!("urn:{scheme}:{page}");
        let headers = [
            ("WARC-Target-URI", &*target),
            ("WARC-Date", date),
            ("Content-Type", mime),
        ];
        fixture::record("resource", &headers, b"attached")
    };
    [attachment("text", "text/plain"), attachment("view", "image/png")].concat()
}

#[test]
fn attachments_are_exported_with_their_pages() {
    let place = Workspace::new();
    let (maps, library) = ("http://museum.example/maps", "http://www.library.example/");
    let file = [
        fixture::small_web(),
        attached(maps, "2015-03-01T08:00:02Z"),
        attached(library, "2014-01-26T20:06:25Z"),
        attached(library, "2016-01-01T00:00:05Z"),
        // Its page was not captured.
        attached("http://museum.example/lost", "2015-03-01T08:00:02Z"),
    ];
    place.write_old("web.warc", &file.concat());
    place.good(&["load", "web.warc", "--collection", "museum", "--archive", "from"]);
    place.good(&["forget", "--before", "2015", "--archive", "from"]);
    let export = |flag: &str, file: &str, more: &[&str]| {
        place.json(&[&["export", "--archive", "from", flag, file][..], more].concat())
    };
    for (flag, file, more, expected) in [
        ("--wacz", "all.wacz", &[][..], 4),
        ("--warc", "requests.warc.gz", &["--with-requests"][..], 4),
        (
            "--warc",
            "part.warc.gz",
            &["--url-prefix", "http://museum.example/"][..],
            2,
        ),
        ("--warc", "museum.warc.gz", &["--collection", "museum"][..], 4),
        ("--wacz", "found.wacz", &["maps"][..], 2),
    ] {
        let exported = export(flag, file, more);
        assert_eq!(exported["attachments"], expected, "{file}: {exported}");
        let archive = file.split('.').next().expect("a name");
        place.good(&["load", file, "--archive", archive]);
        let listed = |url: &str| {
            let page = place.json(&["page", url, "--archive", archive]);
            page["attachments"].as_array().map_or(0, Vec::len)
        };
        assert_eq!(listed(maps), 2, "{file}");
        if expected == 4 {
            assert_eq!(listed(library), 2, "{file}");
        }
    }
    let told = place.good(&["export", "--archive", "from", "--warc", "again.warc.gz"]);
    assert!(
        told.contains("written to again.warc.gz, with 4 attachments"),
        "{told}"
    );
}

/// A revisit adds a record of another URL with a larger key; the index of the package must still be
/// sorted.
#[test]
fn what_a_revisit_brings_from_another_url_is_in_order() {
    let place = Workspace::new();
    let original = replay::response(
        "http://first.example/",
        "2020-01-02T00:00:00Z",
        "text/html",
        "first",
    );
    let revisit = fixture::record(
        "revisit",
        &[
            ("WARC-Target-URI", "http://again.example/"),
            ("WARC-Date", "2020-03-01T00:00:00Z"),
            ("WARC-Refers-To-Target-URI", "http://first.example/"),
            ("WARC-Refers-To-Date", "2020-01-02T00:00:00Z"),
            (
                "WARC-Profile",
                "http://netpreserve.org/warc/1.1/revisit/server-not-modified",
            ),
            ("Content-Type", "application/http"),
        ],
        b"HTTP/1.1 304 Not Modified\r\n\r\n",
    );
    let third = replay::response(
        "http://again.example/b",
        "2020-01-02T00:00:00Z",
        "text/html",
        "third",
    );
    place.write("x.warc", &[original, revisit, third].concat());
    place.good(&["load", "x.warc"]);
    place.good(&[
        "export",
        "--wacz",
        "x.wacz",
        "--url-prefix",
        "http://again.example/",
    ]);
    let file = std::fs::File::open(place.path("x.wacz")).expect("a package");
    let mut package = zip::ZipArchive::new(file).expect("a ZIP file");
    let index = package.by_name("indexes/index.cdx.gz").expect("an index");
    let lines = std::io::read_to_string(flate2::read::MultiGzDecoder::new(index)).expect("gzip");
    let keys: Vec<&str> = lines.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(keys, ["example,again)/", "example,again)/b", "example,first)/"]);
    assert_eq!(urls_in(&place, "x.wacz").len(), 3);
}

#[test]
fn what_was_taken_down_does_not_leave() {
    let place = local();
    let page = "http://www.library.example/";
    place.good(&[
        "forget",
        "--url",
        &page.replace("www.", ""),
        "--reason",
        "test",
        "--archive",
        "local",
    ]);
    place.good(&["export", "--wacz", "x.wacz", "--archive", "local"]);
    place.good(&["load", "x.wacz", "--archive", "fresh"]);
    let left = captures(&place, "fresh");
    assert!(
        !left.is_empty() && !left.iter().any(|line| line.contains(&format!("\"{page}\""))),
        "{left:?}"
    );
}

#[test]
fn indexes_have_the_forms_of_other_tools() {
    let place = local();
    let read = |name: &str| std::fs::read(place.path(name)).expect("a file");
    for form in ["cdxj", "cdx9", "cdx11", "zipnum"] {
        place.good(&["export", &format!("--{form}"), form, "--archive", "local"]);
    }
    let (cdxj, cdx11) = (read("cdxj"), String::from_utf8(read("cdx11")).expect("text"));
    let lines = cdxj.iter().filter(|byte| **byte == b'\n').count();
    let cdx9 = String::from_utf8(read("cdx9")).expect("text");
    for (text, columns) in [(&cdx9, 9), (&cdx11, 11)] {
        assert!(text.starts_with(" CDX N b a m s k r "), "{text}");
        assert_eq!(text.lines().count(), lines + 1);
        assert!(
            text.lines()
                .skip(1)
                .all(|line| line.split(' ').count() == columns),
            "{text}"
        );
    }
    let mut unpacked = Vec::new();
    let members = read("zipnum/cdx-00000.gz");
    std::io::Read::read_to_end(
        &mut flate2::read::MultiGzDecoder::new(&members[..]),
        &mut unpacked,
    )
    .expect("gzip");
    assert_eq!(unpacked, cdxj);
    let second = String::from_utf8(read("zipnum/cluster.idx")).expect("text");
    let columns: Vec<&str> = second.trim_end().split('\t').collect();
    assert_eq!(
        columns[1..],
        ["cdx-00000.gz", "0", &members.len().to_string(), "1"]
    );
    assert_eq!(read("zipnum/cluster.loc"), b"cdx-00000.gz\tcdx-00000.gz\n");
}

#[test]
fn other_tools_read_what_is_exported() {
    let Some(python) = test_env::python(&["wacz.main", "pywb"]) else {
        println!("skipped: there is no python3 with wacz and pywb (make need-field)");
        return;
    };
    let place = local();
    place.good(&["export", "--wacz", "x.wacz", "--archive", "local"]);
    place.good(&["export", "--zipnum", "zipnum", "--archive", "local"]);
    let page = "http://www.library.example/";
    let output = test_env::command(&python, &place.path("home"))
        .arg(test_env::crate_dir().join("tests/cli/packages.py"))
        .args([place.path("x.wacz"), place.path("zipnum/cluster.idx")])
        .args([page, "example,library)/"])
        .output()
        .expect("python runs");
    let told = String::from_utf8_lossy(&output.stdout);
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}{failed}");
    let found = told
        .lines()
        .filter(|line| line.starts_with("example,library)/ ") && line.contains(page));
    assert!(found.count() > 0, "{told}{failed}");
}

/// A file or package that another one replaces leaves captures that cannot be read. The load and
/// the doctor report them until they are forgotten.
#[test]
fn captures_of_replaced_files_are_reported() {
    let (small, other) = (fixture::small_web(), fixture::other_web());
    let package = |member: &str, warc: &[u8]| {
        let described = described(&[(member, sha256(warc))]);
        let members: [(&str, &[u8]); 2] = [(member, warc), ("datapackage.json", &described)];
        zipped(&members, CompressionMethod::Stored)
    };
    for (file, first, second, input) in [
        ("x.warc", small.clone(), other.clone(), "x.warc"),
        (
            "x.wacz",
            package("archive/a.warc", &small),
            package("archive/b.warc", &other),
            "x.wacz#archive/a.warc",
        ),
        (
            "x.wacz",
            package("archive/a.warc", &small),
            package("archive/a.warc", &other),
            "x.wacz#archive/a.warc",
        ),
    ] {
        let place = Workspace::new();
        place.write_old(file, &first);
        place.good(&["load", file]);
        place.write_old(file, &second);
        let doctor = place.run(&["doctor"]);
        assert!(doctor.stdout.contains("missing at their path"), "{doctor:?}");
        let told = place.good(&["load", file]);
        let expected = format!("{input}: done, but now: its file was replaced");
        assert!(told.contains(&expected), "{expected}: {told}");
        let doctor = place.run(&["doctor"]);
        assert!(
            doctor.stdout.contains("1 input missing or replaced"),
            "{doctor:?}"
        );
        // The ledger has the command, too.
        let ledger = place.good(&["status", "--ledger", "--state", "missing"]);
        let reason = format!("\n{input}: its file was replaced");
        assert!(
            ledger.contains(&reason) && ledger.contains("weft forget --input sha256:"),
            "{ledger}"
        );
        let digest = told
            .split("--input ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        place.good(&["forget", "--input", digest.expect("a digest")]);
        let again = place.good(&["load", file]);
        assert!(!again.contains("replaced"), "{again}");
    }
}

/// Scenario: a title in a package was edited with another tool, which did not update the digests.
/// All records are intact, so this must not count as a loss.
#[test]
fn a_stale_digest_of_whole_records_is_a_warning() {
    let place = local();
    let warc = fixture::small_web();
    let pages = b"{\"url\": \"http://www.library.example/\", \"ts\": \"2015-03-01T08:00:00Z\"}\n";
    let stale = sha256(b"other");
    let cases = [
        ("member", stale.clone(), sha256(pages), None),
        ("pages", sha256(&warc), stale.clone(), None),
        ("description", sha256(&warc), sha256(pages), Some(stale.clone())),
    ];
    for (archive, of_member, of_pages, of_description) in cases {
        let described = described(&[(WARC, of_member), ("pages/pages.jsonl", of_pages)]);
        let hash = of_description.unwrap_or_else(|| sha256(&described));
        let digest = json!({"path": "datapackage.json", "hash": hash}).to_string();
        let members: [(&str, &[u8]); 4] = [
            (WARC, &warc),
            ("pages/pages.jsonl", pages),
            ("datapackage.json", &described),
            ("datapackage-digest.json", digest.as_bytes()),
        ];
        let file = format!("{archive}.wacz");
        place.write_old(&file, &zipped(&members, CompressionMethod::Stored));
        let told = place.good(&["load", &file, "--archive", archive]);
        assert!(
            told.contains("1 defect in records that are still usable"),
            "{told}"
        );
        assert!(told.contains(&format!("expected {stale}")), "{told}");
        assert!(!told.contains("loss") && !told.contains("again"), "{told}");
        check_loaded(&place, archive, &format!("{file}#archive/"));
    }
}

#[test]
fn packages_that_others_need_are_named_if_they_are_missing() {
    let place = local();
    let warc = fixture::small_web();
    place.write_old("first.wacz", &wacz(&warc, CompressionMethod::Stored));
    let other = [&warc[..], &warc[..]].concat();
    let described = json!({
        "resources": [{"path": WARC, "hash": sha256(&other)}],
        "relation": {"requires": [{"filename": "first.wacz", "hash": "00"}]},
    });
    let described = described.to_string();
    let members: [(&str, &[u8]); 2] = [(WARC, &other), ("datapackage.json", described.as_bytes())];
    place.write_old("second.wacz", &zipped(&members, CompressionMethod::Stored));
    let inspected = place.run(&["inspect", "--summary", "second.wacz"]).stdout;
    assert!(inspected.contains("needs first.wacz"), "{inspected}");
    for (archive, inputs, is_missing) in [
        ("alone", &["second.wacz"][..], true),
        ("both", &["second.wacz", "first.wacz"][..], false),
        // The archive has the package already.
        ("again", &["first.wacz"][..], false),
        ("again", &["second.wacz"][..], false),
    ] {
        let arguments = [&["load"][..], inputs, &["--archive", archive][..]].concat();
        let told = place.good(&arguments);
        assert_eq!(told.contains("package-requires"), is_missing, "{archive}: {told}");
    }
}

/// The digest is that of another description, so that the signature alone says nothing about the
/// package.
#[test]
fn signatures_are_verified() {
    const HASH: &str = "sha256:adfa35e98546592d56df1cfd8e30510e5c5180e5edeb733c2ca411fcc875e270";
    const KEY: &str = "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEW0YzyLfs6Wx/rpbKS1Dj8EpqdOzVsgdAkeqT2emevpWbEJOzeXe5Di3LC1DqOCzitr5We62CltjcoM0yzdSPojSAfQRCA0oMzzw6MMlA066OPslGgWF4MAl/w0Lqjwrp";
    const SIGNATURE: &str = "2vTByhKi607xlCy+Nfnq5AmSzjV6ge4bsMMrXM8k8yw8wRTQa+8/7O9Fachx4L/uQc7Yc7dWH5fnqAbtabjgu42l5kwRJRpFVSv13kVDPieR4KUFbVw4dkKFt3L31tNm";
    let place = local();
    let warc = fixture::small_web();
    let described = described(&[(WARC, sha256(&warc))]);
    for (file, signature, note, is_wrong) in [
        ("good.wacz", SIGNATURE, "signed anonymously", false),
        ("bad.wacz", "AAAA", "the signature is wrong", true),
    ] {
        let digest = json!({
            "path": "datapackage.json",
            "hash": HASH,
            "signedData": { "hash": HASH, "signature": signature, "publicKey": KEY },
        });
        let digest = digest.to_string();
        let members: [(&str, &[u8]); 3] = [
            (WARC, &warc),
            ("datapackage.json", &described),
            ("datapackage-digest.json", digest.as_bytes()),
        ];
        place.write_old(file, &zipped(&members, CompressionMethod::Stored));
        let inspected = place.run(&["inspect", "--summary", file]).stdout;
        assert!(inspected.contains(note), "{file}: {inspected}");
        assert!(
            inspected.contains("it was changed after its digest was written"),
            "{inspected}"
        );
        let loaded = place.run(&["load", file, "--archive", file.trim_end_matches(".wacz")]);
        let told = format!("{}{}", loaded.stdout, loaded.stderr);
        assert_eq!(told.contains("package-signature"), is_wrong, "{told}");
    }
}

#[test]
fn inspect_and_check_read_a_package_as_one() {
    let place = Workspace::new();
    let warc = fixture::small_web();
    place.write_old("web.warc", &warc);
    place.write_old("x.wacz", &wacz(&warc, CompressionMethod::Deflated));
    let alone = place.good(&["inspect", "web.warc"]);
    let packed = place.good(&["inspect", "x.wacz"]);
    let rows = alone.split_once('\n').expect("rows").1;
    assert!(packed.contains(rows), "{packed}\nwithout\n{rows}");
    assert!(packed.contains("#archive/web.warc"), "{packed}");
    let declared = format!("digest matches datapackage.json: {}", sha256(&warc));
    assert!(packed.contains(&declared), "{packed}");

    let described = described(&[(WARC, sha256(b"other")), ("archive/gone.warc", sha256(b""))]);
    let members: [(&str, &[u8]); 2] = [(WARC, &warc), ("datapackage.json", &described)];
    place.write_old("wrong.wacz", &zipped(&members, CompressionMethod::Stored));
    let run = place.run(&["inspect", "--summary", "wrong.wacz"]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    for told in [
        "error: wrong.wacz#archive/gone.warc: datapackage.json lists it, and the package has no such member",
        &format!(
            "warning: wrong.wacz#archive/web.warc: found {}, expected {}",
            sha256(&warc),
            sha256(b"other")
        ),
    ] {
        assert!(run.stdout.contains(told), "{told}\n{}", run.stdout);
    }
    let checked = |file: &str| {
        let run = place.run(&["warc", "check", file]);
        let findings = run.stdout.lines().last().unwrap_or_default().to_owned();
        (
            run.code,
            findings.rsplit_once(": ").map(|(_, rest)| rest.to_owned()),
        )
    };
    assert_eq!(checked("x.wacz"), checked("web.warc"));
}
