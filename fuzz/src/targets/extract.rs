//! `extract`: any record gives exactly one outcome, and a capture keeps its documented limits.
//!
//! The first byte of an input chooses the kind of record, the rest is its block.

use std::collections::BTreeSet;

use extract::{
    ANCHOR_CHARS_MAX, Capture, DocumentScope, Documents, Extracted, LINKS_MAX, Link, LinkScope, Settings,
    TEXT_BYTES_MAX,
};
use warc::{Entry, Reader, ReaderSettings, Record};

use super::Target;

/// The target; the head of this file describes inputs and properties.
pub const TARGET: Target = Target {
    name: "extract",
    about: "captures from HTTP, HTML, XHTML, WAT and WET",
    run,
    seeds,
    from_file: |mut bytes| {
        bytes.insert(0, 0);
        bytes
    },
    tokens: &[
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 301 Moved\r\nLocation: /x\r\n",
        b"Content-Type: text/html; charset=utf-16\r\n",
        b"Content-Type: application/xhtml+xml\r\n",
        b"Content-Encoding: gzip\r\n",
        b"Content-Encoding: br\r\n",
        b"Content-Encoding: deflate\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"\r\n\r\n",
        b"<a href=\"/x?y#z\">",
        b"</a>",
        b"<base href=//b.c/>",
        b"<area href=x alt=y>",
        b"<meta http-equiv=refresh content='0;url=x'>",
        b"<meta charset=shift_jis>",
        b"<noscript>",
        b"<template>",
        b"<script>",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"<svg>",
        b"<title>",
        b"</title>",
        b"<plaintext>",
        b"<textarea>",
        b"&amp;",
        b"&#x110000;",
        b"&nbsp",
        b"\xff\xfe",
        b"\"Links\":[",
        b"{\"path\":\"A@/href\",\"url\":\"http://a.b/\"}",
        b"\\ud800",
        b"\"HTML-Metadata\":{",
        b"rel=\"nofollow ugc\"",
    ],
};

const KINDS: [(&str, &str); 6] = [
    ("response", "application/http; msgtype=response"),
    ("resource", "text/html"),
    ("resource", "application/xhtml+xml"),
    ("metadata", "application/json"),
    ("conversion", "text/plain"),
    ("revisit", "application/http; msgtype=response"),
];

/// Extracts a capture of the record and checks it.
pub fn run(bytes: &[u8]) {
    let Some((choice, block)) = bytes.split_first() else {
        return;
    };
    let record = record(KINDS[usize::from(*choice) % KINDS.len()], block);
    let settings = Settings {
        links: match choice & 0x80 {
            0 => LinkScope::All,
            _ => LinkScope::External,
        },
        text: true,
        documents: Documents {
            scope: DocumentScope::All,
            reader: None,
        },
    };
    extract::defects_of(&record).for_each(drop);
    extract::header_facts(record.format, record.kind, &record.headers);
    match extract::extract(&record, &settings) {
        Extracted::Counted | Extracted::Attachment(_) => {}
        Extracted::Unusable(defect) => assert!(!defect.reason.is_empty()),
        Extracted::Capture(capture) => check(&capture, &record, &settings),
    }
}

fn check(capture: &Capture, record: &Record, settings: &Settings) {
    assert_eq!(urlkey::url_key(&capture.url).as_ref(), Ok(&capture.url_key));
    assert_eq!(
        (capture.offset, capture.length),
        (record.span.offset, record.span.length)
    );
    assert!(capture.status < 1000, "status {}", capture.status);
    if let Some(link) = &capture.redirect {
        check_link(link, capture);
    }
    let Some(page) = &capture.page else { return };
    assert!(
        page.text.len() <= TEXT_BYTES_MAX,
        "{} bytes of text",
        page.text.len()
    );
    assert!(
        page.title.chars().count() <= 1024,
        "{} characters of title",
        page.title.chars().count()
    );
    assert!(page.links.len() <= LINKS_MAX, "{} links", page.links.len());
    let mut targets = BTreeSet::new();
    for link in &page.links {
        check_link(link, capture);
        assert!(targets.insert(&link.url_key), "two links to {}", link.url_key);
        let external = !urlkey::same_domain(&link.url_key, &capture.url_key);
        assert!(
            external || settings.links == LinkScope::All,
            "{} is internal",
            link.url
        );
    }
}

