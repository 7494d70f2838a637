//! `weft redact`: the copy of a file omits only the records that are taken down.

use std::io::Read as _;

use serde_json::{Value, json};
use zip::CompressionMethod;

use crate::fixture::{self, record};
use crate::packages::{WARC, sha256, wacz, zipped};
use crate::support::Workspace;
use crate::takedown::files_with;

/// A unique word.
const WORD: &str = "zq7xkvwplantedj4m9";

const GONE: &str = "http://news.example/story";

/// A page with the word, its request, and a metadata record about it.
fn planted() -> Vec<u8> {
    let date = ("WARC-Date", "2019-05-05T05:05:05Z");
    let target = ("WARC-Target-URI", GONE);
    let http = ("Content-Type", "application/http; msgtype=response");
    let page = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>{WORD}</title><p>{WORD}");
    let request = format!("GET /story HTTP/1.1\r\nCookie: {WORD}\r\n\r\n");
    let http_request = ("Content-Type", "application/http; msgtype=request");
    let note = format!("outlink: {WORD}");
    // This record names the other record instead of a URL.
    let about = ("WARC-Concurrent-To", "<urn:uuid:response>");
    [
        record("response", &[target, date, http], page.as_bytes()),
        record("request", &[target, date, http_request], request.as_bytes()),
        record("metadata", &[date, about], note.as_bytes()),
    ]
    .concat()
}

/// Returns an archive of one file with several pages, of which the planted one is taken down.
fn taken_down() -> Workspace {
    let place = Workspace::new();
    let file = [fixture::small_web(), planted(), fixture::other_web()].concat();
    place.write_old("web.warc", &file);
    place.good(&["load", "web.warc"]);
    place.good(&["forget", "--url", GONE]);
    place
}

#[test]
fn a_copy_has_all_but_what_is_taken_down() {
    let place = taken_down();
    let said = place.good(&["redact", "web.warc", "copy.warc"]);
    assert!(
        said.starts_with("3 records were left out of web.warc: 2 covered by takedowns, 1 that belong to them\ncopy.warc: 8 records, "),
        "{said}"
    );
    let copy = std::fs::read(place.path("copy.warc")).expect("the copy");
    assert!(copy == [fixture::small_web(), fixture::other_web()].concat());
    // The input is unchanged.
    let input = std::fs::read(place.path("web.warc")).expect("the input");
    assert!(input == [fixture::small_web(), planted(), fixture::other_web()].concat());

    // Loaded separately, the copy has everything else, and no file contains the word.
    place.write_old("copy.warc", &copy);
    place.good(&["--archive", "fresh", "load", "copy.warc", "--facts-text"]);
    assert_eq!(place.json(&["--archive", "fresh", "status"])["captures"], 6);
    assert_eq!(place.json(&["--archive", "fresh", "search", WORD])["total"], 0);
    assert!(files_with(&place.path("fresh"), WORD).is_empty());
    assert!(files_with(&place.path("fresh"), "news").is_empty());
    assert_eq!(place.run(&["--archive", "fresh", "verify"]).code, Some(0));
}

#[test]
fn a_dry_run_writes_nothing_and_tells_the_same() {
    let place = taken_down();
    let told = |arguments: &[&str]| {
        let mut told = place.json(arguments);
        let dry_run = told["dry_run"].take();
        (told, dry_run)
    };
    let (dry, is_dry) = told(&["redact", "web.warc", "copy.warc", "--dry-run"]);
    assert!(!place.path("copy.warc").exists());
    let (done, is_done_dry) = told(&["redact", "web.warc", "copy.warc"]);
    assert_eq!((is_dry, is_done_dry), (true.into(), false.into()));
    assert_eq!(dry, done);
    assert_eq!(done["records_kept"], 8);
    assert_eq!(
        (&done["records_selected"], &done["records_concerned"]),
        (&2.into(), &1.into())
    );
    let lengths =
        ["web.warc", "copy.warc"].map(|name| std::fs::metadata(place.path(name)).expect("a file").len());
    assert_eq!(
        (&done["input_bytes"], &done["kept_bytes"]),
        (&lengths[0].into(), &lengths[1].into())
    );
    assert_eq!(done["damaged"], serde_json::json!([]));
    assert_eq!(done["known"], true);
}

