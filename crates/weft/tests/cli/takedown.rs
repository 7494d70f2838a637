//! `weft forget`: takedowns remove captures everywhere, keep them out, and can be undone.

use std::path::{Path, PathBuf};

use zip::CompressionMethod;

use crate::decoded::{files_holding, stray_segments};
use crate::fixture;
use crate::packages::zipped;
use crate::support::{VIEWS, Workspace};

/// A unique word.
const WORD: &str = "zq7xkvwplantedj4m9";

fn loaded() -> Workspace {
    let place = Workspace::new();
    place.write_old("web.warc", &fixture::small_web());
    place.write_old("other.warc", &fixture::other_web());
    place.good(&["load", "web.warc", "other.warc", "--facts-text"]);
    place
}

fn dumps(place: &Workspace) -> Vec<String> {
    VIEWS.iter().map(|view| place.good(&["dump", view])).collect()
}

/// Returns every row of facts, as text.
fn facts(place: &Workspace) -> String {
    let read = |table: &str| {
        let folder = place.path("weft-archive/facts").join(table);
        facts::table_as_text(&folder, &["input_id", "epoch"]).expect("a table")
    };
    ["captures", "links", "texts"].map(read).concat()
}

/// Returns the files below a folder that contain a word, byte for byte.
pub(crate) fn files_with(folder: &Path, word: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files_with(&path, word));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).expect("read");
            let holds = bytes.windows(word.len()).any(|window| window == word.as_bytes());
            found.extend(holds.then_some(path));
        }
    }
    found
}

