//! The text that a browser rendered of a page is searched if it has more words than the page's own,
//! in whichever order the two are loaded, and under the rights and takedowns of both.

use std::path::Path;

use access::Groups;
use archive::Archive;
use archive::question::{
    Check, LoadRequest, PageText, SearchHit, SearchQuestion, TakeDown, TakedownSelector, UndoTakedown,
};

use crate::data::{self, load, own};

const PAGE: &str = "http://example.org/page";

/// Occurs only in the rendered text.
const WORD: &str = "vellichor";

fn page(url: &str, time: &str, body: &str) -> String {
    let http =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>River</title><body>{body}</body>");
    data::response(url, time, "", &http)
}

fn text(url: &str, time: &str, body: &str) -> String {
    format!(
        "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n\
         WARC-Date: {time}\r\nWARC-Target-URI: urn:text:{url}\r\nContent-Type: text/plain\r\n\
         Content-Length: {}\r\n\r\n{body}\r\n\r\n",
        body.len()
    )
}

/// Loads an input into the collection of its name.
fn load_one(archive: &Archive, dir: &Path, name: &str, records: &str) {
    let request = LoadRequest {
        inputs: vec![data::write(dir, name, records)],
        collection: Some(name.to_owned()),
        ..LoadRequest::default()
    };
    load(archive, &request);
}

fn loaded(dir: &Path, inputs: &[(&str, &str)]) -> Archive {
    let archive = own(&dir.join("archive"));
    for (name, records) in inputs {
        load_one(&archive, dir, name, records);
    }
    archive
}

fn hits(archive: &Archive, word: &str) -> Vec<SearchHit> {
    let question = SearchQuestion {
        query: word.to_owned(),
        limit: 10,
        ..SearchQuestion::default()
    };
    archive.ask(question).unwrap().body.hits
}

/// Returns the snippets of the results.
fn found(archive: &Archive, word: &str) -> Vec<String> {
    let hits = hits(archive, word).into_iter();
    hits.map(|hit| hit.snippet.text()).collect()
}

fn make_search_again(archive: Archive, dir: &Path) -> Archive {
    drop(archive);
    std::fs::remove_dir_all(dir.join("archive").join("search")).unwrap();
    let archive = own(&dir.join("archive"));
    let damages = archive.ask(Check {}).unwrap().body.damages;
    assert_eq!(damages, []);
    archive
}

#[test]
fn the_text_of_a_page_of_scripts_is_found() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(root.path());
    load(
        &archive,
        &data::request(&shared, &["field/c67-attachments.warc.gz"]),
    );
    let expected = "extracted text of the rendered page: renderedonlyword";
    assert_eq!(found(&archive, "renderedonlyword"), [expected]);
    // The views have the text of the HTML.
    let text = PageText {
        url: "https://c67.example/".into(),
        ..PageText::default()
    };
    assert_eq!(archive.ask(text).unwrap().body.text, "");
}

