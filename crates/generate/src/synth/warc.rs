//! A visit as WARC: request, response with the page as HTML, metadata.

use data_encoding::BASE32;
use sha1::{Digest, Sha1};

use super::ballast::{Ballasts, push};
use super::member::{Ballast, Members, Part};
use super::page::{Crawl, Link, Page, Visit};
use super::random::Random;
use super::record::{Facts, TAIL, append_head, warcinfo_id};

/// Number of pieces of ballast in a page, at least this many and fewer than `BALLAST_SPREAD` more:
/// a page has about 30 KB compressed.
const BALLAST_MIN: u64 = 5;
const BALLAST_SPREAD: u64 = 12;

/// Writes visits as WARC.
#[derive(Debug)]
pub(super) struct WarcForm {
    pub ballasts: Ballasts,
}

impl WarcForm {
    /// Appends the three records of a visit.
    pub(super) fn append(
        &self,
        crawl: &Crawl,
        visit: Visit,
        page: &Page,
        members: &mut Members,
        out: &mut Vec<u8>,
    ) {
        let facts = Facts::of(crawl.web.seed, visit);
        let warcinfo = warcinfo_id(crawl.web.seed);
        append_request(page, &facts, &warcinfo, members, out);
        self.append_response(crawl, visit, page, &facts, &warcinfo, members, out);
        append_metadata(page, &facts, &warcinfo, members, out);
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one record, called from one place"
    )]
    fn append_response(
        &self,
        crawl: &Crawl,
        visit: Visit,
        page: &Page,
        facts: &Facts,
        warcinfo: &str,
        members: &mut Members,
        out: &mut Vec<u8>,
    ) {
        let mut random = Random::of(crawl.web.seed, &[22, visit.index]);
        let count = BALLAST_MIN + random.below(BALLAST_SPREAD);
        let ballast = self.ballasts.choose(count, &mut random);
        let (head, body) = html(page);
        let http = http_head(facts, head.len() + plain_length(&ballast) + body.len());
        let mut sha1 = Sha1::new();
        sha1.update(&head);
        ballast.iter().for_each(|piece| sha1.update(&piece.plain));
        sha1.update(&body);
        let digest = format!("sha1:{}", BASE32.encode(&sha1.finalize()));
        let fields = [
            ("WARC-Type", "response"),
            ("WARC-Date", facts.date.as_str()),
            ("WARC-Record-ID", &facts.response_id),
            ("Content-Type", "application/http; msgtype=response"),
            ("WARC-Warcinfo-ID", warcinfo),
            ("WARC-Concurrent-To", &facts.request_id),
            ("WARC-IP-Address", &facts.ip),
            ("WARC-Target-URI", &page.url),
            ("WARC-Payload-Digest", &digest),
            ("WARC-Identified-Payload-Type", "text/html"),
        ];
        let length = http.len() + head.len() + plain_length(&ballast) + body.len();
        let mut text = String::with_capacity(1024 + head.len());
        append_head(&fields, length, &mut text);
        text.push_str(&http);
        text.push_str(&head);
        append_around(&text, &ballast, &body, members, out);
    }
}

/// Appends a member of text, ballast and text, followed by the line ends of the record.
pub(super) fn append_around(
    before: &str,
    ballast: &[&Ballast],
    after: &str,
    members: &mut Members,
    out: &mut Vec<u8>,
) {
    let mut parts = vec![Part::Text(before.as_bytes())];
    parts.extend(ballast.iter().map(|piece| Part::Ballast(piece)));
    parts.extend([Part::Text(after.as_bytes()), Part::Text(TAIL)]);
    members.append(&parts, out);
}

pub(super) fn plain_length(ballast: &[&Ballast]) -> usize {
    ballast.iter().map(|piece| piece.plain.len()).sum()
}

fn append_request(page: &Page, facts: &Facts, warcinfo: &str, members: &mut Members, out: &mut Vec<u8>) {
    let block = request(page);
    let fields = [
        ("WARC-Type", "request"),
        ("WARC-Date", facts.date.as_str()),
        ("WARC-Record-ID", &facts.request_id),
        ("Content-Type", "application/http; msgtype=request"),
        ("WARC-Warcinfo-ID", warcinfo),
        ("WARC-IP-Address", &facts.ip),
        ("WARC-Target-URI", &page.url),
    ];
    let mut text = String::with_capacity(1024);
    append_head(&fields, block.len(), &mut text);
    members.append(
        &[
            Part::Text(text.as_bytes()),
            Part::Text(block.as_bytes()),
            Part::Text(TAIL),
        ],
        out,
    );
}