#[track_caller]
fn is_clean(place: &Workspace) {
    let run = place.run(&["verify"]);
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn a_page_leaves_stays_out_and_comes_back_when_it_is_undone_and_loaded() {
    let place = loaded();
    let (before, facts_before) = (dumps(&place), facts(&place));
    let maps = "http://museum.example/maps";
    let done = place.good(&["forget", "--url", maps, "--reason", "request 12"]);
    assert!(
        done.starts_with("takedown 1: 1 capture of 1 input removed from every view, 1 page with them"),
        "{done}"
    );
    is_clean(&place);
    // Links from other pages to it stay; its own links are removed.
    for view in ["captures", "pages"] {
        assert!(!place.good(&["dump", view]).contains("museum)/maps"), "{view}");
    }
    assert!(!place.good(&["dump", "uris"]).contains("gone"));
    let uris = place.good(&["dump", "uris"]);
    assert!(uris.contains("example,museum)/maps\t0\t2\t1\n"), "{uris}");
    assert_eq!(place.json(&["search", "\"map of the reading room\""])["total"], 0);
    assert!(!facts(&place).contains("A map of the reading room"));
    let row = &place.json(&["status", "--ledger"])["rows"][1];
    assert_eq!((&row["captures"], &row["taken_down"]), (&4.into(), &1.into()));

    // The same page in another file, and all files again.
    place.write_old(
        "again.warc",
        &fixture::warc(&[(maps, "2020-01-01T00:00:00Z", "<title>Maps again</title>")]),
    );
    let again = place.good(&["load", "again.warc", "other.warc", "web.warc"]);
    assert!(again.contains("1 taken down and skipped"), "{again}");
    assert!(!place.good(&["dump", "pages"]).contains("again"));
    assert_eq!(place.json(&["status"])["captures_taken_down"], 2);
    is_clean(&place);

    let register = place.good(&["forget", "--list"]);
    assert!(
        register.contains("request 12") && !register.contains("museum"),
        "{register}"
    );
    let undone = place.good(&["forget", "--undo", "1"]);
    assert!(
        undone.contains("web.warc") && undone.contains("again.warc"),
        "{undone}"
    );
    // Only once they are loaded.
    assert!(!place.good(&["dump", "pages"]).contains("again"));
    is_clean(&place);
    place.good(&["load", "web.warc"]);
    is_clean(&place);
    let now = dumps(&place);
    for (view, (before, now)) in VIEWS.iter().zip(before.iter().zip(&now)) {
        // The ledger has one more input.
        if *view != "ledger" {
            assert_eq!(before, now, "{view}");
        }
    }
    assert_eq!(facts(&place), facts_before);
    place.good(&["load", "again.warc"]);
    assert!(place.good(&["dump", "pages"]).contains("again"));
    assert_eq!(place.json(&["status"])["captures_taken_down"], 0);
    is_clean(&place);
}

/// A misspelt URL would be in the register as if it had removed something.
#[test]
fn a_takedown_of_nothing_says_so() {
    let place = loaded();
    for (url, is_known) in [
        ("http://museum.example/mapz", false),
        ("http://museum.example/maps", true),
    ] {
        for arguments in [&["--dry-run"][..], &[]] {
            let said = place.good(&[&["forget", "--url", url][..], arguments].concat());
            assert_eq!(said.contains("check the spelling"), !is_known, "{said}");
        }
    }
}

#[test]
fn inputs_labels_and_times_are_taken_down_whole() {
    let place = loaded();
    place.write_old(
        "labelled.warc",
        &fixture::warc(&[(
            "http://label.example/",
            "2018-01-01T00:00:00Z",
            "<title>L</title>",
        )]),
    );
    place.good(&["load", "labelled.warc", "--collection", "secret"]);
    let before = dumps(&place);
    place.good(&["forget", "--collection", "secret"]);
    place.good(&["forget", "--before", "2015"]);
    place.good(&["forget", "--input", "other.warc"]);
    let captures = place.good(&["dump", "captures"]);
    assert_eq!(captures.lines().count(), 3, "{captures}");
    assert!(
        !captures.contains("label") && !captures.contains("2014-"),
        "{captures}"
    );
    is_clean(&place);
    let ledger = place.good(&["dump", "ledger"]);
    assert!(ledger.contains("\ttaken_down\t0\t0\t0\t0\n"), "{ledger}");
    // A copy under another name is the same input.
    place.write_old("copy.warc", &fixture::other_web());
    place.good(&["load", "copy.warc", "labelled.warc"]);
    assert_eq!(place.good(&["dump", "captures"]), captures);
    for id in ["3", "1", "2"] {
        place.good(&["forget", "--undo", id]);
        is_clean(&place);
    }
    place.good(&["load", "labelled.warc", "web.warc", "other.warc"]);
    // Of two names the smaller one counts, including in the order of the ledger.
    let rows = |view: &String| {
        let mut rows: Vec<String> = view
            .lines()
            .map(|row| row.replace("other.warc", "copy.warc"))
            .collect();
        rows.sort();
        rows
    };
    let (now, before): (Vec<_>, Vec<_>) = (
        dumps(&place).iter().map(rows).collect(),
        before.iter().map(rows).collect(),
    );
    assert_eq!(now, before);
    is_clean(&place);
}

#[test]
fn a_dry_run_lists_and_changes_nothing() {
    let place = loaded();
    let before = (dumps(&place), facts(&place));
    let would = place.good(&["forget", "--prefix", "http://museum.example/", "--dry-run"]);
    assert!(
        would.starts_with("2 captures of 1 input would be taken down; nothing was changed\n"),
        "{would}"
    );
    assert!(would.contains("http://museum.example/maps"), "{would}");
    assert_eq!((dumps(&place), facts(&place)), before);
    assert_eq!(place.good(&["forget", "--list"]), "there are no takedowns\n");
    let json = place.json(&["forget", "--before", "2014-01-26T20:06:25Z", "--dry-run"]);
    assert_eq!((&json["captures"], &json["dry_run"]), (&1.into(), &true.into()));
}

#[test]
fn what_cannot_be_taken_down_is_told() {
    let place = loaded();
    for (arguments, code, told) in [
        (&["--input", "nobody.warc"][..], 1, "no input nobody.warc"),
        (&["--undo", "7"], 1, "no takedown 7"),
        (
            &["--before", "yesterday"],
            2,
            "--before takes a time, such as 2009",
        ),
        (&["--url", ""], 2, "has no URL key"),
        (&["--url", "a.org", "--before", "2014"], 2, "cannot be used with"),
    ] {
        let run = place.run(&[&["forget"], arguments].concat());
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.stderr.contains(told), "{run:?}");
    }
    // Repeating it is not an error, and adds no takedown.
    place.good(&["forget", "--url", "http://museum.example/"]);
    let again = place.good(&["forget", "--url", "https://museum.example"]);
    assert!(again.starts_with("takedown 1 of "), "{again}");
    assert_eq!(
        place.json(&["forget", "--list"])["rows"]
            .as_array()
            .expect("rows")
            .len(),
        1
    );
}

