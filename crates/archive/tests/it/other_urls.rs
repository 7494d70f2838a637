//! A revisit of another URL is a version of the URL it was made from, with the content of its
//! original.

use std::path::Path;

use access::Groups;
use archive::Archive;
use archive::question::{Page, PageBody, Record, SearchQuestion, TakeDown, TakedownSelector};
use export::Subset;

use crate::data::{self, load, own};

/// Occurs only in the text of the original.
const WORD: &str = "vellichor";

fn original() -> String {
    let http = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><head><title>River</title></head><body>{WORD} \
         <a href=\"http://c.example/\">see</a></body></html>"
    );
    data::response("http://a.example/", "2014-03-11T10:00:00Z", &digest(), &http)
}

fn digest() -> String {
    format!("WARC-Payload-Digest: sha1:{}\r\n", "D".repeat(32))
}

fn revisit(url: &str, fields: &str) -> String {
    let http = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    format!(
        "WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2014-03-12T10:00:00Z\r\n\
         WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n{fields}\
         Content-Type: application/http;msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
        http.len()
    )
}

fn revisits() -> String {
    let named =
        "WARC-Refers-To-Target-URI: http://a.example/\r\nWARC-Refers-To-Date: 2014-03-11T10:00:00Z\r\n";
    [
        revisit("http://named.example/", named),
        revisit("http://alike.example/", &digest()),
        revisit("http://a.example/", &digest()),
        revisit("http://nothing.example/", ""),
    ]
    .concat()
}

/// Loads inputs in this order.
fn loaded(dir: &Path, inputs: &[(&str, String)]) -> Archive {
    let archive = own(dir);
    for (name, records) in inputs {
        std::fs::write(dir.join(name), records).unwrap();
        load(&archive, &data::request(dir, &[name]));
    }
    archive
}

fn page(archive: &Archive, url: &str) -> PageBody {
    archive.ask(Page { url: url.into() }).unwrap().body
}

fn found(archive: &Archive) -> u64 {
    let search = SearchQuestion {
        query: WORD.into(),
        limit: 10,
        ..SearchQuestion::default()
    };
    archive
        .seen_by(Groups::public())
        .ask(search)
        .unwrap()
        .body
        .summary
        .total
}

#[test]
fn a_revisit_of_another_url_is_a_version_of_its_own_whichever_is_loaded_first() {
    let mut dumps = Vec::new();
    for is_original_first in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let mut inputs = vec![("a.warc", original()), ("b.warc", revisits())];
        if !is_original_first {
            inputs.reverse();
        }
        let archive = loaded(dir.path(), &inputs);
        for url in [
            "http://a.example/",
            "http://named.example/",
            "http://alike.example/",
        ] {
            let page = page(&archive, url);
            assert_eq!(
                (page.is_page, page.title.as_str(), page.status, page.links),
                (true, "River", 200, 1),
                "{url}"
            );
        }
        let own = page(&archive, "http://a.example/");
        assert_eq!(own.fetch_time.as_deref(), Some("2014-03-11T10:00:00.000Z"));
        assert_eq!(own.last_seen.as_deref(), Some("2014-03-12T10:00:00.000Z"));
        assert!(!page(&archive, "http://nothing.example/").is_page);
        assert_eq!(found(&archive), 3);
        dumps.push(["pages", "links", "uris", "domains", "top"].map(|view| data::dump(&archive, view)));
    }
    assert_eq!(dumps[0], dumps[1]);
}

/// If the original is hidden from a client, under any kind of rule, the revisit's version is hidden
/// too.
#[test]
fn what_hides_the_original_hides_the_versions_that_have_its_content() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(dir.path(), &[("b.warc", revisits()), ("a.warc", original())]);
    for (condition, expected) in [
        ("url = \"example,nothing)/\"", 3),
        ("url = \"example,a)/\"", 0),
        ("url = \"example,named)/\"", 2),
        ("digest = \"DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD\"", 0),
    ] {
        let rule = format!("strict = true\n[[rule]]\naccess = \"deny\"\n{condition}\n");
        std::fs::write(archive.rights_path(), rule).unwrap();
        assert_eq!(found(&archive), expected, "{condition}");
        let shown = archive.seen_by(Groups::public()).ask(Page {
            url: "http://alike.example/".into(),
        });
        let text = shown.map_or_else(|error| error.to_string(), |shown| format!("{:?}", shown.body));
        assert_eq!(text.contains("River"), expected > 0, "{condition}: {text}");
    }
}

