//! A record to a capture: HTTP layer, character set, title, text, links, language; WAT and WET.
//!
//! Pure functions from a [`warc::Record`] to an [`Extracted`]; no input or output of its own, no state
//! between records.
//!
//! Invariants:
//! - no bytes make it panic, and none cost more than time and memory linear in the record and in the
//!   limits stated here ([`LINKS_MAX`], [`TEXT_BYTES_MAX`], 16 MiB of decoded payload);
//! - every record gets exactly one outcome, and one that should be a capture and cannot be says why, in
//!   one of the words of [`reason`].

mod capture;
mod charset;
mod digest;
mod header;
mod html;
mod http;
mod language;
mod links;
mod mime;
mod page;
mod payload;
pub mod reason;
mod redirect;
mod resolve;
mod simple;
mod target;
mod text;
mod text_reader;
mod wat;
mod wet;

pub use header::{HeaderFacts, header_facts};
pub use html::{TEXT_BYTES_MAX, title};
pub use links::{ANCHOR_CHARS_MAX, LINKS_MAX};
pub use payload::PayloadReader;
pub use text_reader::TextReader;

use serde::{Deserialize, Serialize};

/// What is wanted of a record.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which links are kept.
    pub links: LinkScope,
    /// Whether page text is wanted (search off: no text).
    pub text: bool,
}

/// Which links of a page are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum LinkScope {
    /// Every link but those to the page's own key.
    #[default]
    All,
    /// Only links whose target's registered domain differs from the source's.
    External,
}

impl LinkScope {
    /// Its word on the command line and in answers.
    pub fn name(self) -> &'static str {
        match self {
            LinkScope::All => "all",
            LinkScope::External => "external",
        }
    }
}

impl std::fmt::Display for LinkScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Outcome for one record.
#[derive(Debug)]
pub enum Extracted {
    /// Counted, not captured (warcinfo, request, dns, ...).
    Counted,
    /// A capture.
    Capture(Box<Capture>),
    /// Should be a capture but cannot be: goes to quarantine.
    Unusable(warc::Defect),
}

/// One archived answer for a URL at a time (docs/views.md).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capture {
    /// SURT form of `url`.
    pub url_key: String,
    /// The URL as archived.
    pub url: String,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fetch_time_ms: i64,
    /// Declared Content-Type without parameters, lower case; `unk`; `warc/revisit`.
    pub mime: String,
    /// HTTP status, 0 if there is none.
    pub status: u16,
    /// Payload digest without label, as declared, else SHA-1 in Base32.
    pub digest: String,
    /// First byte of the record in its input.
    pub offset: u64,
    /// Bytes of the record in its input, as stored.
    pub length: u64,
    /// Where it comes from.
    pub kind: CaptureKind,
    /// The page, where the capture is HTML with status 2xx or a resource (by the record itself, or by what
    /// WAT says of it), or comes from WET.
    pub page: Option<Page>,
    /// For status 3xx: the `Location` target, as the only link.
    pub redirect: Option<Link>,
    /// For status 3xx: whether the `Location`, resolved, has the capture's own URL key, as from http to https or
    /// from the apex to `www`. Such a capture is never current: it would hide the page behind its own address.
    #[serde(default)]
    pub redirects_to_itself: bool,
}

/// Kind of record a capture was made from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaptureKind {
    /// Text alone, of a WET `conversion`.
    Wet,
    /// What a WAT `metadata` record tells of a response.
    Wat,
    /// A WARC `revisit`: the payload is that of an earlier capture.
    Revisit,
    /// A document of an ARC file.
    Arc,
    /// A WARC `resource`.
    Resource,
    /// A WARC `response`.
    #[default]
    Response,
}

impl CaptureKind {
    /// Its word in answers and dumps.
    pub fn name(self) -> &'static str {
        match self {
            CaptureKind::Wet => "wet",
            CaptureKind::Wat => "wat",
            CaptureKind::Revisit => "revisit",
            CaptureKind::Arc => "arc",
            CaptureKind::Resource => "resource",
            CaptureKind::Response => "response",
        }
    }
}

impl std::fmt::Display for CaptureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What a page says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Title, white space collapsed, at most 1,024 characters; of WET the first line.
    pub title: String,
    /// Visible text, at most 1 MiB; empty where the source has none (WAT).
    pub text: String,
    /// Whether `text` was cut.
    pub text_truncated: bool,
    /// BCP 47 language: declared, else detected; empty if unknown.
    pub language: String,
    /// `link rel=canonical`, resolved.
    pub canonical: Option<String>,
    /// `meta name=robots`, lower case.
    pub robots: Option<String>,
    /// Links (docs/views.md), one per target key, in document order.
    pub links: Vec<Link>,
    /// Links not kept: beyond 10,000, or longer than 64 KiB.
    pub links_dropped: u32,
}

/// A link from the page to a URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Key of the target.
    pub url_key: String,
    /// Resolved target, without fragment.
    pub url: String,
    /// First non-empty anchor text, at most 256 characters.
    pub anchor: String,
    /// All occurrences are nofollow, ugc or sponsored.
    pub nofollow: bool,
}

/// Turns one record into its outcome. Never panics, whatever the bytes.
pub fn extract(record: &warc::Record, settings: &Settings) -> Extracted {
    match record.kind {
        warc::Kind::Response => capture::extract_response(record, settings),
        warc::Kind::Resource => capture::extract_resource(record, settings),
        warc::Kind::Revisit => capture::extract_revisit(record),
        warc::Kind::Metadata => wat::extract(record, settings),
        warc::Kind::Conversion => wet::extract(record, settings),
        _ => Extracted::Counted,
    }
}

/// What is wrong with a record that may be a capture all the same, beside the defects that it was read with.
pub fn defect_of(record: &warc::Record) -> Option<warc::Defect> {
    capture::http_defect(record)
}

#[cfg(test)]
mod tests;