#[test]
fn an_older_capture_that_is_gone_does_not_keep_a_page_from_leaving() {
    let place = loaded();
    // The page has two versions, in separate files.
    let page = |date, title: &str| {
        let html = format!("<title>{title}</title>");
        fixture::warc(&[("http://two.example/", date, &html)])
    };
    place.write_old("old.warc", &page("2010-01-01T00:00:00Z", "Old"));
    place.write_old("new.warc", &page("2012-01-01T00:00:00Z", "New"));
    place.good(&["load", "old.warc", "new.warc"]);
    std::fs::remove_file(place.path("old.warc")).expect("removed");
    let run = place.run(&["forget", "--input", "new.warc"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stdout.contains("would become current, but cannot be read"),
        "{run:?}"
    );
    let pages = place.good(&["dump", "pages"]);
    assert!(!pages.contains("two)/"), "{pages}");
}

/// A page is taken down from real crawls, and no answer shows any trace of it, even after
/// everything is loaded again in another order.
#[test]
fn no_answer_has_a_trace_of_a_page_among_real_crawls() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    let place = Workspace::new();
    let url = format!("http://planted.example/{WORD}");
    let html = format!("<title>{WORD}</title><p>{WORD} words <a href='http://www.iana.org/'>{WORD}</a>");
    place.write_old(
        "planted.warc",
        &fixture::warc(&[(&url, "2014-02-02T00:00:00Z", &html)]),
    );
    let crawl = |name: &str| data.join("crawls").join(name).display().to_string();
    let (iana, hackfest) = (crawl("iana.warc.gz"), crawl("hackfest.warc.gz"));
    let losses = |arguments: &[&str]| {
        let run = place.run(arguments);
        assert!(matches!(run.code, Some(0 | 1)), "{run:?}");
    };
    losses(&["load", &iana, "planted.warc", &hackfest, "--facts-text"]);
    // The page itself, and the target of its link with this word.
    assert_eq!(place.json(&["search", WORD])["total"], 2);
    place.good(&["forget", "--url", &url]);
    let is_gone = || {
        for (view, rows) in VIEWS.iter().zip(dumps(&place)) {
            assert!(!rows.contains(WORD), "{view}");
        }
        assert!(!facts(&place).contains(WORD));
        assert_eq!(place.json(&["search", WORD])["total"], 0);
        assert_eq!(place.run(&["page", &url]).code, Some(1));
        let inlinks = place.good(&["inlinks", "http://www.iana.org/", "--json"]);
        assert!(!inlinks.contains(WORD), "{inlinks}");
        let cdx = place.run(&["cdx", "http://planted.example/*"]);
        assert!(!cdx.stdout.contains(WORD), "{cdx:?}");
        is_clean(&place);
    };
    is_gone();
    assert!(!files_with(&place.path("weft-archive"), WORD).is_empty());
    place.good(&["forget", "--purge"]);
    let no_files: [PathBuf; 0] = [];
    assert_eq!(files_with(&place.path("weft-archive"), WORD), no_files);
    is_gone();
    place.write_old(
        "renamed.warc",
        &fixture::warc(&[(&url, "2015-02-02T00:00:00Z", &html)]),
    );
    losses(&["load", &hackfest, "renamed.warc", "planted.warc", &iana]);
    is_gone();
    assert_eq!(files_with(&place.path("weft-archive"), WORD), no_files);
}

