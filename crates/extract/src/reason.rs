//! Reasons why a record that should be a capture is not one, and defects of captures: the fixed set
//! of [`warc::Defect`] reasons of this crate, in addition to those of `warc`.

/// The record has no WARC-Target-URI (for WAT: none in the envelope).
pub const MISSING_TARGET_URI: &str = "missing-target-uri";
/// The target cannot be a URL with a key.
pub const BAD_TARGET_URI: &str = "bad-target-uri";
/// The record has no WARC-Date, or no date in the ARC header line.
pub const MISSING_DATE: &str = "missing-date";
/// The date has no known format.
pub const BAD_DATE: &str = "bad-date";
/// A response with an http or https target has a block that does not begin like HTTP.
pub const NOT_HTTP: &str = "not-http";
/// The block of a WAT record is not the JSON of an envelope.
pub const BAD_WAT_JSON: &str = "bad-wat-json";
/// A Transfer-Encoding cannot be decoded. The record is a capture, but without text unless it turns
/// out to be HTML.
pub const TRANSFER_CODING_UNKNOWN: &str = "transfer-coding-unknown";
/// A record is one of several segments of a longer one. The first is a capture with incomplete
/// content; the content of the others is not read.
pub const SEGMENT: &str = "segment";
/// A document is damaged, encrypted, or not of its declared type: it has no text.
pub const DOCUMENT_UNREADABLE: &str = "document-unreadable";
/// The process that read a document crashed: it has no text.
pub const DOCUMENT_CRASH: &str = "document-crash";
/// A document took too long to read: it has no text this time.
pub const DOCUMENT_TIME: &str = "document-time";
/// A document took too much memory to read: it has no text this time.
pub const DOCUMENT_MEMORY: &str = "document-memory";
/// No process could be started to read a document: it has no text this time.
pub const DOCUMENT_NO_READER: &str = "document-no-reader";

/// Every reason, in the order of this file.
pub const ALL: &[&str] = &[
    MISSING_TARGET_URI,
    BAD_TARGET_URI,
    MISSING_DATE,
    BAD_DATE,
    NOT_HTTP,
    BAD_WAT_JSON,
    TRANSFER_CODING_UNKNOWN,
    SEGMENT,
    DOCUMENT_UNREADABLE,
    DOCUMENT_CRASH,
    DOCUMENT_TIME,
    DOCUMENT_MEMORY,
    DOCUMENT_NO_READER,
];
