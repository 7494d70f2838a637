//! Where a record is: the asker reads the bytes itself.

use serde::{Deserialize, Serialize};

use super::CdxRow;

/// Asks where the record of a capture is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Record {
    /// The URL, or its key.
    pub url: String,
    /// 1 to 17 digits (to the millisecond): the capture nearest to this time; the current version if not given.
    #[serde(default)]
    pub at: Option<String>,
    /// Exactly this capture of the URL ([`CdxRow::name`]), whatever the time.
    #[serde(default)]
    pub capture: Option<String>,
}

/// Where a record's bytes are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordBody {
    /// The capture that was made from it.
    pub capture: CdxRow,
    /// Absolute path or address of the input; over HTTP the address that the record can be had from.
    pub location: String,
    /// For a revisit: the capture that holds the payload, if it is in the archive.
    pub original: Option<Box<RecordBody>>,
}