#[test]
fn the_name_of_a_package_takes_down_its_members() {
    let place = Workspace::new();
    let members: [(&str, &[u8]); 2] = [
        ("archive/one.warc", &fixture::small_web()),
        ("archive/other.warc", &fixture::other_web()),
    ];
    place.write_old("crawl.wacz", &zipped(&members, CompressionMethod::Stored));
    place.run(&["load", "crawl.wacz"]);
    let path = place.path("crawl.wacz").canonicalize().expect("a path");
    for (undone, name) in ["crawl.wacz", path.to_str().expect("text")]
        .into_iter()
        .enumerate()
    {
        place.good(&["forget", "--input", name]);
        assert_eq!(place.json(&["status"])["captures"], 0, "{name}");
        let again = place.run(&["load", "crawl.wacz"]);
        assert!(again.stdout.contains("2 taken down and not read"), "{again:?}");
        place.good(&["forget", "--undo", &(undone + 1).to_string()]);
        place.run(&["load", "crawl.wacz"]);
        assert_eq!(place.json(&["status"])["captures"], 6, "{name}");
    }
}

#[test]
fn an_input_that_is_taken_down_stays_out_when_it_has_grown() {
    let place = loaded();
    place.good(&["forget", "--input", "other.warc"]);
    let captures = place.good(&["dump", "captures"]);
    let mut grown = fixture::other_web();
    grown.extend(fixture::warc(&[(
        "http://more.example/",
        "2018-01-01T00:00:00Z",
        "<title>More</title>",
    )]));
    place.write_old("other.warc", &grown);
    place.good(&["load", "other.warc"]);
    assert_eq!(place.good(&["dump", "captures"]), captures);
    is_clean(&place);
    place.good(&["forget", "--undo", "1"]);
    place.good(&["load", "other.warc"]);
    assert!(place.good(&["dump", "captures"]).contains("more.example"));
    is_clean(&place);
}

/// A load starts up to 16 records before the place where it continues, because requests may be
/// there. After an undo it starts at the beginning of the file.
#[test]
fn a_long_input_that_was_taken_down_whole_comes_back() {
    let place = Workspace::new();
    place.write_old("many.warc", &many_pages(40));
    place.good(&["load", "many.warc"]);
    let before = dumps(&place);
    place.good(&["forget", "--input", "many.warc"]);
    place.good(&["forget", "--undo", "1"]);
    place.good(&["load", "many.warc"]);
    assert_eq!(dumps(&place), before);
    is_clean(&place);
}

/// Returns a WARC file with pages of one site.
fn many_pages(count: u64) -> Vec<u8> {
    let urls: Vec<String> = (0..count).map(|n| format!("http://many.example/{n}")).collect();
    let pages: Vec<(&str, &str, &str)> = urls
        .iter()
        .map(|url| {
            (
                url.as_str(),
                "2014-01-01T00:00:00Z",
                "<title>One of many</title><p>meadow",
            )
        })
        .collect();
    fixture::warc(&pages)
}

/// Words with different prefixes, so that none is hidden by prefix compression with another.
const PLANTED: [&str; 8] = [
    "hostqz7vkwone",
    "pathxj3mbwtwo",
    "titlevy8ckwthree",
    "textwf2gkwfour",
    "outkq5hzwfive",
    "headzr6tbwsix",
    "listyp4ngwseven",
    "lineuc9dlweight",
];