/// A page with its captures, and a text that was rendered of it.
struct Case {
    what: &'static str,
    /// Time of the day and text; `None` if the page was not found.
    captures: &'static [(&'static str, Option<&'static str>)],
    /// First letter of the path, time of the day, and the words before the last one.
    rendered: (&'static str, &'static str, &'static str),
    is_found: bool,
}

const PLAIN: &[(&str, Option<&str>)] = &[("10:00:00", Some("plain words"))];
const LONG: &str = "several words that are";

static CASES: [Case; 9] = [
    Case {
        what: "more words",
        captures: PLAIN,
        rendered: ("p", "10:00:01", LONG),
        is_found: true,
    },
    Case {
        what: "a page without text",
        captures: &[("10:00:00", Some(""))],
        rendered: ("p", "10:00:01", "one"),
        is_found: true,
    },
    Case {
        what: "earlier than the page",
        captures: PLAIN,
        rendered: ("p", "09:59:50", LONG),
        is_found: true,
    },
    Case {
        what: "as many words",
        captures: &[("10:00:00", Some("plain words here and there"))],
        rendered: ("p", "10:00:01", LONG),
        is_found: false,
    },
    Case {
        what: "fewer words",
        captures: PLAIN,
        rendered: ("p", "10:00:01", ""),
        is_found: false,
    },
    Case {
        what: "more than an hour apart",
        captures: PLAIN,
        rendered: ("p", "11:00:01", LONG),
        is_found: false,
    },
    Case {
        what: "another spelling",
        captures: PLAIN,
        rendered: ("P", "10:00:01", LONG),
        is_found: false,
    },
    Case {
        what: "nearer to a version before",
        captures: &[("09:59:00", Some("old")), ("10:00:00", Some("plain words"))],
        rendered: ("p", "09:59:10", LONG),
        is_found: false,
    },
    Case {
        what: "nearer to an error",
        captures: &[("10:00:00", Some("plain words")), ("10:00:09", None)],
        rendered: ("p", "10:00:10", LONG),
        is_found: false,
    },
];

impl Case {
    fn pages(&self, number: usize) -> String {
        let url = format!("http://example.org/p{number}");
        let record = |(time, body): &(&str, Option<&str>)| {
            let time = format!("2016-03-11T{time}Z");
            match body {
                Some(body) => page(&url, &time, body),
                None => data::response(&url, &time, "", "HTTP/1.1 404 Not Found\r\n\r\n"),
            }
        };
        self.captures.iter().map(record).collect()
    }

    /// Returns the rendered text. Its last word is in no other.
    fn words(&self, number: usize) -> String {
        format!("{} {WORD}{number}", self.rendered.2).trim().to_owned()
    }

