//! A record to be written: kind, header fields and block. Digests and id are computed when it is
//! written.

use crate::record::digest::sha1_base32;
use crate::record::headers::Headers;
use crate::record::http::http_header_length;
use crate::record::{Kind, Record};

/// A record to be written by [`crate::Writer`].
///
/// ```
/// let http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>hello".to_vec();
/// let draft = warc::Draft::response("http://example.com/", 0, http)
///     .field("WARC-IP-Address", "127.0.0.1");
/// let mut writer = warc::Writer::new(Vec::new(), warc::Compression::GZIP).unwrap();
/// let span = writer.write(&draft).unwrap();
/// assert_eq!(span.offset, 0);
/// ```
#[derive(Debug, Clone)]
pub struct Draft {
    pub(crate) kind: Kind,
    pub(crate) fields: Headers,
    pub(crate) block: Vec<u8>,
    /// Offset of the payload in the block, if the record has a payload.
    pub(crate) payload_start: Option<usize>,
    pub(crate) digests: bool,
}

impl Draft {
    /// Creates a record of any kind; `date_ms` is in milliseconds since 1970.
    pub fn new(kind: Kind, date_ms: i64, block: Vec<u8>) -> Draft {
        let mut fields = Headers::new();
        fields.push("WARC-Date", &format::date::iso_short(date_ms));
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

    /// Creates an HTTP response: `block` contains status line, headers, empty line and body.
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

    /// Creates an HTTP request: `block` contains the whole message.
    pub fn request(url: &str, date_ms: i64, block: Vec<u8>) -> Draft {
        Draft::of_url(
            Kind::Request,
            url,
            date_ms,
            "application/http; msgtype=request",
            block,
        )
    }

    /// Creates a resource: content without an HTTP header.
    pub fn resource(url: &str, date_ms: i64, content_type: &str, block: Vec<u8>) -> Draft {
        Draft {
            payload_start: Some(0),
            ..Draft::of_url(Kind::Resource, url, date_ms, content_type, block)
        }
    }

    /// Creates a metadata record of a URL, for example a WAT record.
    pub fn metadata(url: &str, date_ms: i64, content_type: &str, block: Vec<u8>) -> Draft {
        Draft::of_url(Kind::Metadata, url, date_ms, content_type, block)
    }

    /// Creates a conversion, for example the plain text of a WET record.
    pub fn conversion(url: &str, date_ms: i64, content_type: &str, block: Vec<u8>) -> Draft {
        Draft::of_url(Kind::Conversion, url, date_ms, content_type, block)
    }

    /// Creates a revisit of unchanged content, with only the HTTP header and the payload digest
    /// (`sha1:...`) of the record that it repeats.
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

    /// Creates a warcinfo record, which describes the file with lines of `name: value`.
    pub fn warcinfo(date_ms: i64, fields: &[(&str, &str)]) -> Draft {
        let lines = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let draft = Draft::new(Kind::Warcinfo, date_ms, lines.collect::<String>().into_bytes());
        draft.field("Content-Type", "application/warc-fields")
    }

    /// Adds a header field. Line ends in the value are replaced by spaces.
    pub fn field(mut self, name: &str, value: &str) -> Draft {
        if value.contains(['\r', '\n']) {
            // A line end in a value would begin a new field.
            self.fields.push(name, &value.replace(['\r', '\n'], " "))
        } else {
            self.fields.push(name, value)
        }
        self
    }

    /// Omits digests, which is faster for generated data.
    pub fn without_digests(mut self) -> Draft {
        self.digests = false;
        self
    }

    /// Returns the memory of the block, for the next draft.
    pub fn into_block(self) -> Vec<u8> {
        self.block
    }

    /// Appends the record as in an uncompressed file. `ordinal` makes the ids of equal records
    /// differ.
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
            // The length of the block is computed below; the field of a record that was read may be
            // wrong.
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
        // Two line ends follow every block (WARC 1.1, clause 4). Content-Length does not include
        // them.
        into.extend_from_slice(b"\r\n\r\n");
    }

    /// Computes the id from the content, so that writing the same records again gives the same
    /// bytes.
    fn record_id(&self, ordinal: u64, block_digest: &str) -> String {
        let url = self.fields.get("WARC-Target-URI").unwrap_or_default();
        let date = self.fields.get("WARC-Date").unwrap_or_default();
        let seed = format!("{ordinal}\n{}\n{url}\n{date}\n{block_digest}", self.kind.as_str());
        let mut id = [0; 16];
        id.copy_from_slice(&<sha1::Sha1 as sha1::Digest>::digest(seed.as_bytes())[..16]);
        // Version 8 and the variant bits (RFC 9562): a UUID defined by the application.
        id[6] = id[6] & 0x0f | 0x80;
        id[8] = id[8] & 0x3f | 0x80;
        let hex = data_encoding::HEXLOWER.encode(&id);
        let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
        format!("<urn:uuid:{a}-{b}-{c}-{d}-{e}>")
    }
}

impl From<Record> for Draft {
    /// Creates a draft from a record that was read, with its fields and digests unchanged. The body
    /// must be complete.
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