/// Searches every byte of the archive's directory, raw and decoded: the words are present before,
/// and absent after a purge.
#[test]
fn after_a_purge_no_byte_of_the_archive_holds_what_left() {
    let [host, path, title, text, out, head, listed, line] = PLANTED;
    let place = Workspace::new();
    let gone = format!("http://{host}.example/{path}");
    let html = format!(
        "<title>{title}</title><p>{} {text} <a href='http://keep.example/'>{out}</a>",
        "words of a page that is long enough to be compressed ".repeat(20)
    );
    let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Served: {head}\r\n\r\n{html}");
    let record = fixture::record(
        "response",
        &[
            ("WARC-Target-URI", &gone),
            ("WARC-Date", "2019-05-05T05:05:05Z"),
            ("Content-Type", "application/http; msgtype=response"),
        ],
        http.as_bytes(),
    );
    place.write_old("web.warc", &[fixture::small_web(), record].concat());
    place.write_old("other.warc", &fixture::other_web());
    let keep = fixture::warc(&[(
        "http://keep.example/",
        "2019-05-05T05:05:05Z",
        "<title>Keep</title>",
    )]);
    place.write_old("keep.warc", &keep);
    // Two versions, so that the page has a past one; and a line of an index.
    place.write_old(
        "older.warc",
        &fixture::warc(&[(
            &gone,
            "2018-05-05T05:05:05Z",
            &format!("<title>Older</title>{text} {listed}"),
        )]),
    );
    let index = format!("- 20170505050505 http://{host}.example/{line} text/html 200 - - 500 far.warc.gz\n");
    place.write_old("lines.cdx", index.as_bytes());
    for input in ["web.warc", "other.warc", "older.warc", "keep.warc", "lines.cdx"] {
        place.good(&["load", input, "--facts-text"]);
    }
    let archive = place.path("weft-archive");
    let before = files_holding(&archive, &PLANTED);
    for word in PLANTED {
        // An archive keeps only the media type from an HTTP header.
        let is_kept = before.iter().any(|(_, found)| *found == word);
        assert_eq!(is_kept, word != head, "{word}: {before:?}");
    }
    place.good(&["forget", "--prefix", &format!("http://{host}.example/")]);
    let said = place.good(&["forget", "--purge"]);
    assert!(
        said.contains("no file of the archive's directory contains removed data"),
        "{said}"
    );
    assert_eq!(files_holding(&archive, &PLANTED), []);
    assert_eq!(stray_segments(&archive.join("search")), [""; 0]);
    is_clean(&place);
    assert_eq!(place.json(&["search", "keep"])["total"], 1);
}

/// A remaining page that links to removed content keeps its link with its anchor, as documented.
#[test]
fn a_purge_leaves_the_anchors_of_pages_that_stay() {
    let [host, path, title, text, out, ..] = PLANTED;
    let place = Workspace::new();
    let gone = format!("http://{host}.example/");
    let html = format!("<title>Stays</title><a href='{gone}'>{out}</a>");
    place.write_old(
        "web.warc",
        &fixture::warc(&[
            (
                &gone,
                "2019-05-05T05:05:05Z",
                &format!("<title>{title}</title>{text}"),
            ),
            (
                &format!("http://keep.example/{path}"),
                "2019-05-05T05:05:05Z",
                &html,
            ),
        ]),
    );
    place.good(&["load", "web.warc"]);
    place.good(&["forget", "--url", &gone]);
    place.good(&["forget", "--purge"]);
    let archive = place.path("weft-archive");
    assert_eq!(files_holding(&archive, &[title, text]), []);
    for stays in [host, out, path] {
        assert!(!files_holding(&archive, &[stays]).is_empty(), "{stays}");
    }
    let inlinks = place.good(&["inlinks", &gone]);
    assert!(inlinks.contains(out), "{inlinks}");
}

