//! The result of extracting a record: a capture with its page and links (docs/views.md), or the
//! reason for its absence.

use serde::{Deserialize, Serialize};

use crate::{Image, IndexLine};

/// The outcome for one record.
#[derive(Debug)]
pub enum Extracted {
    /// The record is counted, but is no capture (warcinfo, request, dns, ...).
    Counted,
    /// A capture.
    Capture(Box<Capture>),
    /// An attachment of a page ([`IndexLine::is_attachment`]).
    Attachment(Box<IndexLine>),
    /// The record should be a capture but cannot be: it goes to quarantine.
    Unusable(warc::Defect),
}

/// One archived response for a URL at a time (docs/views.md).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// SURT form of `url`.
    pub url_key: String,
    /// The URL as archived.
    pub url: String,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fetch_time_ms: i64,
    /// Declared Content-Type without parameters, in lower case; `unk` if none is declared;
    /// `warc/revisit` for a revisit.
    pub mime: String,
    /// HTTP status; 0 if unknown.
    pub status: u16,
    /// Request method from the request record; empty if unknown.
    #[serde(default)]
    pub method: String,
    /// What the response lacks to be a version of its page, whatever its status.
    #[serde(default)]
    pub shortfall: Shortfall,
    /// Payload digest without label: the declared one, or else the SHA-1 in Base32.
    pub digest: String,
    /// Offset of the record in its input, in stored bytes.
    pub offset: u64,
    /// Length of the record in its input, in stored bytes.
    pub length: u64,
    /// The kind of record that it comes from.
    pub kind: CaptureKind,
    /// The page, if the capture is HTML with status 2xx or is a resource (judged by the record
    /// itself or by its WAT), or comes from WET.
    pub page: Option<Page>,
    /// The content for search of a capture that is no page, but plain text, a feed, a PDF or an
    /// office file with status 2xx (or a resource). It has no links.
    #[serde(default)]
    pub document: Option<Box<Page>>,
    /// Why the document has no text. Set when the record is read, and not stored.
    #[serde(skip)]
    pub document_defect: Option<warc::Defect>,
    /// For status 3xx: the target of `Location`, as the only link.
    pub redirect: Option<Link>,
    /// For status 3xx: whether the resolved `Location` has the same URL key as the capture, as from
    /// http to https or from the apex to `www`. Such a capture is never current, because it would
    /// hide the page behind its own address.
    #[serde(default)]
    pub redirects_to_itself: bool,
    /// The reference of a revisit; `None` for other captures, and for a revisit that names no URL.
    #[serde(default)]
    pub refers_to: Option<Box<RefersTo>>,
    /// The original of a revisit of another URL: the capture with its content. Records do not name
    /// it; it is found among all captures.
    #[serde(default)]
    pub original: Option<Box<Original>>,
    /// Why the payload is incomplete: the reason of the crawler (`WARC-Truncated`: `length`,
    /// `time`, `disconnect`, ...), `segment`, or [`Capture::DAMAGED`]. Empty if no reason is known.
    #[serde(default)]
    pub truncated: String,
}

impl Capture {
    /// Value of `truncated` if the record was damaged after the crawl: it could not be read to its
    /// end, or the checksum of its compressed member does not agree.
    pub const DAMAGED: &'static str = "damaged";

    /// Returns whether the record was damaged.
    pub fn is_damaged(&self) -> bool {
        self.truncated == Capture::DAMAGED
    }

    /// Returns the capture's content for search: its page or its document.
    pub fn content(&self) -> Option<&Page> {
        self.page.as_ref().or(self.document.as_deref())
    }

    /// Returns the media type of a version of it: for a revisit of another URL, that of its
    /// original.
    pub fn shown_mime(&self) -> &str {
        self.original
            .as_ref()
            .map_or(&self.mime, |original| &original.mime)
    }

    /// Returns the status of a version of it.
    pub fn shown_status(&self) -> u16 {
        self.original
            .as_ref()
            .map_or(self.status, |original| original.status)
    }

    /// Returns the kind of record that its content comes from.
    pub fn content_kind(&self) -> CaptureKind {
        self.original.as_ref().map_or(self.kind, |original| original.kind)
    }

    /// As [`Capture::content`], for moving parts out.
    pub fn content_mut(&mut self) -> Option<&mut Page> {
        self.page.as_mut().or(self.document.as_deref_mut())
    }

    /// Returns the detected media type of the payload; empty if it was not examined. Only payloads
    /// of pages are, so this is `text/html` or `application/xhtml+xml`.
    pub fn mime_detected(&self) -> &'static str {
        let is_payload = !matches!(self.kind, CaptureKind::Wat | CaptureKind::Wet);
        match &self.page {
            Some(_) if is_payload && self.mime == "application/xhtml+xml" => "application/xhtml+xml",
            Some(_) if is_payload => "text/html",
            _ => "",
        }
    }
}

/// The reference of a revisit: `WARC-Refers-To-Target-URI` and `WARC-Refers-To-Date`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefersTo {
    /// URL key of the target.
    pub url_key: String,
    /// Milliseconds since 1970; `None` without a date.
    pub time_ms: Option<i64>,
}

