//! One record: its position, header fields and block.

pub(crate) mod arc;
pub(crate) mod date;
pub(crate) mod digest;
pub(crate) mod head;
pub(crate) mod headers;
pub(crate) mod http;
pub(crate) mod line;
pub(crate) mod payload;
pub(crate) mod start;
pub(crate) mod warc;

use crate::reason;
use crate::record::headers::Headers;
use crate::span::{Defect, Span};

/// A WARC or ARC record: its headers, and as much of the block as the settings allow.
#[derive(Debug, Clone)]
pub struct Record {
    /// The record's position in the file.
    pub span: Span,
    /// The format and its version.
    pub format: Format,
    /// The kind of the record.
    pub kind: Kind,
    /// Header fields in file order (for ARC: the fields of the header line under WARC names).
    pub headers: Headers,
    /// The first bytes of the block, at most `ReaderSettings::body_bytes_max`.
    pub body: Vec<u8>,
    /// Length of the whole block in bytes, including bytes that are not in `body`.
    pub body_length: u64,
    /// SHA-1 of the payload after transfer decoding, in Base32. Computed while reading, and only if
    /// it cannot be computed from `body` (which is not the whole block) and no payload digest is
    /// declared.
    pub payload_sha1: Option<String>,
    /// Defects that do not prevent use (wrong length, digest mismatch, missing line ends,
    /// truncation).
    pub defects: Vec<Defect>,
}

impl Record {
    /// Reports whether `body` is the whole block.
    pub fn body_is_whole(&self) -> bool {
        self.body.len() as u64 == self.body_length
    }

    /// Reports whether the block could not be read to its end, or the checksum of its compressed
    /// member does not agree.
    pub fn is_damaged(&self) -> bool {
        self.defects.iter().any(|defect| reason::is_damage(defect.reason))
    }

    /// Returns `WARC-Target-URI` (for ARC: the URL of the record), without the angle brackets that
    /// some writers add.
    pub fn target(&self) -> Option<&str> {
        let target = self.headers.get("WARC-Target-URI")?;
        let bare = target.strip_prefix('<').and_then(|t| t.strip_suffix('>'));
        Some(bare.unwrap_or(target))
    }

    /// Reports whether the block is an HTTP message: by its `Content-Type`, or by its first bytes
    /// for ARC and for records without this field.
    pub fn is_http(&self) -> bool {
        is_http(self.format, self.kind, &self.headers, &self.body)
    }
}

pub(crate) fn is_http(format: Format, kind: Kind, headers: &Headers, block_start: &[u8]) -> bool {
    if !matches!(kind, Kind::Response | Kind::Request | Kind::Revisit) {
        return false;
    }
    let begins = |text: &str, prefix: &str| {
        text.get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    if let (Format::Warc(..), Some(declared)) = (format, headers.get("Content-Type")) {
        return begins(declared.trim_start(), "application/http");
    }
    let target = headers.get("WARC-Target-URI").unwrap_or_default();
    begins(target.trim_start_matches('<'), "http") && block_start.starts_with(b"HTTP")
}

/// The file format of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `WARC/x.y`, as major and minor number.
    Warc(u8, u8),
    /// ARC version 1 or 2.
    Arc(u8),
}

/// The type of a record (`WARC-Type`). ARC documents are `Response` (or `Warcinfo` for the file
/// header).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // variants have WARC's names
pub enum Kind {
    Warcinfo,
    Response,
    Resource,
    Request,
    Metadata,
    Revisit,
    Conversion,
    Continuation,
    Unknown,
}

impl Kind {
    /// All kinds, in the order in which they are printed.
    pub const ALL: [Kind; 9] = [
        Kind::Warcinfo,
        Kind::Response,
        Kind::Resource,
        Kind::Request,
        Kind::Metadata,
        Kind::Revisit,
        Kind::Conversion,
        Kind::Continuation,
        Kind::Unknown,
    ];

    /// Returns the value of `WARC-Type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Warcinfo => "warcinfo",
            Kind::Response => "response",
            Kind::Resource => "resource",
            Kind::Request => "request",
            Kind::Metadata => "metadata",
            Kind::Revisit => "revisit",
            Kind::Conversion => "conversion",
            Kind::Continuation => "continuation",
            Kind::Unknown => "unknown",
        }
    }

    /// Parses `WARC-Type`, ignoring case. An unknown value gives [`Kind::Unknown`].
    pub fn parse(word: &str) -> Kind {
        let known = Kind::ALL
            .into_iter()
            .find(|kind| word.eq_ignore_ascii_case(kind.as_str()));
        known.unwrap_or(Kind::Unknown)
    }
}
