//! Compares the fast path with the full path, and tests the invariants of keys.

use proptest::prelude::*;

use super::{append_key, url_key, url_key_into};
use crate::{
    KeyError, MatchType, domain_key_of_key, domain_of_host, domain_of_key, fast, host_of_key, host_of_url,
    url_ranges,
};

/// Pieces for random URLs; together they exercise every rule.
const PIECES: &[&str] = &[
    "http://",
    "https://",
    "HTTP://",
    "//",
    "/",
    ".",
    "..",
    "./",
    "../",
    "/.",
    "www",
    "www2.",
    "www.",
    "example",
    ".com",
    ".co.uk",
    "com",
    "192.168.1.1",
    "0x7f",
    "010",
    "3279880203",
    "[::1]",
    ":",
    ":80",
    ":443",
    ":8080",
    ":0",
    ":99999",
    "@",
    "?",
    "&",
    "=",
    "a=1",
    "b",
    "A",
    "Z=2",
    "#",
    "%",
    "%41",
    "%2",
    "%25",
    "%2f",
    "%e4",
    "%00",
    "ä",
    "ß",
    "。",
    " ",
    "\t",
    "\n",
    "(",
    ")",
    "/(0123456789abcdefghijklmn)/",
    "(s(0123456789abcdefghijklmn))/",
    "x.aspx",
    "sid=0123456789abcdef0123456789ABCDEF",
    "jsessionid=0123456789abcdef0123456789abcdef",
    "phpsessid=0123456789abcdef0123456789abcdef",
    "aspsessionidabcdefgh=abcdefghijklmnopqrstuvwx",
    "cfid=1&cftoken=2",
    "-",
    "_",
    "+",
    ",",
    ";",
    "~",
    "\u{7f}",
    "\0",
    "\u{10ffff}",
];

fn any_url() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        2 => "[a-zA-Z0-9]{1,4}",
    ];
    let text = prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat());
    (
        prop::sample::select(&[
            "",
            "http://",
            "https://",
            "http://example.com",
            "https://www.example.co.uk/",
        ]),
        text,
    )
        .prop_map(|(head, text)| format!("{head}{text}"))
}

/// URLs that the fast path should accept.
fn plain_url() -> impl Strategy<Value = String> {
    "https?://(www[0-9]{0,2}\\.)?([a-zA-Z0-9_-]{1,6}\\.){0,3}[a-zA-Z]{2,4}(:[1-9][0-9]{0,3})?(/[!-$&'*-.:-~]{0,5}){0,4}(\\?[!-~]{0,20})?(#[a-z%]{0,4})?"
}

fn check_both_ways(url: &str) -> bool {
    let mut quick = Vec::new();
    if !fast::append_key(url.as_bytes(), &mut quick) {
        return false;
    }
    let mut full = Vec::new();
    append_key(url, &mut full).expect("the fast way takes only URLs with a host");
    assert_eq!(
        String::from_utf8_lossy(&quick),
        String::from_utf8_lossy(&full),
        "{url:?}"
    );
    true
}

fn check_invariants(url: &str) {
    let Ok(key) = url_key(url) else { return };
    let mut again = String::from("left over");
    url_key_into(url, &mut again).expect("as before");
    assert_eq!(again, key);
    if host_of_url(url).is_some() {
        assert!(key.bytes().all(|b| b.is_ascii_graphic()), "{url:?} gives {key:?}");
        assert!(key.contains(")/"), "{url:?} gives {key:?}");
    }
    let host = host_of_key(&key);
    let domain = domain_of_key(&key);
    assert!(key.starts_with(domain_key_of_key(&key)));
    assert!(host.ends_with(&domain), "{host:?} is not of {domain:?}");
    // Names that have a comma, a colon, a bracket or an empty label cannot be restored from the
    // key. Neither can a URL of another scheme, whose key is the URL itself ("www.http://x" has the
    // scheme "www.http"). The URL's own host is tested too, because the host of the key has dots
    // instead of the URL's commas ("http://[A, .\u{ae}").
    let is_odd = |host: &str| host.contains([',', ':', '[']) || host.split('.').any(str::is_empty);
    let own = host_of_url(url);
    if own.is_some_and(|own| !is_odd(own)) && !is_odd(&host) {
        assert_eq!(domain_of_host(&host), domain, "{url:?}");
    }
    for match_type in [MatchType::Exact, MatchType::Host, MatchType::Domain] {
        if let Ok(ranges) = url_ranges(url, match_type) {
            assert!(
                ranges.iter().any(|range| range.contains(&key)),
                "{url:?} {match_type:?}"
            );
            assert!(ranges.is_sorted_by(|a, b| a.end <= b.start));
        }
    }
}