fn check_link(link: &Link, capture: &Capture) {
    assert!(
        link.url.starts_with("http://") || link.url.starts_with("https://"),
        "{}",
        link.url
    );
    assert!(!link.url.contains('#'), "a fragment in {}", link.url);
    assert_eq!(urlkey::url_key(&link.url).as_ref(), Ok(&link.url_key));
    assert_ne!(link.url_key, capture.url_key, "a link to the page itself");
    assert!(
        link.anchor.chars().count() <= ANCHOR_CHARS_MAX,
        "an anchor of {} characters",
        link.anchor.chars().count()
    );
}

/// Returns a record with this block, as the reader produces it.
fn record((kind, content_type): (&str, &str), block: &[u8]) -> Record {
    let mut file = format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://www.example.org/dir/page?q\r\nWARC-Date: 2020-01-02T03:04:05Z\r\n\
         Content-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
        block.len()
    )
    .into_bytes();
    file.extend_from_slice(block);
    file.extend_from_slice(b"\r\n\r\n");
    let mut reader = Reader::from_input(Box::new(file), "fuzz", ReaderSettings::default())
        .expect("opening bytes in memory never fails");
    match reader.next_entry().expect("reading bytes in memory never fails") {
        Some(Entry::Record(record)) => record,
        other => panic!("expected a record, found {other:?}"),
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let html = "<!doctype html><html lang=en><head><title>T</title><base href='/b/'><meta http-equiv=refresh content='5; url=next'>\
        <link rel=canonical href=/c><meta name=robots content=noindex></head><body><p>Text <a href='x' rel=nofollow>one <b>two</b></a>\
        <map><area href='//other.net/' alt='map'></map><a href='http://other.net/#f'><img alt='pic'></a><script>var a='</p>';</script></body></html>";
    let response = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n{html}",
        html.len()
    );
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{html}\r\n0\r\n\r\n",
        html.len()
    );
    let wat = r#"{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"response","WARC-Target-URI":"http://www.example.org/dir/page?q","WARC-Date":"2020-01-02T03:04:05Z"},
        "Payload-Metadata":{"HTTP-Response-Metadata":{"Response-Message":{"Status":"200"},"Headers":{"Content-Type":"text/html"},"HTML-Metadata":{"Head":{"Title":"T","Base":"/b/",
        "Metas":[{"http-equiv":"refresh","content":"0;url=x"}]},"Links":[{"path":"A@/href","url":"x","text":"one"},{"path":"AREA@/href","href":"//o.net/","alt":"m"}]}}}}}"#;
    let xhtml = "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title>T</title></head><body><a href='x'/><![CDATA[c]]></body></html>";
    let gzip = {
        use std::io::Write as _;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder
            .write_all(html.as_bytes())
            .expect("writing to memory never fails");
        encoder.finish().expect("writing to memory never fails")
    };
    let encoded = [
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_vec(),
        gzip,
    ]
    .concat();
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for (kind, block) in [
        (0, response.as_bytes()),
        (0, chunked.as_bytes()),
        (0, &encoded),
        (0, b"HTTP/1.1 301 Moved\r\nLocation: https://other.net/\r\n\r\n"),
        (1, html.as_bytes()),
        (2, xhtml.as_bytes()),
        (3, wat.as_bytes()),
        (4, b"Title\nA text of WET.\n"),
        (5, b"HTTP/1.1 200 OK\r\n\r\n"),
        (0x80, response.as_bytes()),
    ] {
        seeds.push([&[kind], block].concat());
    }
    seeds
}
