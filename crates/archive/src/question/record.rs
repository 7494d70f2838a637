//! The location of a record's bytes. The client process reads them itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CdxRow;

/// Asks for the location of the record of a capture.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Record {
    /// The URL, or its key.
    pub url: String,
    /// Return the capture nearest to this time, 1 to 17 digits (to the millisecond). If absent,
    /// return the current version.
    #[serde(default)]
    pub at: Option<String>,
    /// Return exactly this capture of the URL ([`CdxRow::name`]) and ignore `at`.
    #[serde(default)]
    pub capture: Option<String>,
    /// If the URL was not captured, return a capture of a URL that differs only in arguments that
    /// do not matter ([`urlkey::FUZZY_RULES`]).
    #[serde(default)]
    pub fuzzy: bool,
    /// If the content of the nearest capture is not in the archive, return the next nearest one
    /// whose content is. Ignored if `capture` is given.
    #[serde(default)]
    pub with_content: bool,
}

/// The location of a record's bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordBody {
    /// The capture made from the record.
    pub capture: CdxRow,
    /// Absolute path or address of the input. In the HTTP API, the address at which the record can
    /// be fetched.
    #[schemars(example = &"/record?url=http%3A%2F%2Fexample.com%2F")]
    pub location: String,
    /// For a revisit record: the record that has the payload, if it is in the archive.
    pub original: Option<Box<RecordBody>>,
    /// The rule by which the capture replaces the URL, if the URL itself was not captured and the
    /// question allows a replacement.
    #[serde(default)]
    pub fuzzy: Option<String>,
}
