//! A visit as WAT: the metadata of its request, response and metadata records as JSON, in Common
//! Crawl's layout of 2024.
//!
//! Lengths, offsets and digests of the described records are invented, because those records are
//! not written. The title, the links and the dates equal those of the WARC format.

use super::ballast::{Ballasts, push};
use super::member::Members;
use super::page::{Crawl, Link, Page, Visit};
use super::random::Random;
use super::record::{Facts, append_head, fake_digest, warcinfo_id};
use super::warc::{append_around, plain_length, url_parts};

/// Number of pieces of ballast in a page: a visit then has about 9.6 KB compressed.
const BALLAST_MIN: u64 = 6;
const BALLAST_SPREAD: u64 = 14;

/// Number of bytes that the records of a visit would have in the WARC file.
const WARC_BYTES: u64 = 30_000;

/// Writes visits as WAT.
#[derive(Debug)]
pub(super) struct WatForm {
    pub ballasts: Ballasts,
}

/// A WAT record being built.
struct Generator<'a> {
    page: &'a Page,
    facts: &'a Facts,
    warcinfo: &'a str,
    /// Source of invented numbers.
    random: Random,
    offset: u64,
}

impl WatForm {
    /// Appends the three records of a visit.
    pub(super) fn append(
        &self,
        crawl: &Crawl,
        visit: Visit,
        page: &Page,
        members: &mut Members,
        out: &mut Vec<u8>,
    ) {
        let seed = crawl.web.seed;
        let mut maker = Generator {
            page,
            facts: &Facts::of(seed, visit),
            warcinfo: &warcinfo_id(seed),
            random: Random::of(seed, &[23, visit.index]),
            offset: visit.index * WARC_BYTES,
        };
        maker.append_request(members, out);
        let count = BALLAST_MIN + maker.random.below(BALLAST_SPREAD);
        let ballast = self.ballasts.choose(count, &mut maker.random);
        let before = maker.response_to_links();
        let after = maker.response_from_links();
        let facts = maker.facts;
        let length = before.len() + plain_length(&ballast) + after.len();
        let mut text = maker.head(&facts.response_id, length);
        text.push_str(&before);
        append_around(&text, &ballast, &after, members, out);
        maker.append_metadata(members, out);
    }
}

