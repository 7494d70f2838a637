//! Runs every case of `urls/urlcanon-surt.json` whose expectation is a key or becomes one.

use std::collections::BTreeMap;

use urlkey::url_key;

use crate::shared;

/// Cases whose expected key differs from Weft's, with Weft's key and the reason.
const DIFFERENT: &[(&str, Option<&str>, &str)] = &[
    ("", None, "nothing has no key; the reference writes a dash"),
    (
        "whois://whois.isoc.org.il/shaveh.co.il",
        Some("whois://whois.isoc.org.il/shaveh.co.il"),
        "only http and https URLs are reordered, so that an ftp URL never shares a key with a page",
    ),
];

#[test]
fn keys_of_the_reference() {
    let Some(path) = shared::file("urls/urlcanon-surt.json") else {
        return;
    };
    let text = std::fs::read_to_string(path).expect("readable");
    let groups: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_str(&text).expect("groups of cases");
    let mut checked = 0;
    for (url, expected) in &groups["defaultIASurt"] {
        check(url, expected);
        checked += 1;
    }
    assert_eq!(checked, 16);
}

/// Cases whose URL is bytes that were written as if each were a character.
const NOT_TEXT: &[&str] = &["http://\u{1}\u{80}.com/", "\u{e2}\u{98}\u{83}.com"];

/// The other groups have URLs after single steps of the canonicalisation. Two URLs that a step
/// makes equal must have the same key.
#[test]
fn steps_of_the_reference_do_not_change_the_key() {
    let Some(path) = shared::file("urls/urlcanon-surt.json") else {
        return;
    };
    let text = std::fs::read_to_string(path).expect("readable");
    let groups: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_str(&text).expect("groups of cases");
    for group in [
        "Canonicalizer.DefaultIA",
        "Canonicalizer.IA",
        "google",
        "googleSupplementalFromSurt",
    ] {
        let text = |url: &String| !NOT_TEXT.contains(&url.as_str());
        for (url, canonical) in groups[group].iter().filter(|(url, _)| text(url)) {
            assert_eq!(url_key(url), url_key(canonical), "{group}: {url:?}");
        }
    }
    for (query, sorted) in &groups["alphaRorderQuery"] {
        let mark = if sorted.is_empty() { "" } else { "?" };
        check(
            &format!("http://a.com/?{query}"),
            &format!("com,a)/{mark}{sorted}"),
        );
    }
    for (path, stripped) in &groups["stripPathSessionId"] {
        let stripped = stripped.to_lowercase();
        let stripped = stripped.strip_suffix('/').unwrap_or(&stripped);
        check(&format!("http://a.com{path}"), &format!("com,a){stripped}"));
    }
    for (host, stripped) in &groups["massageHost"] {
        let url = |host| format!("http://{host}/");
        assert_eq!(url_key(&url(host)), url_key(&url(stripped)), "{host}");
    }
}

fn check(url: &str, expected: &str) {
    match DIFFERENT.iter().find(|(different, ..)| *different == url) {
        Some((_, ours, reason)) => assert_eq!(url_key(url).ok().as_deref(), *ours, "{url}: {reason}"),
        None => assert_eq!(url_key(url).as_deref(), Ok(expected), "{url}"),
    }
}