#[test]
fn nothing_is_written_over_a_file_but_by_force_and_never_over_the_input() {
    let place = taken_down();
    place.write("there.warc", b"mine");
    let run = place.run(&["redact", "web.warc", "there.warc"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(
        run.stderr
            .contains("there.warc already exists; --force replaces it"),
        "{run:?}"
    );
    assert_eq!(
        std::fs::read(place.path("there.warc")).expect("the file"),
        b"mine"
    );
    place.good(&["redact", "web.warc", "there.warc", "--force"]);
    assert!(
        std::fs::read(place.path("there.warc"))
            .expect("the file")
            .starts_with(b"WARC/")
    );

    std::os::unix::fs::symlink(place.path("web.warc"), place.path("link.warc")).expect("a link");
    for out in ["web.warc", "link.warc"] {
        let run = place.run(&["redact", "web.warc", out, "--force"]);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains("is the input file"), "{run:?}");
    }
    let run = place.run(&["redact", "nowhere.warc", "out.warc"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(!place.path("out.warc").exists());
}

#[test]
fn files_that_were_never_loaded_go_by_the_register() {
    let place = taken_down();
    // The same page in a file of another crawl.
    let date = "2021-01-01T00:00:00Z";
    let again = fixture::warc(&[
        ("https://www.news.example/story", date, WORD),
        ("http://news.example/", date, "home"),
    ]);
    place.write("new.warc", &again);
    let done = place.json(&["redact", "new.warc", "out.warc"]);
    assert_eq!(
        (&done["known"], &done["records_selected"]),
        (&false.into(), &1.into())
    );
    assert_eq!(done["records_kept"], 2);
    assert!(
        files_with(&place.path("."), WORD)
            .iter()
            .all(|path| !path.ends_with("out.warc"))
    );
    // The collection is known for loaded files, and given by flag for others.
    place.good(&["forget", "--collection", "secret"]);
    assert_eq!(
        place.json(&["redact", "new.warc", "a.warc"])["records_selected"],
        1
    );
    let done = place.json(&["redact", "new.warc", "b.warc", "--collection", "secret"]);
    assert_eq!(
        (&done["records_selected"], &done["records_kept"]),
        (&2.into(), &1.into())
    );
    // An undone takedown has no effect.
    place.good(&["forget", "--undo", "1"]);
    assert_eq!(
        place.json(&["redact", "new.warc", "c.warc"])["records_selected"],
        0
    );
    assert!(std::fs::read(place.path("c.warc")).expect("the copy") == again);
    place.good(&["forget", "--before", "2020"]);
    let done = place.json(&["redact", "web.warc", "d.warc"]);
    assert_eq!(done["records_kept"], 2, "the descriptions of the files: {done}");
}

#[test]
fn of_an_input_that_is_taken_down_its_description_stays() {
    let place = Workspace::new();
    place.write_old("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc"]);
    place.good(&["forget", "--input", "web.warc"]);
    let done = place.json(&["redact", "web.warc", "out.warc"]);
    assert_eq!(
        (&done["records_selected"], &done["records_kept"]),
        (&5.into(), &1.into())
    );
    assert!(std::fs::read(place.path("out.warc")).expect("the copy") == fixture::warc(&[]));
}

#[test]
fn real_files_are_redacted_compressed_as_they_are() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    for (name, prefix) in [
        ("iana.warc.gz", "iana.org/domains"),
        ("blackbook.arc.gz", "archive.org/images"),
    ] {
        let place = Workspace::new();
        let file = shared.join("crawls").join(name);
        let file = file.to_str().expect("a path");
        place.good(&["load", file]);
        place.good(&["forget", "--prefix", prefix]);
        let done = place.json(&["redact", file, name]);
        let count = |name: &str| done[name].as_u64().expect("a number");
        assert!(
            count("records_selected") > 0 && count("records_kept") > 20,
            "{done}"
        );
        let copy = std::fs::metadata(place.path(name)).expect("the copy").len();
        assert_eq!(copy, count("kept_bytes"));
        // Another archive with the same takedown finds nothing to exclude in the copy, and
        // everything else in it.
        place.good(&["--archive", "fresh", "load", name]);
        let status = |archive: &str| place.json(&["--archive", archive, "status"]);
        assert_eq!(
            status("fresh")["captures"],
            status("weft-archive")["captures"],
            "{name}"
        );
        let again = place.json(&["redact", name, "again.gz"]);
        assert_eq!(again["records_selected"], 0, "{again}");
    }
}

/// A file as several crawlers write it: pages, and records derived from each.
#[test]
fn nothing_that_crawlers_derive_from_a_page_is_in_the_copy() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    let place = Workspace::new();
    let input = data
        .join("security/redact-derivatives.warc.gz")
        .display()
        .to_string();
    let run = place.run(&["load", &input]);
    assert!(matches!(run.code, Some(0 | 1)), "{run:?}");
    place.good(&["forget", "--prefix", "http://gone.example/"]);
    place.good(&["redact", &input, "copy.warc.gz"]);
    let holding = crate::decoded::gzip_members(&place.path("copy.warc.gz"));
    let text = String::from_utf8_lossy(&holding);
    assert!(text.contains("http://keep.example/"), "{text}");
    // A capture of another URL claims to repeat the page. It is a separate page, so it stays.
    let planted: Vec<&str> = text.lines().filter(|line| line.contains("PLANTED")).collect();
    assert_eq!(planted, ["X: PLANTEDqqrevisit"], "{text}");

    let place = Workspace::new();
    let input = data.join("field/c67-attachments.warc.gz").display().to_string();
    let run = place.run(&["load", &input]);
    assert!(matches!(run.code, Some(0 | 1)), "{run:?}");
    place.good(&["forget", "--prefix", "https://c67.example/"]);
    place.good(&["redact", &input, "copy.warc.gz"]);
    let text = crate::decoded::gzip_members(&place.path("copy.warc.gz"));
    let text = String::from_utf8_lossy(&text);
    assert_eq!(text.matches("WARC-Type:").count(), 1, "{text}");
}

