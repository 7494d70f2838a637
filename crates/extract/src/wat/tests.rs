use super::*;
use crate::{Documents, extract};
use proptest::prelude::*;

/// A WAT record around `http`, the content of HTTP-Response-Metadata.
fn record(warc_date: &str, http: &str) -> warc::Record {
    let body = format!(
        r#"{{"Container":{{"Filename":"x","Offset":"0"}},"Envelope":{{"Payload-Metadata":{{"Actual-Content-Type":"application/http; msgtype=response","HTTP-Response-Metadata":{{{http}}},"Trailing-Slop-Length":"4"}},"Format":"WARC/1.0","WARC-Header-Metadata":{{"WARC-Type":"response","WARC-Date":"{warc_date}","WARC-Payload-Digest":"sha1:RY7PLBUFQNI2FFV5FTUQK72W6SNPXLQU","WARC-Target-URI":"https://www.example.org/dir/page"}}}}}}"#
    );
    of_body(body.into_bytes())
}

fn of_body(body: Vec<u8>) -> warc::Record {
    crate::tests::record(
        warc::Kind::Metadata,
        &[
            ("WARC-Target-URI", "https://not.this/"),
            ("WARC-Date", "2030-01-01T00:00:00Z"),
        ],
        body,
    )
}

const LINKS: &str = r##""Links":[{"path":"IMG@/src","url":"/no.png"},{"path":"A@/href","url":"/b?x&amp;y","text":"one &amp; two"},
    {"path":"A@\/href","href":"https://other.net/#f","title":" titled ","rel":"nofollow"},{"path":"AREA@/href","url":"c"},
    {"path":"A@/href","url":"#top","text":"own"},{"path":"FORM@/action","url":"/no"},{"path":"A@/href"}]"##;

fn html_response(head: &str) -> String {
    format!(
        r#""Headers":{{"Set-Cookie":["a","b"],"content-type":"text/html; charset=UTF-8","Content-Language":"de"}},"Response-Message":{{"Status":"200","Version":"HTTP/1.1","Reason":"OK"}},"HTML-Metadata":{{"Head":{{{head}}},{LINKS}}}"#
    )
}

fn extract_one(record: &warc::Record, links: LinkScope) -> Capture {
    match extract(
        record,
        &Settings {
            links,
            text: true,
            documents: Documents::NONE,
        },
    ) {
        Extracted::Capture(capture) => *capture,
        other => panic!("{other:?}"),
    }
}

fn urls(capture: &Capture) -> Vec<&str> {
    capture
        .page
        .iter()
        .flat_map(|page| &page.links)
        .map(|link| link.url.as_str())
        .collect()
}

#[test]
fn a_page_of_today() {
    let head = r#""Title":"A  title","Metas":[{"name":"HTML@/lang","content":"en-us"},{"name":"robots","content":"NOINDEX"},{"http-equiv":"Refresh","content":"0; url=/next"}],"Link":[{"path":"LINK@/href","rel":"canonical","url":"/canon"}]"#;
    let capture = extract_one(
        &record("2024-05-18T01:58:10Z", &html_response(head)),
        LinkScope::All,
    );
    assert_eq!(capture.url_key, "org,example)/dir/page");
    assert_eq!((capture.status, capture.mime.as_str()), (200, "text/html"));
    assert_eq!(capture.fetch_time_ms, 1_715_997_490_000);
    assert_eq!(capture.digest, "RY7PLBUFQNI2FFV5FTUQK72W6SNPXLQU");
    let page = capture.page.as_ref().unwrap();
    assert_eq!(page.title, "A title");
    assert_eq!(page.language, "en-US");
    assert_eq!(page.robots.as_deref(), Some("noindex"));
    assert_eq!(page.canonical.as_deref(), Some("https://www.example.org/canon"));
    let expected = [
        "https://www.example.org/next",
        "https://www.example.org/b?x&amp;y",
        "https://other.net/",
        "https://www.example.org/dir/c",
    ];
    assert_eq!(urls(&capture), expected);
    let anchors: Vec<_> = page
        .links
        .iter()
        .map(|l| (l.anchor.as_str(), l.nofollow))
        .collect();
    assert_eq!(
        anchors,
        [
            ("", false),
            ("one &amp; two", false),
            ("titled", true),
            ("", false)
        ]
    );
}

