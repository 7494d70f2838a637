//! Compares keys with the key column of real CDX indexes.

use urlkey::url_key;

use crate::shared;

/// Checks the key of the URL in each line.
fn check(name: &str, lines: usize, key_and_url: fn(&str) -> (String, String)) {
    let Some(path) = shared::file(name) else {
        return;
    };
    let text = std::fs::read_to_string(path).expect("readable");
    let mut count = 0;
    for line in text.lines().filter(|line| !line.starts_with(" CDX")) {
        let (expected, url) = key_and_url(line);
        assert_eq!(url_key(&url), Ok(expected), "{name}: {line}");
        count += 1;
    }
    assert_eq!(count, lines, "{name}");
}

fn cdx(line: &str) -> (String, String) {
    let fields: Vec<&str> = line.split(' ').collect();
    (fields[0].to_owned(), fields[2].to_owned())
}

fn cdxj(line: &str) -> (String, String) {
    let (key, rest) = line.split_once(' ').expect("key");
    let (_, json) = rest.split_once(' ').expect("time");
    let json: serde_json::Value = serde_json::from_str(json).expect("fields");
    (key.to_owned(), json["url"].as_str().expect("url").to_owned())
}

#[test]
fn keys_of_the_shared_indexes() {
    check("crawls/dupes.cdx", 12, cdx);
    check("crawls/iana.cdx", 171, cdx);
    check("crawls/iana.cdxj", 171, cdxj);
}
