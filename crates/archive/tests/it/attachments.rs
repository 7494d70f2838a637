//! What crawlers add to a page: it is listed and read by the URL of the page, hidden and taken down
//! with it, and no capture.

use std::io::Read as _;
use std::path::Path;

use access::Groups;
use archive::question::{
    Attachments, AttachmentsBody, CdxQuestion, LoadRequest, MatchType, Page, Record, SearchQuestion,
    TakeDown, TakedownSelector, UndoTakedown,
};
use archive::{Archive, ErrorCode, Interrupt, open_record};

use crate::data::{self, load, own, status};

const PAGE: &str = "http://example.org/page";

fn resource(url: &str, date: &str, mime: &str, body: &str) -> String {
    format!(
        "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n\
         WARC-Date: {date}\r\nWARC-Target-URI: {url}\r\nContent-Type: {mime}\r\nContent-Length: {}\r\n\r\n\
         {body}\r\n\r\n",
        body.len()
    )
}

/// Returns a page and four attachments, as crawlers write them.
fn crawl(year: u32) -> String {
    let date = |second: u32| format!("{year}-03-11T10:00:0{second}Z");
    let html =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>River</title>more words than rendered";
    let text = format!("rendered in {year}");
    [
        data::response(PAGE, &date(0), "", html),
        resource(&format!("urn:text:{PAGE}"), &date(1), "text/plain", &text),
        resource(&format!("urn:thumbnail:{PAGE}"), &date(1), "image/png", "png"),
        resource(
            &format!("urn:pageinfo:{PAGE}"),
            &date(1),
            "application/json",
            "{}",
        ),
        data::response(
            "file:///provenance-summary.html",
            &date(2),
            &format!("WARC-Refers-To-Target-URI: {PAGE}\r\n"),
            html,
        ),
    ]
    .concat()
}

fn load_crawl(archive: &Archive, dir: &Path, year: u32) {
    let request = LoadRequest {
        inputs: vec![data::write(dir, &year.to_string(), &crawl(year))],
        ..LoadRequest::default()
    };
    load(archive, &request);
}

fn loaded(dir: &Path) -> Archive {
    let archive = own(&dir.join("archive"));
    load_crawl(&archive, dir, 2014);
    load_crawl(&archive, dir, 2016);
    archive
}

fn attachments(archive: &Archive, url: &str, at: Option<&str>) -> AttachmentsBody {
    let question = Attachments {
        url: url.to_owned(),
        at: at.map(str::to_owned),
    };
    archive.ask(question).unwrap().body
}

fn kinds(archive: &Archive, url: &str, at: Option<&str>) -> Vec<&'static str> {
    let rows = attachments(archive, url, at).rows;
    let mut kinds: Vec<&str> = rows.iter().map(|row| row.kind.name()).collect();
    kinds.sort_unstable();
    kinds
}

fn by_address(url: &str, at: Option<&str>) -> Record {
    Record {
        url: url.to_owned(),
        at: at.map(str::to_owned),
        ..Record::default()
    }
}

fn by_name(name: String) -> Record {
    Record {
        url: PAGE.to_owned(),
        capture: Some(name),
        ..Record::default()
    }
}

fn block_of(archive: &Archive, question: Record) -> String {
    let found = archive.ask(question).unwrap().body;
    let mut record = open_record(archive.sources(), &found, &Interrupt::new()).unwrap();
    let mut block = String::new();
    record.read_to_string(&mut block).unwrap();
    block
}

#[test]
fn attachments_are_listed_by_their_page_and_are_no_captures() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(dir.path());
    let status = status(&archive);
    assert_eq!(
        (status.captures, status.attachments, status.index_lines),
        (2, 8, 0)
    );
    let all = attachments(&archive, PAGE, None);
    assert_eq!((all.url_key.as_str(), all.rows.len()), ("org,example)/page", 8));
    assert!(all.rows[0].capture.fetch_time.starts_with("2016") && !all.rows[0].capture.index_only);
    let each = ["page-info", "provenance", "text", "thumbnail"];
    for at in ["2014", "201403111000", "20160311100001"] {
        assert_eq!(kinds(&archive, PAGE, Some(at)), each, "{at}");
        let rows = attachments(&archive, PAGE, Some(at)).rows;
        assert!(
            rows.iter()
                .all(|row| row.capture.fetch_time.starts_with(&at[..4])),
            "{at}: {rows:?}"
        );
    }
    for row in &all.rows {
        let is_response = row.capture.url.starts_with("file:");
        let kind = if is_response { "response" } else { "resource" };
        assert_eq!(row.capture.kind.name(), kind, "{row:?}");
    }
    let page = archive.ask(Page { url: PAGE.into() }).unwrap().body;
    assert_eq!((page.captures.len(), page.attachments), (2, all.rows));
    let question = CdxQuestion {
        url: "http://example.org/".into(),
        match_type: MatchType::Prefix,
        limit: 100,
        ..CdxQuestion::default()
    };
    assert_eq!(archive.ask(question).unwrap().body.rows.len(), 2);
    for view in data::VIEWS {
        assert!(!data::dump(&archive, view).contains("urn:"), "{view}");
    }
    assert!(kinds(&archive, "http://example.org/", None).is_empty());
}