#[test]
fn pages_that_field_files_have_as_revisits_alone_are_pages() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    if !shared.join("field").exists() {
        println!("skipped: no field in {}", shared.display());
        return;
    }
    for (name, pages) in [
        ("field/c68-revisit-pages.warc.gz", 3),
        ("field/c26-digests.warc.gz", 9),
        ("field/c61-unresolvable-revisit.warc.gz", 4),
        ("field/c69-two-urls.warc.gz", 3),
    ] {
        let root = tempfile::tempdir().unwrap();
        let archive = own(root.path());
        load(&archive, &data::request(&shared, &[name]));
        let found = data::dump(&archive, "pages");
        assert_eq!(found.lines().count(), pages, "{name}: {found}");
    }
}

/// An export contains the original of the version, not another capture of the same bytes, so that
/// loading it gives the same pages.
#[test]
fn an_export_brings_the_original_of_the_version() {
    let dir = tempfile::tempdir().unwrap();
    let page_of = |url: &str, date: &str, title: &str, headers: &str| {
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>{title}</title>");
        data::response(url, date, headers, &http)
    };
    let own = "http://own.example/";
    let named =
        "WARC-Refers-To-Target-URI: http://a.example/\r\nWARC-Refers-To-Date: 2014-03-11T10:00:00Z\r\n";
    let records = [
        page_of(own, "2014-01-01T00:00:00Z", "River", &digest()),
        page_of(own, "2014-02-01T00:00:00Z", "Another", ""),
        page_of("http://a.example/", "2014-03-11T10:00:00Z", "River", &digest()),
        revisit(own, &format!("{named}{}", digest())),
    ];
    let archive = loaded(dir.path(), &[("a.warc", records.concat())]);
    assert_eq!(page(&archive, own).title, "River");
    let subset = Subset::Part {
        url_prefix: Some(own.to_owned()),
        collection: None,
    };
    let mut out = Vec::new();
    let exported = export::write_warc(&archive, &subset, false, &mut out, &mut |_| true);
    assert_eq!(exported.unwrap().results, 4);
    std::fs::write(dir.path().join("again.warc.gz"), out).unwrap();
    let again = crate::data::own(&dir.path().join("again"));
    load(&again, &data::request(dir.path(), &["again.warc.gz"]));
    assert_eq!(
        (page(&again, own).title, page(&again, own).fetch_time),
        (page(&archive, own).title, page(&archive, own).fetch_time)
    );
}

/// An unmodified page has the content of its original, not of an error in between.
#[test]
fn a_revisit_of_status_304_is_shown_with_what_it_refers_to() {
    let dir = tempfile::tempdir().unwrap();
    let url = "http://a.example/";
    let missing = data::response(
        url,
        "2014-03-12T09:00:00Z",
        "",
        "HTTP/1.1 404 Not Found\r\n\r\nno",
    );
    let named =
        "WARC-Refers-To-Target-URI: http://a.example/\r\nWARC-Refers-To-Date: 2014-03-11T10:00:00Z\r\n";
    let not_modified = revisit(url, named)
        .replace("200 OK", "304 No")
        .replace("identical-payload-digest", "server-not-modified");
    let archive = loaded(
        dir.path(),
        &[("a.warc", [original(), missing, not_modified].concat())],
    );
    let question = Record {
        url: url.into(),
        at: Some("20140312100000".into()),
        capture: None,
        fuzzy: false,
        with_content: false,
    };
    let record = archive.ask(question).unwrap().body;
    assert_eq!(record.capture.timestamp, "20140312100000");
    let original = record.original.expect("what it refers to");
    assert_eq!(
        (original.capture.timestamp.as_str(), original.capture.status),
        ("20140311100000", 200)
    );
}

/// A revisit without content is taken down with its original.
#[test]
fn what_is_taken_down_takes_the_versions_with_its_content_along() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(dir.path(), &[("b.warc", revisits()), ("a.warc", original())]);
    let question = TakeDown {
        takes: TakedownSelector::Inputs(vec!["a.warc".into()]),
        reason: String::new(),
        who: String::new(),
        dry_run: false,
        limit: 0,
    };
    archive.ask(question).unwrap();
    for url in ["http://named.example/", "http://alike.example/"] {
        assert!(!page(&archive, url).is_page, "{url}");
    }
    assert_eq!(found(&archive), 0);
}