#[test]
fn a_page_from_before_references_were_decoded() {
    let capture = extract_one(
        &record("2015-05-18T01:58:10Z", &html_response(r#""Title":"a &lt; b""#)),
        LinkScope::All,
    );
    let page = capture.page.as_ref().unwrap();
    assert_eq!(page.title, "a < b");
    assert_eq!(page.language, "de");
    assert_eq!(page.links[0].url, "https://www.example.org/b?x&y");
    assert_eq!(page.links[0].anchor, "one & two");
}

#[test]
fn external_links_only() {
    let capture = extract_one(
        &record("2024-05-18T01:58:10Z", &html_response("")),
        LinkScope::External,
    );
    assert_eq!(urls(&capture), ["https://other.net/"]);
    let moved = html_response(r#""Base":"https://elsewhere.com/x/""#);
    let capture = extract_one(&record("2024-05-18T01:58:10Z", &moved), LinkScope::External);
    assert_eq!(urls(&capture)[0], "https://elsewhere.com/b?x&amp;y");
}

#[test]
fn redirects() {
    let http = r#""Headers":{"Location":"../elsewhere?a=b"},"Response-Message":{"Status":"301"}"#;
    let capture = extract_one(&record("2024-05-18T01:58:10Z", http), LinkScope::All);
    assert_eq!(
        capture.redirect.map(|link| link.url).as_deref(),
        Some("https://www.example.org/elsewhere?a=b")
    );
    assert_eq!((capture.mime.as_str(), capture.page), ("unk", None));
    assert!(!capture.redirects_to_itself);
    // Another address of the same page, with the same key.
    let http = r#""Headers":{"location":"http://example.org/dir/page"},"Response-Message":{"Status":"301"}"#;
    let capture = extract_one(&record("2024-05-18T01:58:10Z", http), LinkScope::External);
    assert!(capture.redirects_to_itself && capture.redirect.is_none());
}

#[test]
fn what_is_not_a_page() {
    for http in [
        r#""Headers":{"Content-Type":"image/png"},"Response-Message":{"Status":"200"}"#,
        r#""Headers":{"Content-Type":"text/html"},"Response-Message":{"Status":"404"}"#,
        r#""Headers":{},"Response-Message":{"Status":"200"}"#,
    ] {
        assert_eq!(
            extract_one(&record("2024-05-18T01:58:10Z", http), LinkScope::All).page,
            None,
            "{http}"
        );
    }
}

#[test]
fn what_is_not_a_capture() {
    let counted = [
        "fetchTimeMs: 17\r\n",
        "",
        r#"{"other":"json"}"#,
        r#"{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"request","WARC-Target-URI":"http://a.b/"}}}"#,
        r#"{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"response","WARC-Target-URI":"dns:a.b"}}}"#,
        r#"{"Envelope":[]}"#,
    ];
    for body in counted {
        let outcome = extract(
            &of_body(body.into()),
            &Settings {
                links: LinkScope::All,
                text: true,
                documents: Documents::NONE,
            },
        );
        assert!(matches!(outcome, Extracted::Counted), "{body}: {outcome:?}");
    }
    let unusable = [
        (
            r#"{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"response""#,
            reason::BAD_WAT_JSON,
        ),
        (
            r#"{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"response"}}}"#,
            reason::MISSING_TARGET_URI,
        ),
        (
            r#"{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"response","WARC-Target-URI":"http://a.b/"}}}"#,
            reason::MISSING_DATE,
        ),
        (
            r#"{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"response","WARC-Target-URI":"http://a.b/","WARC-Date":"x"}}}"#,
            reason::BAD_DATE,
        ),
    ];
    for (body, reason) in unusable {
        match extract(
            &of_body(body.into()),
            &Settings {
                links: LinkScope::All,
                text: true,
                documents: Documents::NONE,
            },
        ) {
            Extracted::Unusable(defect) => assert_eq!(defect.reason, reason, "{body}"),
            other => panic!("{body}: {other:?}"),
        }
    }
}

proptest! {
    #[test]
    fn mutated_records_do_no_harm(at in any::<proptest::sample::Index>(), with in any::<u8>(), cut in any::<proptest::sample::Index>(), external in any::<bool>()) {
        let mut record = record("2018-05-18T01:58:10Z", &html_response(r#""Title":"x\ud83d\ude00","Base":"/b/""#));
        let at = at.index(record.body.len());
        record.body[at] = with;
        let scope = if external { LinkScope::External } else { LinkScope::All };
        let _ = extract(&record, &Settings { links: scope, text: true, documents: Documents::NONE });
        record.body.truncate(cut.index(record.body.len()));
        let _ = extract(&record, &Settings { links: scope, text: true, documents: Documents::NONE });
    }
}
