//! A record to be written: kind, header fields and block, with digests and id filled in when it is.

use crate::record::digest::sha1_base32;
use crate::record::headers::Headers;
use crate::record::http::http_header_length;
use crate::record::{Kind, Record};

/// A record to be written by [`crate::Writer`].
///
/// ```
/// let http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>hello".to_vec();
/// let draft = warc::Draft::response("http://example.com/", 0, http).field("WARC-IP-Address", "127.0.0.1");
/// let mut writer = warc::Writer::new(Vec::new(), warc::Compression::GZIP).unwrap();
/// let span = writer.write(&draft).unwrap();
/// assert_eq!(span.offset, 0);
/// ```
#[derive(Debug, Clone)]
pub struct Draft {
    pub(crate) kind: Kind,
    pub(crate) fields: Headers,
    pub(crate) block: Vec<u8>,
    /// Where the payload begins in the block, if the record has one.
    pub(crate) payload_start: Option<usize>,
    pub(crate) digests: bool,
}

impl Draft {
    /// A record of any kind; `date_ms` is in milliseconds since 1970.
    pub fn new(kind: Kind, date_ms: i64, block: Vec<u8>) -> Draft {
        let mut fields = Headers::new();
        fields.push("WARC-Date", &civil::iso_short(date_ms));
        Draft {
            kind,
            fields,
            block,
            payload_start: None,
            digests: true,
        }
    }

    fn of_url(kind: Kind, url: &str, date_ms: i64, content_type: &str, block: Vec<u8>) -> Draft {
        let draft = Draft::new(kind, date_ms, block);
        draft
            .field("WARC-Target-URI", url)
            .field("Content-Type", content_type)
    }

    /// An HTTP response: `block` is status line, headers, empty line and body.
    pub fn response(url: &str, date_ms: i64, block: Vec<u8>) -> Draft {
        let start = http_header_length(&block);
        let draft = Draft::of_url(
            Kind::Response,
            url,
            date_ms,
            "application/http; msgtype=response",
            block,
        );
        Draft {
            payload_start: start,
            ..draft
        }
    }

    /// An HTTP request.
    pub fn request(url: &str, date_ms: i64, block: Vec<u8>) -> Draft {
        Draft::of_url(
            Kind::Request,
            url,
            date_ms,
            "application/http; msgtype=request",
            block,
        )
    }

    /// A resource: content without an HTTP header.
    pub fn resource(url: &str, date_ms: i64, content_type: &str, block: Vec<u8>) -> Draft {
        Draft {
            payload_start: Some(0),
            ..Draft::of_url(Kind::Resource, url, date_ms, content_type, block)
        }
    }

    /// Metadata of a URL, for example a WAT record.
    pub fn metadata(url: &str, date_ms: i64, content_type: &str, block: Vec<u8>) -> Draft {
        Draft::of_url(Kind::Metadata, url, date_ms, content_type, block)
    }

    /// A conversion, for example the plain text of a WET record.
    pub fn conversion(url: &str, date_ms: i64, content_type: &str, block: Vec<u8>) -> Draft {
        Draft::of_url(Kind::Conversion, url, date_ms, content_type, block)
    }

    /// A revisit of unchanged content: the HTTP header alone, and the payload digest (`sha1:...`) of what it
    /// repeats.
    pub fn revisit(url: &str, date_ms: i64, payload_digest: &str, http_header: Vec<u8>) -> Draft {
        let profile = "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest";
        let draft = Draft::of_url(
            Kind::Revisit,
            url,
            date_ms,
            "application/http; msgtype=response",
            http_header,
        );
        draft
            .field("WARC-Profile", profile)
            .field("WARC-Payload-Digest", payload_digest)
    }

    /// A description of the file: lines of `name: value`.
    pub fn warcinfo(date_ms: i64, fields: &[(&str, &str)]) -> Draft {
        let lines = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let draft = Draft::new(Kind::Warcinfo, date_ms, lines.collect::<String>().into_bytes());
        draft.field("Content-Type", "application/warc-fields")
    }

    /// Adds a header field. Line ends in the value are replaced by spaces.
    pub fn field(mut self, name: &str, value: &str) -> Draft {
        match value.contains(['\r', '\n']) {
            true => self.fields.push(name, &value.replace(['\r', '\n'], " ")),
            false => self.fields.push(name, value),
        }
        self
    }

    /// Leaves digests out: faster, for made-up data.
    pub fn without_digests(mut self) -> Draft {
        self.digests = false;
        self
    }

    /// The block's memory, for the next draft.
    pub fn into_block(self) -> Vec<u8> {
        self.block
    }

    /// Appends the record as it stands in an uncompressed file. `ordinal` keeps ids of equal records apart.
    pub(crate) fn encode(&self, ordinal: u64, into: &mut Vec<u8>) {
        let mut header = String::with_capacity(512);
        header.push_str("WARC/1.1\r\n");
        let mut put = |name: &str, value: &str| {
            for part in [name, ": ", value, "\r\n"] {
                header.push_str(part);
            }
        };
        if self.fields.get("WARC-Type").is_none() {
            put("WARC-Type", self.kind.as_str());
        }
        let block_digest = self.digests.then(|| sha1_base32(&self.block));
        if self.fields.get("WARC-Record-ID").is_none() {
            put(
                "WARC-Record-ID",
                &self.record_id(ordinal, block_digest.as_deref().unwrap_or_default()),
            );
        }
        for (name, value) in self.fields.iter() {
            if !name.eq_ignore_ascii_case("Content-Length") {
                put(name, value);
            }
        }
        if let Some(digest) = block_digest
            && self.fields.get("WARC-Block-Digest").is_none()
        {
            put("WARC-Block-Digest", &format!("sha1:{digest}"));
        }
        if let Some(start) = self.payload_start.filter(|_| self.digests)
            && self.fields.get("WARC-Payload-Digest").is_none()
        {
            put(
                "WARC-Payload-Digest",
                &format!("sha1:{}", sha1_base32(&self.block[start..])),
            );
        }
        put("Content-Length", &self.block.len().to_string());
        into.extend_from_slice(header.as_bytes());
        into.extend_from_slice(b"\r\n");
        into.extend_from_slice(&self.block);
        into.extend_from_slice(b"\r\n\r\n");
    }

    /// An id made from the content, so that the same records written again are the same bytes.
    fn record_id(&self, ordinal: u64, block_digest: &str) -> String {
        let url = self.fields.get("WARC-Target-URI").unwrap_or_default();
        let date = self.fields.get("WARC-Date").unwrap_or_default();
        let seed = format!("{ordinal}\n{}\n{url}\n{date}\n{block_digest}", self.kind.as_str());
        let mut id = [0; 16];
        id.copy_from_slice(&<sha1::Sha1 as sha1::Digest>::digest(seed.as_bytes())[..16]);
        // Version 8: made by a rule of one's own.
        id[6] = id[6] & 0x0f | 0x80;
        id[8] = id[8] & 0x3f | 0x80;
        let hex = data_encoding::HEXLOWER.encode(&id);
        let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
        format!("<urn:uuid:{a}-{b}-{c}-{d}-{e}>")
    }
}

impl From<Record> for Draft {
    /// A record as read, to be written again: its fields and digests stay as they are. The body must be whole.
    fn from(record: Record) -> Draft {
        Draft {
            kind: record.kind,
            fields: record.headers,
            block: record.body,
            payload_start: None,
            digests: false,
        }
    }
}
