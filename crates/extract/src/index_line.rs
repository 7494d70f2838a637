//! A capture that is known from a line of an index, without its record.

use crate::CaptureKind;

/// Declared type of a revisit, in indexes as in captures.
const REVISIT: &str = "warc/revisit";

/// A capture as an index tells of it, or an alias (`@alias` of OutbackCDX): a URL whose captures are those of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexLine {
    /// URL key of `url`, not the key that the index has: other tools make others.
    pub url_key: String,
    /// Milliseconds since 1970; indexes have whole seconds.
    pub fetch_time_ms: i64,
    /// As archived.
    pub url: String,
    /// Declared type.
    pub mime: String,
    /// HTTP status, 0 if there is none.
    pub status: u16,
    /// Payload digest in the form of [`Capture::digest`](crate::Capture::digest); `-` if there is none.
    pub digest: String,
    /// The file that has the record, as the index names it.
    pub filename: String,
    /// First byte of the record in that file.
    pub record_offset: u64,
    /// Bytes of the record as stored; 0 where the index does not say.
    pub record_length: u64,
    /// First byte of the line in the index, decompressed.
    pub offset: u64,
    /// Bytes of the line, with its end.
    pub length: u64,
    /// Of an alias, the URL that `url` stands for; then the time is [`IndexLine::ALIAS_TIME_MS`], and there is neither file
    /// nor digest.
    pub alias_of: Option<String>,
}

impl IndexLine {
    /// The time of aliases, the end of the year 9999: later than any capture, so that takedowns of what is older pass them over.
    pub const ALIAS_TIME_MS: i64 = 253_402_300_799_000;

    /// What the record is, as far as an index says.
    pub fn kind(&self) -> CaptureKind {
        match self.mime.as_str() {
            REVISIT => CaptureKind::Revisit,
            _ => CaptureKind::Response,
        }
    }
}