#[test]
fn records_of_attachments_are_found_by_address_and_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(dir.path());
    for (url, at, expected) in [
        ("urn:text:http://example.org/page", None, "rendered in 2016"),
        (
            "urn:text:http://example.org/page",
            Some("2014"),
            "rendered in 2014",
        ),
        ("urn:text:https://www.example.org/page", None, "rendered in 2016"),
        ("urn:pageinfo:http://example.org/page", None, "{}"),
    ] {
        assert_eq!(block_of(&archive, by_address(url, at)), expected, "{url}");
    }
    for row in attachments(&archive, PAGE, None).rows {
        let name = row.capture.name();
        assert!(!block_of(&archive, by_name(name.clone())).is_empty(), "{name}");
    }
    let code = |question: Record| archive.ask(question).unwrap_err().code;
    assert_eq!(
        code(by_address("urn:view:http://example.org/page", None)),
        ErrorCode::NotFound
    );
    // Replay asks in this way.
    let replayed = Record {
        fuzzy: true,
        with_content: false,
        ..by_address("urn:text:http://example.org/page", None)
    };
    assert_eq!(code(replayed), ErrorCode::NotFound);
}

#[test]
fn rules_that_hide_the_page_hide_its_attachments() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(dir.path());
    let public = archive.seen_by(Groups::public());
    let names: Vec<String> = attachments(&archive, PAGE, None)
        .rows
        .iter()
        .map(|row| row.capture.name())
        .collect();
    for (condition, expected) in [
        ("mime = \"image/gif\"", 8),
        ("mime = \"image/*\"", 6),
        ("mime = \"text/html\"", 0),
        ("url = \"org,example)/page\"", 0),
        ("to = \"2014\"", 4),
    ] {
        let rules = format!("strict = true\n[[rule]]\naccess = \"deny\"\n{condition}\n");
        std::fs::write(archive.rights_path(), rules).unwrap();
        assert_eq!(kinds(&public, PAGE, None).len(), expected, "{condition}");
        let found = names
            .iter()
            .filter(|name| public.ask(by_name((*name).clone())).is_ok())
            .count();
        assert_eq!(found, expected, "{condition}");
        let address = by_address("urn:text:http://example.org/page", Some("2016"));
        assert_eq!(public.ask(address).is_ok(), expected > 0, "{condition}");
    }
}

/// Returns address and time of the thumbnail of the first result.
fn thumbnail_found(archive: &Archive, query: &str) -> Option<String> {
    let question = SearchQuestion {
        query: query.to_owned(),
        limit: 10,
        ..SearchQuestion::default()
    };
    let hits = archive.ask(question).unwrap().body.hits;
    let thumbnail = hits.into_iter().next().and_then(|hit| hit.thumbnail)?;
    Some(format!("{} {}", thumbnail.url, thumbnail.timestamp))
}

#[test]
fn a_search_result_has_the_thumbnail_of_its_capture() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(dir.path());
    let newest = Some(format!("urn:thumbnail:{PAGE} 20160311100001"));
    assert_eq!(thumbnail_found(&archive, "words"), newest);
    let public = archive.seen_by(Groups::public());
    for (condition, is_shown) in [
        ("mime = \"image/gif\"", true),
        ("mime = \"image/*\"", false),
        ("mime = \"text/html\"", false),
        ("to = \"2014\"", true),
    ] {
        let rules = format!("strict = true\n[[rule]]\naccess = \"deny\"\n{condition}\n");
        std::fs::write(archive.rights_path(), rules).unwrap();
        let expected = newest.clone().filter(|_| is_shown);
        assert_eq!(thumbnail_found(&public, "words"), expected, "{condition}");
    }
}

#[test]
fn takedown_of_the_page_takes_its_attachments() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(dir.path());
    let take_down = |dry_run| TakeDown {
        takes: TakedownSelector::Url(PAGE.into()),
        who: "test".into(),
        reason: String::new(),
        dry_run,
        limit: 0,
    };
    for dry_run in [true, false] {
        assert_eq!(archive.ask(take_down(dry_run)).unwrap().body.captures, 10);
    }
    // A file that comes later is kept out, too.
    load_crawl(&archive, dir.path(), 2018);
    let after = status(&archive);
    assert_eq!((after.attachments, after.captures_taken_down), (0, 15));
    assert!(kinds(&archive, PAGE, None).is_empty());
    let address = by_address("urn:text:http://example.org/page", None);
    assert_eq!(archive.ask(address).unwrap_err().code, ErrorCode::NotFound);
    let undo = UndoTakedown {
        id: 1,
        who: "test".into(),
    };
    archive.ask(undo).unwrap();
    for year in [2014, 2016, 2018] {
        load_crawl(&archive, dir.path(), year);
    }
    assert_eq!(kinds(&archive, PAGE, None).len(), 12);
    assert_eq!(status(&archive).captures_taken_down, 0);
}

#[test]
fn attachments_of_several_crawlers() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(root.path());
    let job = load(
        &archive,
        &data::request(&shared, &["field/c67-attachments.warc.gz"]),
    );
    // Two records do not say which page they belong to.
    assert_eq!((job.records, job.captures, job.attachments), (9, 1, 5));
    for (url, expected) in [
        (
            "https://c67.example/",
            &["other", "page-info", "screenshot", "text"][..],
        ),
        ("https://c67.example/?utf8=\u{2713}", &["screenshot"][..]),
    ] {
        assert_eq!(kinds(&archive, url, None), expected, "{url}");
    }
    let text = block_of(&archive, by_address("urn:text:https://c67.example/", None));
    assert_eq!(text, "extracted text of the rendered page: renderedonlyword");
}
