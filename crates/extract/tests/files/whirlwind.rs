//! One page of 2024, as WARC, as WET, and as WAT.
//!
//! The WAT file that comes with it has only the request's record. So the test builds the response's
//! WAT by the rules of its writer (ia-web-commons), from html5gum's ready-made tokens, which share
//! only the tokenizer with the extractor.

use super::data;
use extract::{Capture, CaptureKind, Documents, Extracted, LinkScope, Settings};
use serde_json::{Value, json};

/// Anchors of the page that are the alternative text of an image.
const IMAGE_ANCHORS: [&str; 3] = [
    "Escopete ubicada en Castiella-La Mancha",
    "Wikimedia Foundation",
    "Powered by MediaWiki",
];

#[test]
fn warc_and_wet_agree() {
    let (warc, wet) = (
        data::captures("commoncrawl/whirlwind.warc.gz"),
        data::captures("commoncrawl/whirlwind.warc.wet.gz"),
    );
    let ([warc], [wet]) = (warc.as_slice(), wet.as_slice()) else {
        return;
    };
    assert_eq!(
        (&warc.url_key, warc.fetch_time_ms, &warc.url),
        (&wet.url_key, wet.fetch_time_ms, &wet.url)
    );
    assert_eq!((warc.kind, wet.kind), (CaptureKind::Response, CaptureKind::Wet));
    let (warc, wet) = (
        warc.page.as_ref().expect("a page"),
        wet.page.as_ref().expect("a page"),
    );
    assert_eq!(warc.title, wet.title);
    assert_eq!((warc.language.as_str(), wet.language.as_str()), ("an", "es"));
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<std::collections::BTreeSet<_>>()
    };
    let (warc, wet) = (words(&warc.text), words(&wet.text));
    let common = warc.intersection(&wet).count();
    assert!(common * 100 >= wet.len() * 97, "{common} of {} words", wet.len());
}

#[test]
fn the_wat_file_holds_only_the_request() {
    assert!(data::captures("commoncrawl/whirlwind.warc.wat.gz").is_empty());
}

#[test]
fn warc_and_wat_agree() {
    let Some(path) = data::file("commoncrawl/whirlwind.warc.gz") else {
        return;
    };
    let records = data::records(&path);
    let response = records
        .iter()
        .find(|record| record.kind == warc::Kind::Response)
        .expect("a response");
    for links in [LinkScope::All, LinkScope::External] {
        let settings = Settings {
            links,
            text: false,
            documents: Documents::NONE,
        };
        let (warc, wat) = (
            capture(response, &settings),
            capture(&wat_of(response), &settings),
        );
        let row = |c: &Capture| {
            (
                c.url_key.clone(),
                c.url.clone(),
                c.fetch_time_ms,
                c.mime.clone(),
                c.status,
                c.digest.clone(),
            )
        };
        assert_eq!(row(&warc), row(&wat));
        let (warc, wat) = (warc.page.expect("a page"), wat.page.expect("a page"));
        assert_eq!(
            (&warc.title, &warc.canonical, &warc.robots),
            (&wat.title, &wat.canonical, &wat.robots)
        );
        assert!(!warc.links.is_empty());
        assert_eq!(warc.links.len(), wat.links.len());
        for (in_warc, in_wat) in warc.links.iter().zip(&wat.links) {
            assert_eq!((&in_warc.url, in_warc.nofollow), (&in_wat.url, in_wat.nofollow));
            // WAT has no alternative texts of images, and falls back on the title.
            let is_image = IMAGE_ANCHORS.contains(&in_warc.anchor.as_str());
            assert!(
                is_image || in_warc.anchor == in_wat.anchor,
                "{:?} {:?}",
                in_warc.anchor,
                in_wat.anchor
            );
        }
    }
}

fn capture(record: &warc::Record, settings: &Settings) -> Capture {
    match extract::extract(record, settings) {
        Extracted::Capture(capture) => *capture,
        other => panic!("{other:?}"),
    }
}

/// Returns the WAT record of a response.
fn wat_of(response: &warc::Record) -> warc::Record {
    let html = String::from_utf8(data::payload(response)).expect("the page is UTF-8");
    let head = String::from_utf8_lossy(&response.body[..response.body.len() - html.len()]).into_owned();
    let headers = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(": "))
        .map(|(n, v)| (n.to_owned(), json!(v)));
    let envelope = json!({ "Envelope": {
        "Payload-Metadata": { "HTTP-Response-Metadata": {
            "Response-Message": { "Status": "200", "Version": "HTTP/1.1", "Reason": "OK" },
            "Headers": Value::Object(headers.collect()),
            "HTML-Metadata": html_metadata(&html),
        }},
        "Format": "WARC/1.0",
        "WARC-Header-Metadata": Value::Object(response.headers.iter().map(|(n, v)| (n.to_owned(), json!(v))).collect()),
    }});
    let mut record = response.clone();
    record.kind = warc::Kind::Metadata;
    record.body = envelope.to_string().into_bytes();
    record.body_length = record.body.len() as u64;
    record
}

fn html_metadata(html: &str) -> Value {
    let (mut links, mut metas, mut head_links) = (Vec::new(), Vec::new(), Vec::new());
    let (mut title, mut in_title) = (String::new(), false);
    let mut open: Option<(Value, String)> = None;
    for token in html5gum::Tokenizer::new(html).flatten() {
        match token {
            html5gum::Token::StartTag(tag) => {
                let attribute = |name: &str| {
                    tag.attributes
                        .get(name.as_bytes())
                        .map(|v| String::from_utf8_lossy(v).into_owned())
                };
                match &tag.name[..] {
                    b"a" => {
                        if let Some(url) = attribute("href") {
                            let mut link = json!({ "path": "A@/href", "url": url });
                            for name in ["title", "rel"] {
                                attribute(name)
                                    .into_iter()
                                    .for_each(|value| link[name] = json!(value));
                            }
                            open = Some((link, String::new()));
                        }
                    }
                    b"meta" => {
                        let names = ["name", "content", "http-equiv"];
                        metas.push(Value::Object(
                            names
                                .iter()
                                .filter_map(|n| Some(((*n).to_owned(), json!(attribute(n)?))))
                                .collect(),
                        ));
                    }
                    b"link" => head_links.push(
                        json!({ "path": "LINK@/href", "url": attribute("href"), "rel": attribute("rel") }),
                    ),
                    b"title" => in_title = title.is_empty(),
                    b"div" | b"p" | b"li" => open.iter_mut().for_each(|(_, text)| text.push(' ')),
                    _ => {}
                }
            }
            html5gum::Token::String(text) => {
                let text = String::from_utf8_lossy(&text);
                if in_title {
                    title.push_str(&text);
                }
                open.iter_mut().for_each(|(_, anchor)| anchor.push_str(&text));
            }
            html5gum::Token::EndTag(tag) => {
                in_title = false;
                if &tag.name[..] == b"a"
                    && let Some((mut link, text)) = open.take()
                {
                    if !text.trim().is_empty() {
                        link["text"] = json!(text);
                    }
                    links.push(link);
                }
            }
            _ => {}
        }
    }
    json!({ "Head": { "Title": title, "Metas": metas, "Link": head_links }, "Links": links })
}
