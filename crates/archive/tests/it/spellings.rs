//! URLs that differ only in case have one key, and may be different pages.

use archive::Archive;
use archive::question::{
    Calendar, CdxQuestion, Check, Diff, LoadRequest, MatchType, Page, Record, SearchQuestion,
};
use cdx::Order;

use crate::data::{self, load, own};

const UPPER: &str = "http://pictures.example/a/pCL4f";
const LOWER: &str = "http://pictures.example/a/pcL4f";
const THIRD: &str = "http://pictures.example/a/PCL4F";

/// Captures of three pages, two of them at the same moment; the second page has changed once.
const CAPTURES: [(&str, &str, &str); 5] = [
    (UPPER, "2020-06-01T12:00:00Z", "upperword"),
    (LOWER, "2020-06-01T12:00:00Z", "youngword"),
    (LOWER, "2020-07-01T12:00:00Z", "lowerword"),
    (THIRD, "2020-06-01T12:00:00Z", "thirdword"),
    (UPPER, "2020-08-01T12:00:00Z", "upperword"),
];

fn record(url: &str, date: &str, word: &str) -> String {
    let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>{word}</title>{word}");
    data::response(url, date, "", &http)
}

/// Loads all captures from one file, or each from its own file in an order.
fn loaded(dir: &std::path::Path, order: Option<[usize; 5]>) -> Archive {
    let archive = own(&dir.join("archive"));
    let records = CAPTURES.map(|(url, date, word)| record(url, date, word));
    let inputs = match order {
        None => vec![vec![data::write(dir, "all", &records.concat())]],
        Some(order) => order
            .map(|number| vec![data::write(dir, &number.to_string(), &records[number])])
            .to_vec(),
    };
    for inputs in inputs {
        let request = LoadRequest {
            inputs,
            ..LoadRequest::default()
        };
        load(&archive, &request);
    }
    archive
}

fn found(archive: &Archive, query: &str) -> Vec<(String, String)> {
    let question = SearchQuestion {
        query: query.into(),
        limit: 100,
        ..SearchQuestion::default()
    };
    let hits = archive.ask(question).unwrap().body.hits;
    let mut found: Vec<_> = hits.into_iter().map(|hit| (hit.url, hit.title)).collect();
    found.sort();
    found
}

#[track_caller]
fn check_found(archive: &Archive, query: &str, expected: &[(&str, &str)]) {
    let found = found(archive, query);
    let found: Vec<_> = found
        .iter()
        .map(|(url, title)| (url.as_str(), title.as_str()))
        .collect();
    assert_eq!(found, expected, "{query}");
}

#[test]
fn each_page_is_found_and_shown_by_its_own_address() {
    for order in [
        None,
        Some([0, 1, 2, 3, 4]),
        Some([4, 3, 2, 1, 0]),
        Some([2, 4, 0, 3, 1]),
    ] {
        let home = tempfile::tempdir().unwrap();
        let archive = loaded(home.path(), order);
        check_found(&archive, "upperword", &[(UPPER, "upperword")]);
        check_found(&archive, "lowerword", &[(LOWER, "lowerword")]);
        check_found(&archive, "thirdword", &[(THIRD, "thirdword")]);
        // It has changed since.
        check_found(&archive, "youngword", &[]);
        check_found(&archive, "youngword at:2020-06", &[(LOWER, "youngword")]);
        for (url, at, time, title) in [
            (UPPER, None, "20200801120000", "upperword"),
            (LOWER, None, "20200701120000", "lowerword"),
            (LOWER, Some("20200801"), "20200701120000", "lowerword"),
            (LOWER, Some("2010"), "20200601120000", "lowerword"),
            (THIRD, Some("20200801"), "20200601120000", "thirdword"),
            (
                "https://www.pictures.example/a/PCL4F/",
                None,
                "20200601120000",
                "thirdword",
            ),
        ] {
            let question = Record {
                url: url.into(),
                at: at.map(str::to_owned),
                capture: None,
                fuzzy: false,
                with_content: false,
            };
            let capture = archive.ask(question).unwrap().body.capture;
            assert_eq!(capture.timestamp, time, "{url} at {at:?}");
            let page = archive.ask(Page { url: url.into() }).unwrap().body;
            assert_eq!(
                (page.title.as_str(), page.url.as_str()),
                (title, capture.url.as_str())
            );
            assert_eq!(page.text_preview, title);
            assert!(page.is_page && page.captured);
        }
        // An address that was never captured means the page of its key.
        let page = archive
            .ask(Page {
                url: LOWER.to_lowercase(),
            })
            .unwrap()
            .body;
        assert_eq!(page.url, UPPER);
        let lower = archive.ask(Page { url: LOWER.into() }).unwrap().body;
        assert_eq!(lower.past_versions.len(), 1);
        assert_eq!(lower.past_versions[0].title, "youngword");
        assert_eq!(lower.captures[0].url, LOWER);
        let diff = Diff {
            url: LOWER.into(),
            ..Diff::default()
        };
        let diff = archive.ask(diff).unwrap().body;
        assert_eq!(
            (diff.from.title.as_str(), diff.to.title.as_str()),
            ("youngword", "lowerword")
        );
        let calendar = archive
            .ask(Calendar {
                url: LOWER.into(),
                around: None,
            })
            .unwrap()
            .body;
        assert_eq!(calendar.captures, 2);
        let check = archive.ask(Check::default()).unwrap().body;
        assert!(check.damages.is_empty(), "{check:?}");
    }
}

#[test]
fn captures_of_the_very_url_come_first_from_a_time() {
    let home = tempfile::tempdir().unwrap();
    let archive = loaded(home.path(), None);
    let expected = [LOWER, LOWER, UPPER, UPPER, THIRD];
    for limit in [1, 2, 3, 5] {
        let mut question = CdxQuestion {
            url: LOWER.into(),
            match_type: MatchType::Exact,
            order: Order::Closest("20200801120000".into()),
            limit,
            ..CdxQuestion::default()
        };
        let mut urls = Vec::new();
        loop {
            let body = archive.ask(question.clone()).unwrap().body;
            urls.extend(body.rows.into_iter().map(|row| row.url));
            match body.next {
                None => break,
                next => question.after = next,
            }
        }
        urls[3..].sort();
        let mut wanted = expected;
        wanted[3..].sort_unstable();
        assert_eq!(urls, wanted, "{limit} a page");
    }
    // In the order of time, the captures are those of the key.
    let question = CdxQuestion {
        url: LOWER.into(),
        ..CdxQuestion::default()
    };
    assert_eq!(archive.ask(question).unwrap().body.rows.len(), 5);
}

/// A server that ignores case returns one page, which had two addresses.
#[test]
fn spellings_with_one_content_are_one_page() {
    let home = tempfile::tempdir().unwrap();
    let archive = own(&home.path().join("archive"));
    let records = [
        record(UPPER, "2020-06-01T12:00:00Z", "oldword"),
        record(LOWER, "2020-07-01T12:00:00Z", "oldword"),
        record(LOWER, "2020-08-01T12:00:00Z", "newword"),
    ];
    let request = LoadRequest {
        inputs: vec![data::write(home.path(), "one", &records.concat())],
        ..LoadRequest::default()
    };
    load(&archive, &request);
    check_found(&archive, "oldword", &[]);
    check_found(&archive, "newword", &[(LOWER, "newword")]);
}
