//! `weft redact`: the copy of a file omits only the records that are taken down.

use crate::fixture::{self, record};
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
