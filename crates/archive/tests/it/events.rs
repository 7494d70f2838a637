//! Pages that match a query, month by month, and the order of results as of a time.

use std::path::Path;

use access::Groups;
use archive::Archive;
use archive::question::{EventPage, EventRow, Events, LoadRequest, SearchNoteKind, SearchQuestion};

use crate::data::{self, load, own};

/// URL, date and content. Page `two` is linked to in February, page `one` from March on.
const CAPTURES: [(&str, &str, &str); 8] = [
    ("http://one.org/", "2012-01-10", "flood"),
    ("http://one.org/", "2012-02-10", "flood storm"),
    ("http://one.org/", "2012-03-20", "flood storm"),
    ("http://two.org/", "2012-02-05", "flood water"),
    ("http://two.org/", "2012-04-01", "flood water"),
    (
        "http://three.org/",
        "2012-02-20",
        "see <a href=http://two.org/>here</a>",
    ),
    ("http://three.org/", "2012-03-05", "nothing to see"),
    (
        "http://four.org/",
        "2012-03-15",
        "see <a href=http://one.org/>here</a>",
    ),
];

fn loaded(dir: &Path) -> Archive {
    let record = |(url, date, body): (&str, &str, &str)| {
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
        data::response(url, &format!("{date}T00:00:00Z"), "", &http)
    };
    let records: String = CAPTURES.map(record).concat();
    let request = LoadRequest {
        inputs: vec![data::write(dir, "all", &records)],
        ..LoadRequest::default()
    };
    let archive = own(&dir.join("archive"));
    load(&archive, &request);
    archive
}

/// Returns a row in short form: versions, new ones, first pages, and in-links of linked pages.
fn told(row: &EventRow) -> String {
    let first = |page: &EventPage| format!("{} {}", page.url_key, &page.since[..10]);
    let linked = |page: &EventPage| format!("{} {}", page.url_key, page.inlinks_external.unwrap_or(0));
    let list = |pages: &[EventPage], told: &dyn Fn(&EventPage) -> String| {
        pages.iter().map(told).collect::<Vec<_>>().join(", ")
    };
    let new = row.new_versions.map_or("-".to_owned(), |new| new.to_string());
    let (first, linked) = (list(&row.first, &first), list(&row.linked, &linked));
    format!("{}: {} {new} [{first}] [{linked}]", row.period, row.versions)
}

#[track_caller]
fn check(archive: &Archive, query: &str, (from, to): (Option<&str>, Option<&str>), expected: &[&str]) {
    let question = Events {
        query: query.to_owned(),
        from: from.map(str::to_owned),
        to: to.map(str::to_owned),
    };
    let body = archive.ask(question).unwrap().body;
    let found: Vec<String> = body.rows.iter().map(told).collect();
    assert_eq!(found, expected, "{query}");
    assert!(!body.by_year);
}

#[test]
fn each_month_has_its_versions_its_first_pages_and_its_most_linked_ones() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(dir.path());
    let whole = [
        "2012-01: 1 1 [org,one)/ 2012-01-10] []",
        // Page `one` was found before.
        "2012-02: 2 2 [org,two)/ 2012-02-05] [org,two)/ 1]",
        "2012-03: 2 0 [] [org,one)/ 1]",
        "2012-04: 1 0 [] []",
    ];
    check(&archive, "flood from:2012-01 to:2012-04", (None, None), &whole);
    check(&archive, "flood", (Some("201201"), Some("201204")), &whole);
    let storm = [
        "2012-02: 1 1 [org,one)/ 2012-02-10] []",
        "2012-03: 1 0 [] [org,one)/ 1]",
    ];
    check(&archive, "storm from:2012-02 to:2012-03", (None, None), &storm);
    // No page has both words.
    check(&archive, "storm water", (None, None), &[]);
    check(&archive, "from:2012", (None, None), &[]);
    // Without a period, the years of the matches are counted.
    let open = archive.ask(Events {
        query: "flood".to_owned(),
        ..Events::default()
    });
    let open = open.unwrap().body;
    assert_eq!(open.rows.len(), 12);
    assert_eq!(told(&open.rows[11]), "2012-12: 0 0 [] []");
    let years = archive.ask(Events {
        query: "flood from:2005".to_owned(),
        ..Events::default()
    });
    let years = years.unwrap().body;
    assert!(years.by_year && years.rows.len() == 8);
    assert_eq!(
        told(&years.rows[7]),
        "2012: 3 3 [org,one)/ 2012-01-10, org,two)/ 2012-02-05] [org,one)/ 1]"
    );
}

#[test]
fn clients_from_whom_times_are_hidden_get_current_versions_without_links() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(dir.path());
    let rules = "[[rule]]\naccess = \"deny\"\nexcept = [\"staff\"]\nto = \"2012-01\"\n";
    std::fs::write(archive.rights_path(), rules).unwrap();
    let public = archive.seen_by(Groups::public());
    let expected = [
        "2012-01: 0 - [] []",
        "2012-02: 0 - [] []",
        "2012-03: 1 - [] []",
        "2012-04: 1 - [] []",
    ];
    check(&public, "flood from:2012-01 to:2012-04", (None, None), &expected);
    let body = public.ask(Events {
        query: "flood".to_owned(),
        ..Events::default()
    });
    let notes = body.unwrap().body.notes;
    assert_eq!(notes[0].kind, SearchNoteKind::PastVersionsLeftOut);
}

#[test]
fn results_at_a_time_are_ranked_by_the_in_links_of_that_time() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(dir.path());
    let check = |query: &str, expected: [&str; 2]| {
        let question = SearchQuestion {
            query: query.to_owned(),
            limit: 10,
            ..SearchQuestion::default()
        };
        let hits = archive.ask(question).unwrap().body.hits;
        let keys: Vec<&str> = hits.iter().map(|hit| hit.url_key.as_str()).collect();
        assert_eq!(keys, expected, "{query}");
    };
    check("flood", ["org,one)/", "org,two)/"]);
    check("flood at:2012-02", ["org,two)/", "org,one)/"]);
    // Nobody links to either, so their keys decide.
    check("flood at:2012-03-10", ["org,one)/", "org,two)/"]);
    check("flood at:2012-03", ["org,one)/", "org,two)/"]);
}
