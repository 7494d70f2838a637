//! A capture that is known from a line of an index, without its record.

use crate::{CaptureKind, target};

/// Media type of a revisit, in indexes as in captures.
const REVISIT: &str = "warc/revisit";

/// A capture as listed in an index, or an alias (`@alias` of OutbackCDX): a URL whose captures are
/// those of another URL. Or an attachment of a page ([`IndexLine::is_attachment`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexLine {
    /// URL key of `url`. The index's own key is not used, because other tools canonicalise
    /// differently.
    pub url_key: String,
    /// Milliseconds since 1970; indexes have whole seconds.
    pub fetch_time_ms: i64,
    /// URL as archived.
    pub url: String,
    /// Declared media type.
    pub mime: String,
    /// HTTP status, 0 if unknown.
    pub status: u16,
    /// Payload digest in the format of [`Capture::digest`](crate::Capture::digest); `-` if unknown.
    pub digest: String,
    /// The file with the record, as the index names it.
    pub filename: String,
    /// First byte of the record in that file.
    pub record_offset: u64,
    /// Length of the stored record in bytes; 0 if the index does not say.
    pub record_length: u64,
    /// First byte of the line in the decompressed index.
    pub offset: u64,
    /// Length of the line in bytes, including its end.
    pub length: u64,
    /// For an alias, the URL that `url` is an alias of. Then the time is
    /// [`IndexLine::ALIAS_TIME_MS`], and there is neither file nor digest.
    pub alias_of: Option<String>,
    /// For an attachment, the text of the page as a browser rendered it (`urn:text:`), at most
    /// [`TEXT_BYTES_MAX`](crate::TEXT_BYTES_MAX) bytes. `None` in a line read from an index.
    pub text: Option<String>,
}

impl IndexLine {
    /// The time of aliases, the end of the year 9999: later than any capture, so takedowns of
    /// captures before a time do not affect aliases.
    pub const ALIAS_TIME_MS: i64 = 253_402_300_799_000;

    /// Kind of the record, as far as an index shows it.
    pub fn kind(&self) -> CaptureKind {
        match self.mime.as_str() {
            _ if self.is_attachment() => CaptureKind::Conversion,
            REVISIT => CaptureKind::Revisit,
            _ => CaptureKind::Response,
        }
    }

    /// Returns whether this is an attachment of a page: a record of the input itself, whose URL has
    /// another scheme than http and https. Then `url_key` is that of the page, `filename` is empty,
    /// and both pairs of offset and length are those of the record.
    pub fn is_attachment(&self) -> bool {
        self.alias_of.is_none() && target::has_other_scheme(&self.url)
    }
}