impl Generator<'_> {
    fn append_request(&mut self, members: &mut Members, out: &mut Vec<u8>) {
        let (_, path, host) = url_parts(self.page);
        let mut json = self.container();
        push(
            &mut json,
            format_args!(
                r#"{{"Actual-Content-Type":"application/http; msgtype=request","HTTP-Request-Metadata":{{"Request-Message":{{"Method":"GET","Path":"{path}","Version":"HTTP/1.1"}},"Headers-Length":"263","Headers":{{"User-Agent":"weft-synth","Accept":"text/html,application/xhtml+xml","Accept-Language":"en-US,en;q=0.5","Accept-Encoding":"gzip","Host":"{host}","Connection":"Keep-Alive"}},"Entity-Length":"0","Entity-Digest":"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ","Entity-Trailing-Slop-Length":"0"}},"#,
            ),
        );
        let id = &self.facts.request_id;
        self.append_envelope_end("request", "application/http; msgtype=request", id, 265, &mut json);
        let text = self.head(id, json.len());
        append_around(&text, &[], &json, members, out);
    }

    fn append_metadata(&mut self, members: &mut Members, out: &mut Vec<u8>) {
        let mut json = self.container();
        push(
            &mut json,
            format_args!(
                r#"{{"Actual-Content-Type":"application/metadata-fields","WARC-Metadata-Metadata":{{"Metadata-Records":[{{"Name":"fetchTimeMs","Value":"{}"}},{{"Name":"charset-detected","Value":"UTF-8"}}]}},"#,
                self.random.below(2000)
            ),
        );
        let id = &self.facts.metadata_id;
        self.append_envelope_end("metadata", "application/warc-fields", id, 201, &mut json);
        let text = self.head(id, json.len());
        append_around(&text, &[], &json, members, out);
    }

    /// Returns the header of the WAT record that describes the record `id`.
    fn head(&mut self, id: &str, length: usize) -> String {
        let own_id = format!("<urn:uuid:{:08x}{}", self.random.bits() as u32, &id[18..]);
        let fields = [
            ("WARC-Type", "metadata"),
            ("WARC-Target-URI", self.page.url.as_str()),
            ("WARC-Date", &self.facts.date),
            ("WARC-Record-ID", &own_id),
            ("WARC-Refers-To", id),
            ("Content-Type", "application/json"),
        ];
        let mut text = String::with_capacity(1024);
        append_head(&fields, length, &mut text);
        text
    }

    /// Returns the JSON up to the payload's metadata.
    fn container(&mut self) -> String {
        let mut json = String::with_capacity(2048);
        self.offset += self.random.below(WARC_BYTES / 3);
        push(
            &mut json,
            format_args!(
                r#"{{"Container":{{"Filename":"synth.warc.gz","Compressed":true,"Offset":"{}","Gzip-Metadata":{{"Deflate-Length":"{}","Header-Length":"10","Footer-Length":"8","Inflated-CRC":"{}","Inflated-Length":"{}"}}}},"Envelope":{{"Payload-Metadata":"#,
                self.offset,
                400 + self.random.below(WARC_BYTES),
                self.random.bits() as u32,
                1000 + self.random.below(4 * WARC_BYTES),
            ),
        );
        json
    }

    /// Appends the rest of the JSON, from the end of the payload's metadata.
    fn append_envelope_end(
        &mut self,
        kind: &str,
        content_type: &str,
        id: &str,
        length: u64,
        json: &mut String,
    ) {
        push(
            json,
            format_args!(r#""Actual-Content-Length":"{length}","Trailing-Slop-Length":"4","Block-Digest":""#),
        );
        fake_digest(&mut self.random, json);
        push(
            json,
            format_args!(
                r#""}},"Format":"WARC/1.0","WARC-Header-Length":"{}","WARC-Header-Metadata":{{"WARC-Type":"{kind}","WARC-Date":"{}","WARC-Record-ID":"{id}","Content-Length":"{length}","Content-Type":"{content_type}","WARC-Warcinfo-ID":"{}","WARC-IP-Address":"{}","WARC-Target-URI":"{}"#,
                350 + self.page.url.len(),
                self.facts.date,
                self.warcinfo,
                self.facts.ip,
                self.page.url,
            ),
        );
        if kind == "response" {
            push(
                json,
                format_args!(
                    r#"","WARC-Concurrent-To":"{}","WARC-Payload-Digest":""#,
                    self.facts.request_id
                ),
            );
            fake_digest(&mut self.random, json);
            json.push_str(r#"","WARC-Identified-Payload-Type":"text/html"#);
        }
        json.push_str(r#""}}}"#);
    }

    /// Returns the response's JSON up to its last link.
    fn response_to_links(&mut self) -> String {
        let mut json = self.container();
        json.reserve(8 * 1024);
        push(
            &mut json,
            format_args!(
                r#"{{"Actual-Content-Type":"application/http; msgtype=response","HTTP-Response-Metadata":{{"Response-Message":{{"Version":"HTTP/1.1","Status":"200","Reason":"OK"}},"Headers-Length":"{}","Headers":{{"Date":"{}","Content-Type":"text/html; charset=utf-8","Content-Length":"{}","Connection":"keep-alive","Server":"nginx"}},"HTML-Metadata":{{"Head":{{"Title":"{}","Metas":[{{"name":"description","content":"{}"}},{{"name":"viewport","content":"width=device-width, initial-scale=1"}}]}},"Links":["#,
                170 + self.random.below(9),
                self.facts.http_date,
                20_000 + self.random.below(4 * WARC_BYTES),
                self.page.title,
                self.page.description,
            ),
        );
        for (i, link) in self.page.links.iter().enumerate() {
            if i > 0 {
                json.push(',');
            }
            append_link(link, &mut json);
        }
        json
    }

    /// Returns the response's JSON after its links.
    fn response_from_links(&mut self) -> String {
        let mut json = String::with_capacity(1024);
        let length = 20_000 + self.random.below(4 * WARC_BYTES);
        push(
            &mut json,
            format_args!(r#"]}},"Entity-Length":"{length}","Entity-Digest":""#),
        );
        fake_digest(&mut self.random, &mut json);
        json.push_str(r#"","Entity-Trailing-Slop-Length":"0"},"#);
        let id = &self.facts.response_id;
        let content_type = "application/http; msgtype=response";
        self.append_envelope_end("response", content_type, id, length + 170, &mut json);
        json
    }
}

/// Appends a link. URLs and words of the generated web contain no characters that JSON must escape.
fn append_link(link: &Link, json: &mut String) {
    json.push_str(r#"{"path":"A@/href","url":""#);
    json.push_str(&link.href);
    if link.nofollow {
        json.push_str(r#"","rel":"nofollow"#);
    }
    if !link.anchor.is_empty() {
        json.push_str(r#"","text":""#);
        json.push_str(&link.anchor);
    }
    json.push_str(r#""}"#);
}
