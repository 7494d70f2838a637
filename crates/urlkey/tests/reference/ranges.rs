//! Tests the ranges of a URL, a host and a domain.

use urlkey::{KeyError, KeyRange, MatchType, domain_ranges, url_key, url_ranges};

/// In key order.
const URLS: &[&str] = &[
    "http://com/",
    "http://example.com/",
    "http://example.com/a",
    "http://example.com/a/b",
    "http://example.com/ab",
    "http://example.com/a?x=1",
    "http://sub.example.com/",
    "http://sub.example.com:8080/",
    "http://example-x.com/",
    "http://example.com:8080/a",
    "http://examples.com/",
    "http://example.org/",
];

fn check(ranges: &[KeyRange], expected: &[&str]) {
    let belongs = |url: &&&str| {
        let key = url_key(url).expect("a key");
        ranges.iter().filter(|range| range.contains(&key)).count() == 1
    };
    let found: Vec<&str> = URLS.iter().filter(belongs).copied().collect();
    assert_eq!(found, expected);
    assert!(ranges.iter().all(|range| range.start < range.end));
    assert!(ranges.is_sorted_by(|a, b| a.end <= b.start));
}

fn check_url(url: &str, match_type: MatchType, expected: &[&str]) {
    check(&url_ranges(url, match_type).expect("a key"), expected);
}

#[test]
fn exact_and_prefix() {
    check_url(
        "http://www.example.com/a",
        MatchType::Exact,
        &["http://example.com/a"],
    );
    check_url(
        "http://example.com/a",
        MatchType::Prefix,
        &[
            "http://example.com/a",
            "http://example.com/a/b",
            "http://example.com/ab",
            "http://example.com/a?x=1",
        ],
    );
    check_url(
        "http://example.com/a/",
        MatchType::Prefix,
        &["http://example.com/a/b"],
    );
    check_url(
        "http://example.com/a?",
        MatchType::Prefix,
        &["http://example.com/a?x=1"],
    );
}

#[test]
fn host_at_any_port() {
    check_url(
        "http://example.com/zzz",
        MatchType::Host,
        &[
            "http://example.com/",
            "http://example.com/a",
            "http://example.com/a/b",
            "http://example.com/ab",
            "http://example.com/a?x=1",
            "http://example.com:8080/a",
        ],
    );
}

#[test]
fn domain_without_its_neighbours() {
    let expected = [
        "http://example.com/",
        "http://example.com/a",
        "http://example.com/a/b",
        "http://example.com/ab",
        "http://example.com/a?x=1",
        "http://sub.example.com/",
        "http://sub.example.com:8080/",
        "http://example.com:8080/a",
    ];
    check_url("http://example.com:99/", MatchType::Domain, &expected);
    check(&domain_ranges("example.com").expect("a host"), &expected);
}

#[test]
fn top_level_domain() {
    check(&domain_ranges("com").expect("a host"), &URLS[..URLS.len() - 1]);
}

#[test]
fn no_host_no_ranges() {
    assert_eq!(
        url_ranges("dns:example.com", MatchType::Host),
        Err(KeyError::NoHost)
    );
    assert_eq!(domain_ranges(""), Err(KeyError::NoHost));
}

#[test]
fn prefixes_that_end_in_the_last_character() {
    let ranges = url_ranges("x-y:\u{10ffff}", MatchType::Prefix).expect("a key");
    assert!(ranges[0].contains("x-y:\u{10ffff}\u{10ffff}"));
    assert!(!ranges[0].contains("x-y;"));
}