    fn text(&self, number: usize) -> String {
        let (letter, time, _) = self.rendered;
        let url = format!("http://example.org/{letter}{number}");
        text(&url, &format!("2016-03-11T{time}Z"), &self.words(number))
    }
}

#[test]
fn the_text_with_more_words_is_searched_if_it_belongs_to_the_current_version() {
    let cases = || (0..).zip(&CASES);
    let pages: String = cases().map(|(number, case)| case.pages(number)).collect();
    let texts: String = cases().map(|(number, case)| case.text(number)).collect();
    let (pages, texts) = (("pages", pages.as_str()), ("texts", texts.as_str()));
    for inputs in [[pages, texts], [texts, pages]] {
        let dir = tempfile::tempdir().unwrap();
        let archive = loaded(dir.path(), &inputs);
        for (number, case) in cases() {
            let expected = if case.is_found {
                vec![case.words(number)]
            } else {
                Vec::new()
            };
            let snippets = found(&archive, &format!("{WORD}{number}"));
            assert_eq!(snippets, expected, "{}, first {}", case.what, inputs[0].0);
        }
        let of_html = cases().filter(|(_, case)| !case.is_found).count();
        assert_eq!(hits(&archive, "plain").len(), of_html, "first {}", inputs[0].0);
    }
}

/// Each capture has its own text, and the hour before the current version has more than are read.
#[test]
fn a_page_captured_every_few_seconds_has_its_own_text() {
    let dir = tempfile::tempdir().unwrap();
    let mut records = String::new();
    for number in 0..150 {
        let second = number * 20;
        let time = |second: u32| format!("2016-03-11T10:{:02}:{:02}Z", second / 60, second % 60);
        records += &page(PAGE, &time(second), &format!("plain{number}"));
        records += &text(
            PAGE,
            &time(second + 1),
            &format!("several words and {WORD}{number}"),
        );
    }
    let archive = loaded(dir.path(), &[("pages", &records)]);
    assert_eq!(hits(&archive, &format!("{WORD}149")).len(), 1);
    assert_eq!(hits(&archive, &format!("{WORD}148")).len(), 0);
}

#[test]
fn a_version_that_comes_or_goes_changes_the_text() {
    let dir = tempfile::tempdir().unwrap();
    let old = page(PAGE, "2014-03-11T10:00:00Z", "plain words")
        + &text(
            PAGE,
            "2014-03-11T10:00:01Z",
            &format!("several words that are {WORD}"),
        );
    let archive = loaded(dir.path(), &[("old", &old)]);
    assert_eq!(hits(&archive, WORD).len(), 1);
    load_one(
        &archive,
        dir.path(),
        "new",
        &page(PAGE, "2016-03-11T10:00:00Z", "other words"),
    );
    // Past versions have the text of their HTML.
    assert_eq!(hits(&archive, WORD).len(), 0);
    let all = |query: &str| {
        let question = SearchQuestion {
            query: query.into(),
            limit: 10,
            all_versions: true,
            ..SearchQuestion::default()
        };
        archive.ask(question).unwrap().body.summary.total
    };
    assert_eq!((all(WORD), all("plain")), (0, 1));
    take_down(&archive, TakedownSelector::Collection("new".into()));
    assert_eq!(hits(&archive, WORD).len(), 1);
}

fn take_down(archive: &Archive, takes: TakedownSelector) {
    let question = TakeDown {
        takes,
        who: "test".into(),
        reason: String::new(),
        dry_run: false,
        limit: 0,
    };
    archive.ask(question).unwrap();
}

#[test]
fn a_takedown_takes_the_text_and_its_end_brings_it_back() {
    let page = page(PAGE, "2016-03-11T10:00:00Z", "plain words");
    let text = text(
        PAGE,
        "2016-03-11T10:00:01Z",
        &format!("several words that are {WORD}"),
    );
    for (takes, of_html) in [
        (TakedownSelector::Url(PAGE.into()), 0),
        (TakedownSelector::Prefix("http://example.org/".into()), 0),
        (TakedownSelector::Collection("pages".into()), 0),
        // Then the page has the text of its HTML again.
        (TakedownSelector::Collection("texts".into()), 1),
        (TakedownSelector::Inputs(vec!["texts.warc".into()]), 1),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let inputs = [("pages", page.as_str()), ("texts", text.as_str())];
        let mut archive = loaded(dir.path(), &inputs);
        assert_eq!(hits(&archive, WORD).len(), 1, "{takes:?}");
        take_down(&archive, takes.clone());
        for _ in 0..2 {
            let found = (hits(&archive, WORD).len(), hits(&archive, "plain").len());
            assert_eq!(found, (0, of_html), "{takes:?}");
            archive = make_search_again(archive, dir.path());
        }
        let undo = UndoTakedown {
            id: 1,
            who: "test".into(),
        };
        archive.ask(undo).unwrap();
        for (name, records) in inputs {
            load_one(&archive, dir.path(), name, records);
        }
        for _ in 0..2 {
            let found = (hits(&archive, WORD).len(), hits(&archive, "plain").len());
            assert_eq!(found, (1, 0), "{takes:?}");
            archive = make_search_again(archive, dir.path());
        }
    }
}

/// As for a text of another capture, both must be visible.
#[test]
fn rules_that_hide_the_page_or_the_text_hide_the_words() {
    let dir = tempfile::tempdir().unwrap();
    let page = page(PAGE, "2016-03-11T10:00:00Z", "plain words");
    let text = text(
        PAGE,
        "2016-03-11T10:00:01Z",
        &format!("several words that are {WORD}"),
    );
    let mut archive = loaded(dir.path(), &[("pages", &page), ("texts", &text)]);
    for when in ["loaded", "made again"] {
        for (condition, expected) in [
            ("mime = \"image/*\"", 1),
            ("mime = \"text/html\"", 0),
            ("mime = \"text/plain\"", 0),
            ("collection = \"pages\"", 0),
            ("collection = \"texts\"", 0),
            ("collection = \"others\"", 1),
            ("url = \"org,example)/page\"", 0),
            ("url = \"org,example)/other\"", 1),
            ("from = \"20160311100001\"", 0),
            ("to = \"20160311100000\"", 0),
            ("from = \"20160311100002\"", 1),
        ] {
            let rules = format!("strict = true\n[[rule]]\naccess = \"deny\"\n{condition}\n");
            std::fs::write(archive.rights_path(), rules).unwrap();
            let public = archive.seen_by(Groups::public());
            assert_eq!(hits(&public, WORD).len(), expected, "{when}: {condition}");
        }
        archive = make_search_again(archive, dir.path());
    }
}