fn append_metadata(page: &Page, facts: &Facts, warcinfo: &str, members: &mut Members, out: &mut Vec<u8>) {
    let block = "fetchTimeMs: 258\r\ncharset-detected: UTF-8\r\n\r\n";
    let fields = [
        ("WARC-Type", "metadata"),
        ("WARC-Date", facts.date.as_str()),
        ("WARC-Record-ID", &facts.metadata_id),
        ("Content-Type", "application/warc-fields"),
        ("WARC-Warcinfo-ID", warcinfo),
        ("WARC-Concurrent-To", &facts.response_id),
        ("WARC-Target-URI", &page.url),
    ];
    let mut text = String::with_capacity(1024);
    append_head(&fields, block.len(), &mut text);
    members.append(
        &[
            Part::Text(text.as_bytes()),
            Part::Text(block.as_bytes()),
            Part::Text(TAIL),
        ],
        out,
    );
}

/// Appends the warcinfo record at the start of a file.
pub(super) fn append_warcinfo(seed: u64, name: &str, members: &mut Members, out: &mut Vec<u8>) {
    let block = format!(
        "software: weft synth {}\r\nformat: WARC File Format 1.0\r\ndescription: a made-up web, seed {seed}\r\n\r\n",
        env!("CARGO_PKG_VERSION")
    );
    let (date, _) = super::record::dates(0);
    let id = warcinfo_id(seed);
    let fields = [
        ("WARC-Type", "warcinfo"),
        ("WARC-Date", date.as_str()),
        ("WARC-Filename", name),
        ("WARC-Record-ID", &id),
        ("Content-Type", "application/warc-fields"),
    ];
    let mut text = String::new();
    append_head(&fields, block.len(), &mut text);
    members.append(
        &[
            Part::Text(text.as_bytes()),
            Part::Text(block.as_bytes()),
            Part::Text(TAIL),
        ],
        out,
    );
}

/// Returns the block of the request record.
fn request(page: &Page) -> String {
    let (_, path, host) = url_parts(page);
    format!(
        "GET {path} HTTP/1.1\r\nUser-Agent: weft-synth\r\nAccept: text/html,application/xhtml+xml\r\n\
         Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip\r\nHost: {host}\r\nConnection: Keep-Alive\r\n\r\n"
    )
}

/// Returns the scheme, the path with the query, and the host of a page.
pub(super) fn url_parts(page: &Page) -> (&str, &str, &str) {
    let (scheme, host) = page.origin.split_once("://").unwrap_or(("http", &page.origin));
    (scheme, &page.url[page.origin.len()..], host)
}

fn http_head(facts: &Facts, content_length: usize) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nDate: {}\r\nContent-Type: text/html; charset=utf-8\r\n\
         Content-Length: {content_length}\r\nConnection: keep-alive\r\nServer: nginx\r\n\r\n",
        facts.http_date
    )
}

/// Returns the page up to the end of its head, and the rest; ballast goes between them.
fn html(page: &Page) -> (String, String) {
    let mut head = String::with_capacity(1024);
    push(
        &mut head,
        format_args!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n\
             <meta name=\"description\" content=\"{}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
            page.title, page.description
        ),
    );
    let mut body = String::with_capacity(16 * 1024);
    push(
        &mut body,
        format_args!("</head>\n<body>\n<h1>{}</h1>\n", page.title),
    );
    let paragraphs = page.text.len().max(1);
    let links_each = page.links.len().div_ceil(paragraphs).max(1);
    let mut links = page.links.chunks(links_each);
    for paragraph in &page.text {
        push(&mut body, format_args!("<p>{paragraph}</p>\n"));
        append_list(links.next().unwrap_or_default(), &mut body);
    }
    links.for_each(|links| append_list(links, &mut body));
    body.push_str("</body>\n</html>\n");
    (head, body)
}

fn append_list(links: &[Link], out: &mut String) {
    out.push_str("<ul>\n");
    for link in links {
        out.push_str("<li><a href=\"");
        out.push_str(&link.href.replace('&', "&amp;"));
        out.push_str(if link.nofollow {
            "\" rel=\"nofollow\">"
        } else {
            "\">"
        });
        out.push_str(&link.anchor);
        out.push_str("</a></li>\n");
    }
    out.push_str("</ul>\n");
}