#[test]
fn a_comma_in_a_host_is_no_dot() {
    check_invariants("http://[A, .\u{ae}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn the_fast_way_equals_the_full_way(url in any_url()) {
        check_both_ways(&url);
    }

    #[test]
    fn the_fast_way_equals_the_full_way_on_plain_urls(url in plain_url()) {
        check_both_ways(&url);
    }

    #[test]
    fn invariants_hold_for_any_url(url in any_url()) {
        check_invariants(&url);
    }

    #[test]
    fn invariants_hold_for_any_text(text in any::<String>()) {
        check_invariants(&text);
        check_invariants(&format!("http://{text}"));
    }
}

#[test]
fn the_fast_way_takes_common_urls() {
    for url in [
        "http://example.com",
        "https://www.example.co.uk/A/b_c/d.html?Z=1&a=%",
        "http://example.com:8080/?q=1#x",
    ] {
        let plain = url.replace('%', "");
        assert!(check_both_ways(&plain), "{plain}");
        assert_eq!(check_both_ways(url), plain == url, "{url}");
    }
}

#[test]
fn nothing_and_no_host_have_no_key() {
    for url in ["", " \t\n"] {
        assert_eq!(url_key(url), Err(KeyError::Empty));
    }
    for url in [
        "http:",
        "http://",
        "https:///",
        "http://:80/",
        "http://./",
        "http://?x",
        "http://a@/",
    ] {
        assert_eq!(url_key(url), Err(KeyError::NoHost), "{url}");
    }
}

#[test]
fn long_and_deep_urls_take_bounded_time() {
    let long = 32 * 1024;
    let texts = [
        "%25".repeat(long),
        "%".repeat(long) + &"25".repeat(long),
        "../".repeat(long),
        "/a/..".repeat(long),
        "//".repeat(long),
        "/(0123456789abcdefghijklmn)/".repeat(long / 28),
        "/(s(0123456789abcdefghijklmn)".repeat(long / 28),
        "&".repeat(long),
        "&b=2&a=1".repeat(long / 8),
        "sid=".repeat(long),
        "cfid=1&cftoken=".repeat(long / 15),
        "cfid=".repeat(long / 5) + &"x".repeat(long),
        "ä.".repeat(long),
        "a.".repeat(long),
        "1.".repeat(long),
        "9".repeat(long),
        ":".repeat(long),
        "@[".repeat(long),
        "http://".repeat(long / 7),
    ];
    for text in texts {
        for head in ["", "http://", "http://a/", "http://a/?", "http://a/b.aspx?"] {
            check_invariants(&format!("{head}{text}"));
        }
    }
}

#[test]
fn session_ids_are_looked_for_in_linear_time() {
    let bytes = 4 << 20;
    let begun = std::time::Instant::now();
    for text in [
        "/(0123456789abcdefghijklmn)".repeat(bytes / 27),
        "/(s(0123456789abcdefghijklmn))".repeat(bytes / 30),
        format!("?{}&cftoken=", "cfid=".repeat(bytes / 5)),
    ] {
        url_key(&format!("http://a{text}")).expect("has a host");
    }
    // About a second. In quadratic time it would take hours.
    assert!(begun.elapsed().as_secs() < 30);
}

#[test]
fn a_host_of_a_hundred_dots_keeps_its_labels() {
    let host = format!("{}com", "a.".repeat(100));
    let key = url_key(&format!("http://{host}/")).expect("has a host");
    assert_eq!(host_of_key(&key), host);
    assert_eq!(domain_of_key(&key), "a.com");
}