/// The original of a revisit of another URL: the capture with its content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Original {
    /// URL key.
    pub url_key: String,
    /// Fetch time, in milliseconds since 1970.
    pub fetch_time_ms: i64,
    /// Number of its input.
    pub input: u32,
    /// Offset in its input.
    pub offset: u64,
    /// Media type.
    pub mime: String,
    /// HTTP status.
    pub status: u16,
    /// The kind of record that it comes from.
    pub kind: CaptureKind,
    /// Payload digest.
    pub digest: String,
}

impl Original {
    /// Returns a capture of an input as the original of a revisit.
    pub fn from_capture(capture: &Capture, input: u32) -> Original {
        Original {
            url_key: capture.url_key.clone(),
            fetch_time_ms: capture.fetch_time_ms,
            input,
            offset: capture.offset,
            mime: capture.mime.clone(),
            status: capture.status,
            kind: capture.kind,
            digest: capture.digest.clone(),
        }
    }
}

/// What a response lacks to be a version of its page (docs/views.md).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortfall {
    /// No known shortfall.
    #[default]
    None,
    /// The payload is empty, and the HTTP header has no `Refresh` to another key.
    Empty,
    /// It is part of a payload: status 206 without a range that covers the whole.
    Part,
    /// It is a 3xx without an http or https target.
    NoTarget,
}

impl Shortfall {
    /// All of them.
    const ALL: [Shortfall; 4] = [
        Shortfall::None,
        Shortfall::Empty,
        Shortfall::Part,
        Shortfall::NoTarget,
    ];

    /// Returns the shortfall with this name.
    pub fn named(name: &str) -> Option<Shortfall> {
        Shortfall::ALL
            .into_iter()
            .find(|shortfall| shortfall.name() == name)
    }

    /// Returns its name in facts; empty for none.
    pub fn name(self) -> &'static str {
        match self {
            Shortfall::None => "",
            Shortfall::Empty => "empty",
            Shortfall::Part => "part",
            Shortfall::NoTarget => "no_target",
        }
    }
}

/// The kind of record that a capture was made from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CaptureKind {
    /// A `conversion` to something other than plain text: never current, and without text. Also an
    /// attachment of a page, which is no capture.
    Conversion,
    /// A WET `conversion`: only the text.
    Wet,
    /// A WAT `metadata` record, which describes a response.
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
    /// All of them.
    const ALL: [CaptureKind; 7] = [
        CaptureKind::Conversion,
        CaptureKind::Wet,
        CaptureKind::Wat,
        CaptureKind::Revisit,
        CaptureKind::Arc,
        CaptureKind::Resource,
        CaptureKind::Response,
    ];

    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<CaptureKind> {
        CaptureKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns its name in responses and dumps.
    pub fn name(self) -> &'static str {
        match self {
            CaptureKind::Conversion => "conversion",
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

/// The content of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The title with collapsed white space, at most 1,024 characters; for WET the first line.
    pub title: String,
    /// The visible text, at most 1 MiB; empty if the source has none (WAT).
    pub text: String,
    /// Whether `text` was truncated.
    pub text_truncated: bool,
    /// The name of its character encoding in the Encoding Standard (`UTF-8`, `windows-1252`),
    /// declared or detected; empty if the source does not have the page itself (WAT, WET).
    #[serde(default)]
    pub charset: String,
    /// The language (BCP 47): the declared one, or else a detected one; empty if unknown.
    pub language: String,
    /// The target of `link rel=canonical`, resolved.
    pub canonical: Option<String>,
    /// The content of `meta name=robots` in lower case.
    pub robots: Option<String>,
    /// The links (docs/views.md), one per target key, in document order.
    pub links: Vec<Link>,
    /// The number of links not kept: those beyond 10,000 or longer than 64 KiB.
    pub links_dropped: u32,
    /// The images that the page shows, at most [`IMAGES_MAX`](crate::IMAGES_MAX), in document
    /// order. Known only if the page itself was read, with its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// A link from the page to a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The URL key of the target.
    pub url_key: String,
    /// The resolved target, without fragment.
    pub url: String,
    /// The first anchor text that is not empty, at most 256 characters.
    pub anchor: String,
    /// Whether all occurrences are nofollow, ugc or sponsored.
    pub nofollow: bool,
    /// The kind of the first occurrence.
    #[serde(default)]
    pub kind: LinkKind,
}

/// The element or header of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkKind {
    /// `a` with `href`.
    #[default]
    A,
    /// `area` with `href`.
    Area,
    /// `meta http-equiv=refresh`, or the `Refresh` of the HTTP header.
    Refresh,
    /// The `Location` of a redirect.
    Location,
}

impl LinkKind {
    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<LinkKind> {
        let all = [LinkKind::A, LinkKind::Area, LinkKind::Refresh, LinkKind::Location];
        all.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns its name in the table of links.
    pub fn name(self) -> &'static str {
        match self {
            LinkKind::A => "a",
            LinkKind::Area => "area",
            LinkKind::Refresh => "refresh",
            LinkKind::Location => "location",
        }
    }
}