/// A package of the planted file, which also names the planted page in lists of pages, an index and
/// a log.
fn planted_package(warc: &[u8], method: CompressionMethod) -> Vec<u8> {
    let page = |url: &str, ts: &str, text: &str| json!({"url": url, "ts": ts, "text": text}).to_string();
    let seeds = [
        r#"{"format": "json-pages-1.0", "id": "pages"}"#.to_owned(),
        page(
            "http://museum.example/",
            "2015-03-01T08:00:00Z",
            "Maps and globes.",
        ),
        page(GONE, "2019-05-05T05:05:05Z", WORD),
    ];
    let extra = page("https://www.news.example/story", "2019-05-05T05:05:06Z", WORD);
    let (seeds, extra) = (seeds.join("\n"), format!("{extra}\nno page: {WORD}\n"));
    let named = format!("example,news)/story 20190505050505 {{\"url\": \"{GONE}\"}}\n");
    let described = json!({
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "title": "The museum",
        "description": format!("A crawl of {GONE} and others"),
        "resources": [{"path": WARC, "hash": sha256(warc)}],
    });
    let (described, log) = (described.to_string(), format!("fetched {GONE}"));
    let digest = json!({"path": "datapackage.json", "hash": sha256(described.as_bytes())}).to_string();
    let members: [(&str, &[u8]); 7] = [
        (WARC, warc),
        ("pages/pages.jsonl", seeds.as_bytes()),
        ("pages/extraPages.jsonl", extra.as_bytes()),
        ("indexes/index.cdx", named.as_bytes()),
        ("logs/crawl.log", log.as_bytes()),
        ("datapackage.json", described.as_bytes()),
        ("datapackage-digest.json", digest.as_bytes()),
    ];
    zipped(&members, method)
}

