//! A capture as a CDX look-up returns it.

use extract::CaptureKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One capture, with the fields of CDXJ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CdxRow {
    /// Sort key of the URL.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// Capture time in UTC, 14 digits (`YYYYMMDDhhmmss`).
    #[schemars(example = &"20140126200624")]
    pub timestamp: String,
    /// Capture time in ISO 8601, with milliseconds.
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time: String,
    /// The URL as the record has it.
    #[schemars(example = &"http://example.com/")]
    pub url: String,
    /// Media type; `unk` if the capture declares none.
    #[schemars(example = &"text/html")]
    pub mime: String,
    /// HTTP status, 0 if the capture has none.
    pub status: u16,
    /// Payload digest that the record declares; if it declares none, the payload's SHA-1 in Base32.
    #[schemars(example = &"OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB")]
    pub digest: String,
    /// Length of the stored record in bytes.
    pub length: u64,
    /// Offset in bytes at which the record begins in its input.
    pub offset: u64,
    /// The input's name, or only its last part if the question asked for `base_names`.
    #[schemars(example = &"iana.warc.gz")]
    pub filename: String,
    /// The input's label, empty if it has none.
    #[schemars(example = &"news")]
    pub collection: String,
    /// Type of the record that the capture comes from.
    pub kind: CaptureKind,
}

impl CdxRow {
    /// Identifies the capture among all captures of its URL, even those of the same millisecond:
    /// `<offset>,<filename>`.
    pub fn name(&self) -> String {
        format!("{},{}", self.offset, self.filename)
    }
}
