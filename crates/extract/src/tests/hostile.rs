//! Payloads that are designed to be slow to read.

use super::*;
use std::time::{Duration, Instant};

/// Length of each payload.
const PAYLOAD_BYTES: usize = 2 << 20;

/// The slowest payload here takes a second on a busy machine. A quadratic one would take minutes.
const TIME_MAX: Duration = Duration::from_secs(10);

const HTML: &str = "text/html";
const XHTML: &str = "application/xhtml+xml";
const RSS: &str = "application/rss+xml";
const JSON: &str = "application/json";
const PLAIN: &str = "text/plain";

const FORMATTING: &str = "<b><i><u><s><tt><em><big><font><code><small><strong><strike><nobr>";

/// Reads a payload that is `start`, followed by many repetitions of `piece`.
#[track_caller]
fn check(content_type: &str, start: &str, piece: &str) {
    let payload = piece.repeat((PAYLOAD_BYTES - start.len()) / piece.len());
    let block = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n{start}{payload}");
    let record = response("http://example.com/a/b", &block);
    let documents = Documents {
        scope: DocumentScope::Text,
        reader: None,
    };
    let begun = Instant::now();
    extract(&record, &Settings { documents, ..ALL });
    let took = begun.elapsed();
    let shown = &piece[..piece.floor_char_boundary(40)];
    assert!(took < TIME_MAX, "{took:?} for {content_type} of {shown}");
}

/// Returns `count` different attributes.
fn attributes(prefix: &str, count: usize) -> String {
    (0..count).map(|n| format!(" {prefix}{n}='x'")).collect()
}

#[test]
fn feeds_take_linear_time() {
    let channel = "<rss version='2.0'><channel>";
    let (names, others) = (attributes("xmlns:n", 60_000), attributes("n", 100_000));
    for (start, piece) in [
        ("", "<a>"),
        ("", "<a xml:lang=''>"),
        ("", "<channel>"),
        ("", "<item><title>x</title></item>"),
        ("", "</a>"),
        ("", "<!---->"),
        ("<item><description>", "<b>&lt;b&gt;"),
        ("<title>", "&"),
        ("<title>", "&lol9;"),
        ("<title>", "<![CDATA[]]>"),
        ("<!--", ">"),
        ("<!DOCTYPE rss [", "<!ENTITY lol '&lol1;&lol1;'>"),
        ("<!DOCTYPE rss [", "<?"),
        ("<!DOCTYPE rss [", "<xxxx yyyy zzz "),
        (&format!("<a{names}>"), "<a>"),
        (&format!("<a{others}>"), "<a>"),
    ] {
        check(RSS, &format!("{channel}{start}"), piece);
    }
    check("text/xml", channel, "<a>");
    check(JSON, "", "[");
    let version = r#"{"version":"https://jsonfeed.org/version/1","x":"#;
    for (start, piece) in [
        ("", "["),
        ("", "{\"a\":"),
        ("\"", "\\u00e9"),
        ("1,\"items\":[{}", ",{}"),
    ] {
        check(JSON, &format!("{version}{start}"), piece);
    }
}

#[test]
fn pages_take_linear_time() {
    let others = attributes("n", 100_000);
    for (content_type, start, piece) in [
        (XHTML, "", "<a>"),
        (XHTML, "", "<p xmlns:a='b'>"),
        (XHTML, "<!DOCTYPE html [", "<!ENTITY a '&b;&b;'>"),
        (XHTML, "<!DOCTYPE html [<!ENTITY a 'bbbbbbbbb'>]>", "&a;"),
        (HTML, "", "<div>"),
        (HTML, "", FORMATTING),
        (HTML, &FORMATTING.repeat(3), "<p>x"),
        (HTML, &"<span>".repeat(300), "</div>"),
        (HTML, "<b>", "<div></b><b>"),
        (HTML, "", "<a href=x>w<table><a href=y>z"),
        (HTML, "", "<svg><a href=x><p>"),
        (HTML, "<a ", "href=c "),
        (HTML, &format!("<a{others}>"), "<i>"),
        (HTML, "", "<base href=x>"),
        (HTML, "", "<meta http-equiv=refresh content='0;url=x'>"),
        (HTML, "<html lang='", ","),
        (HTML, "<script><!--", "<script"),
    ] {
        check(content_type, start, piece);
    }
}

#[test]
fn links_take_linear_time() {
    let base = |path: &str| {
        format!(
            "<base href='http://h.example/{}'>",
            path.repeat((1 << 20) / path.len())
        )
    };
    let link = |url: &str, piece: &str| format!("<a href='{url}{}'>", piece.repeat(60_000 / piece.len()));
    for (start, piece) in [
        (base("%"), "<a href=x>".to_owned()),
        (base("x"), "<a href=x>".to_owned()),
        (base("b/"), "<a href=../>".to_owned()),
        (String::new(), link("", "a/../")),
        (String::new(), link("/?", "b&a&")),
        (String::new(), link("/?", "cfid=")),
        (String::new(), link("", "/(012345678901234567890123)")),
        (String::new(), link("/%", "25")),
        (String::new(), link("http://", "h.")),
    ] {
        check(HTML, &start, &piece);
    }
}

#[test]
fn plain_text_takes_linear_time() {
    for (content_type, piece) in [
        (PLAIN, "word "),
        (PLAIN, "\n"),
        (PLAIN, "\u{3000}"),
        (PLAIN, "\u{1b}$\u{e9}"),
        ("text/plain; charset=iso-8859-1", "\u{e9} "),
        ("text/plain; charset=shift_jis", "\u{e9} "),
    ] {
        check(content_type, "", piece);
    }
}
