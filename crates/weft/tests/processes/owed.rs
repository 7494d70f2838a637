//! A load is killed while anchors are still missing from search. The next process that opens the
//! archive finds pages by all of them.

use std::path::Path;

use crate::crash::write_old;
use crate::program::{run, weft};

/// More pages than one batch of reindexing.
const PAGES: usize = 1200;

fn record(url: &str, body: &str) -> String {
    let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
    let length = block.len();
    format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:{url}>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n\
         WARC-Target-URI: {url}\r\nContent-Type: application/http\r\nContent-Length: {length}\r\n\r\n{block}\r\n\r\n"
    )
}

fn total(root: &Path, archive: &Path, query: &str) -> u64 {
    let answer = run(weft(root, archive, &["search", "--json", query]), &[0]);
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    answer["total"].as_u64().unwrap()
}

#[test]
fn anchors_that_are_owed_are_there_after_a_kill() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let archive = root.join("archive");
    let pages = (0..PAGES).map(|n| record(&format!("http://a.com/{n}"), &format!("<title>page {n}</title>")));
    write_old(&root.join("pages.warc"), pages.collect::<String>().as_bytes());
    let links = (0..PAGES).map(|n| format!("<a href=http://a.com/{n}>kestrel</a> "));
    let directory = record("http://b.org/", &links.collect::<String>());
    write_old(&root.join("directory.warc"), directory.as_bytes());
    run(weft(root, &archive, &["load", "pages.warc"]), &[0]);
    let mut load = weft(root, &archive, &["load", "directory.warc"]);
    let output = load
        .env("WEFT_CRASH_POINT", "feed.before_settle")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), None, "nothing was owed");
    // The directory page itself contains the word, too.
    let all = PAGES as u64 + 1;
    assert_eq!(total(root, &archive, "kestrel"), all);
    run(weft(root, &archive, &["load", "directory.warc"]), &[0]);
    assert_eq!(total(root, &archive, "kestrel"), all);
    run(weft(root, &archive, &["forget", "--url", "http://b.org/"]), &[0]);
    assert_eq!(total(root, &archive, "kestrel"), 0);
    run(weft(root, &archive, &["forget", "--undo", "1"]), &[0]);
    run(weft(root, &archive, &["load", "directory.warc"]), &[0]);
    assert_eq!(total(root, &archive, "kestrel"), all);
}