#[test]
fn a_purge_names_uploaded_files_that_have_what_is_taken_down() {
    let place = Workspace::new();
    place.write_old("other.warc", &fixture::other_web());
    place.good(&["load", "other.warc"]);
    let upload = "weft-archive/uploads/up.warc";
    place.write_old(upload, &fixture::small_web());
    place.good(&["load", upload, "--collection", "interviews"]);
    place.good(&["forget", "--purge"]);
    place.good(&["forget", "--url", "http://museum.example/maps"]);
    place.write_old("weft-archive/uploads/cut.wacz", b"PK\x03\x04");
    let run = place.run(&["forget", "--purge"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    for expected in [
        "the purge is incomplete",
        "uploads/up.warc has 1 record taken down",
        "uploads/cut.wacz cannot be read",
    ] {
        assert!(run.stdout.contains(expected), "{expected}: {run:?}");
    }
    // Replaced by copies, the files have nothing of it.
    std::fs::remove_file(place.path("weft-archive/uploads/cut.wacz")).expect("remove");
    place.good(&["redact", upload, "copy.warc"]);
    place.good(&["forget", "--input", upload]);
    let copy = std::fs::read(place.path("copy.warc")).expect("the copy");
    place.write_old(upload, &copy);
    place.good(&["load", upload]);
    let purged = place.good(&["forget", "--purge"]);
    assert!(
        purged.contains("no file of the archive's directory contains removed data"),
        "{purged}"
    );
    assert!(!purged.contains("still contain"), "{purged}");
    assert_eq!(place.json(&["status"])["captures"], 5);
    // The copy has the label of the file that it replaces, and so its rules.
    let ledger = place.good(&["status", "--ledger"]);
    let is_copy = |line: &&str| line.contains("up.warc") && line.contains(" done ");
    let copy = ledger.lines().find(is_copy).expect("the copy");
    assert!(copy.contains("interviews"), "{ledger}");
}

#[test]
fn a_purge_names_inputs_that_still_contain_what_is_taken_down() {
    let place = loaded();
    place.good(&["forget", "--url", "http://museum.example/maps"]);
    let purged = place.good(&["forget", "--purge"]);
    assert!(
        purged.ends_with(
            "1 input still contains removed captures: weft redact writes copies without them\n  web.warc\n"
        ),
        "{purged}"
    );
    assert_eq!(place.json(&["forget", "--purge"])["inputs"][0], "web.warc");
    // The file is gone, so nothing contains them.
    std::fs::remove_file(place.path("web.warc")).expect("remove");
    let purged = place.good(&["forget", "--purge"]);
    assert!(!purged.contains("still contain"), "{purged}");
}

/// The documents say to replace a file by a copy without the captures.
#[test]
fn a_purge_does_not_name_an_input_that_a_copy_replaced() {
    let place = loaded();
    place.good(&["forget", "--url", "http://museum.example/maps"]);
    place.good(&["redact", "web.warc", "copy.warc"]);
    let copy = std::fs::read(place.path("copy.warc")).expect("the copy");
    place.write_old("web.warc", &copy);
    place.good(&["load", "web.warc"]);
    let purged = place.good(&["forget", "--purge"]);
    assert!(!purged.contains("still contain"), "{purged}");
    // The first file is back.
    place.write_old("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc"]);
    let purged = place.good(&["forget", "--purge"]);
    assert!(purged.contains("1 input still contains"), "{purged}");
}

#[test]
fn an_uploaded_file_is_deleted_with_its_last_input() {
    let place = Workspace::new();
    place.write_old("bad.warc", b"no record");
    place.write_old("other.warc", &fixture::other_web());
    place.run(&["load", "bad.warc", "other.warc"]);
    let uploads = "weft-archive/uploads";
    let warc = fixture::small_web();
    place.write_old(&format!("{uploads}/none.warc"), b"no record at all");
    place.write_old(&format!("{uploads}/cut.wacz"), b"PK\x03\x04");
    // A package of which one list of pages failed, and the records were loaded.
    let pages: [(&str, &[u8]); 2] = [("archive/x.warc", &warc), ("pages/pages.jsonl", b"no page\n")];
    let package = zipped(&pages, CompressionMethod::Stored);
    place.write_old(&format!("{uploads}/part.wacz"), &package);
    let run = place.run(&["load", uploads]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let run = place.run(&["forget", "--failed"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("removed the uploaded file"), "{run:?}");
    let there = |name: &str| place.path(&format!("{uploads}/{name}")).exists();
    assert!(!there("none.warc") && !there("cut.wacz") && there("part.wacz"));
    assert!(place.path("bad.warc").exists(), "it is not the archive's");
    assert_eq!(place.json(&["status"])["captures"], 6);
}