#[test]
fn no_part_of_a_package_names_what_is_taken_down() {
    let warc = [fixture::small_web(), planted(), fixture::other_web()].concat();
    let kept = [fixture::small_web(), fixture::other_web()].concat();
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let place = Workspace::new();
        place.write_old("web.wacz", &planted_package(&warc, method));
        place.run(&["load", "web.wacz"]);
        place.good(&["forget", "--url", GONE]);
        let dry = place.json(&["redact", "web.wacz", "copy.wacz", "--dry-run"]);
        assert!(!place.path("copy.wacz").exists());
        let done = place.json(&["redact", "web.wacz", "copy.wacz"]);
        assert_eq!(dry["package"], done["package"]);
        assert_eq!((&done["known"], &done["records_kept"]), (&true.into(), &8.into()));
        assert_eq!(done["kept_bytes"], kept.len());
        let package = json!({
            "pages_kept": 1,
            "pages_left_out": 2,
            "lines_left_out": 1,
            "members_left_out": ["logs/crawl.log"],
        });
        assert_eq!(done["package"], package);

        let copy = std::fs::read(place.path("copy.wacz")).expect("the copy");
        let holds = |part: &[u8]| copy.windows(part.len()).any(|window| window == part);
        assert!(holds(&kept) && holds(b"Maps and globes."));
        assert!(!holds(WORD.as_bytes()) && !holds(b"news.example"));

        // The copy is a package without a fault, with an index.
        place.good(&["load", "copy.wacz", "--archive", "fresh"]);
        let status = place.json(&["status", "--archive", "fresh"]);
        assert_eq!(status["captures"], 6);
        let pages = place.good(&["pages", "--archive", "fresh"]);
        assert!(
            pages.contains("http://museum.example/") && !pages.contains("story"),
            "{pages}"
        );
        let mut zip = zip::ZipArchive::new(std::io::Cursor::new(copy)).expect("a package");
        let mut index = Vec::new();
        let member = zip.by_name("indexes/index.cdx.gz").expect("an index");
        flate2::read::MultiGzDecoder::new(member)
            .read_to_end(&mut index)
            .expect("its lines");
        let lines = String::from_utf8(index).expect("text");
        let places: Vec<(usize, usize)> = lines.lines().map(place_in_line).collect();
        assert_eq!(places.len(), 6, "{lines}");
        for (offset, length) in places {
            assert!(kept[offset..offset + length].starts_with(b"WARC/1.0\r\nWARC-Type: response"));
        }
    }
}

/// Returns offset and length in a line of CDXJ.
fn place_in_line(line: &str) -> (usize, usize) {
    let object = &line[line.find('{').expect("an object")..];
    let object: Value = serde_json::from_str(object).expect("JSON");
    let number = |name: &str| {
        let text = object[name].as_str().expect("a text");
        text.parse().expect("a number")
    };
    (number("offset"), number("length"))
}

#[test]
fn what_is_no_file_of_records_is_not_copied_as_junk() {
    let place = taken_down();
    let inner = wacz(&fixture::small_web(), CompressionMethod::Stored);
    place.write(
        "outer.wacz",
        &zipped(&[("inner.wacz", &inner[..])], CompressionMethod::Stored),
    );
    place.write("package.zip", &inner);
    place.write("cut.wacz", &inner[..inner.len() / 2]);
    place.write("list.txt", b"http://news.example/story\n");
    for (input, expected) in [
        ("outer.wacz", Some("inner.wacz is a package in a package")),
        ("cut.wacz", Some("cut.wacz cannot be read")),
        ("list.txt", Some("list.txt has no WARC or ARC record")),
        ("cut.wacz#archive/web.warc", Some("a member of a package")),
        // A package under another name is read as what it is.
        ("package.zip", None),
    ] {
        let run = place.run(&["redact", input, "out"]);
        match expected {
            Some(expected) => {
                assert_eq!(run.code, Some(1), "{run:?}");
                assert!(run.stderr.contains(expected), "{run:?}");
                assert!(!place.path("out").exists(), "{input}");
            }
            None => assert_eq!(run.code, Some(0), "{run:?}"),
        }
    }
}
