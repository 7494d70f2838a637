//! One edition as a crawler would have stored it: a warcinfo record, then of each address the
//! response or the revisit of an unchanged one, and the request.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use data_encoding::{BASE32, HEXLOWER};
use format::date;
use sha1::{Digest, Sha1};
use warc::{Compression, Draft, Writer};

use super::resource::Resource;

/// A stored response.
#[derive(Debug)]
struct Stored {
    payload_digest: String,
    record_id: String,
    date: String,
}

/// The crawls of the site, one after the other.
#[derive(Debug, Default)]
pub(super) struct Crawls {
    /// The last response of each address. Revisits refer to it.
    stored: HashMap<String, Stored>,
}

impl Crawls {
    /// Writes the crawl of `resources`. It begins at `begin_ms` and asks for one address a second.
    pub(super) fn write(&mut self, path: &Path, begin_ms: i64, resources: &[Resource]) -> io::Result<()> {
        let mut writer = Writer::create(path, Compression::GZIP)?;
        let info_id = record_id(&["warcinfo", &begin_ms.to_string()]);
        let about = [
            ("software", concat!("weft/", env!("CARGO_PKG_VERSION"))),
            ("format", "WARC File Format 1.1"),
            (
                "description",
                "the documentation of Weft as a web site, for weft demo",
            ),
        ];
        let info = Draft::warcinfo(begin_ms, &about);
        writer.write(&info.field("WARC-Record-ID", &info_id))?;
        for (resource, date_ms) in resources.iter().zip((begin_ms..).step_by(1000)) {
            for draft in self.visit(resource, date_ms, &info_id) {
                writer.write(&draft)?;
            }
        }
        writer.finish()?;
        Ok(())
    }

    /// Returns the records of a visit.
    fn visit(&mut self, resource: &Resource, date_ms: i64, info_id: &str) -> [Draft; 2] {
        let (url, date) = (resource.url.as_str(), date::iso_short(date_ms));
        let response_id = record_id(&["response", url, &date]);
        let payload_digest = format!("sha1:{}", BASE32.encode(&Sha1::digest(&resource.body)));
        let head = resource.http_head(&date::http_date(date_ms)).into_bytes();
        let earlier = self
            .stored
            .get(url)
            .filter(|earlier| resource.status == 200 && earlier.payload_digest == payload_digest);
        let answer = if let Some(earlier) = earlier {
            Draft::revisit(url, date_ms, &payload_digest, head)
                .field("WARC-Refers-To", &earlier.record_id)
                .field("WARC-Refers-To-Target-URI", url)
                .field("WARC-Refers-To-Date", &earlier.date)
        } else {
            let stored = Stored {
                payload_digest,
                record_id: response_id.clone(),
                date,
            };
            self.stored.insert(url.to_owned(), stored);
            Draft::response(url, date_ms, [head.as_slice(), &resource.body].concat())
        };
        let answer = common(answer.field("WARC-Record-ID", &response_id), info_id);
        let request = Draft::request(url, date_ms, request(url));
        let request = common(request.field("WARC-Concurrent-To", &response_id), info_id);
        [answer, request]
    }
}

/// Adds the fields that all records of a crawl have.
fn common(draft: Draft, info_id: &str) -> Draft {
    // An address for documentation (RFC 5737): no real host has it.
    draft
        .field("WARC-IP-Address", "192.0.2.10")
        .field("WARC-Warcinfo-ID", info_id)
}

/// Returns the request for an address.
fn request(url: &str) -> Vec<u8> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: weft-demo\r\nAccept: */*\r\n\r\n")
        .into_bytes()
}

/// Computes an id, so that the same site gives the same bytes.
fn record_id(parts: &[&str]) -> String {
    let mut id = [0; 16];
    id.copy_from_slice(&Sha1::digest(parts.join("\n"))[..16]);
    // Version 8 and the variant bits (RFC 9562): a UUID defined by the application.
    id[6] = id[6] & 0x0f | 0x80;
    id[8] = id[8] & 0x3f | 0x80;
    let hex = HEXLOWER.encode(&id);
    let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    format!("<urn:uuid:{a}-{b}-{c}-{d}-{e}>")
}
