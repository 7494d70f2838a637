//! Captures by URL, prefix, host or domain, with the fields of CDXJ.

use serde::{Deserialize, Serialize};

use super::CaptureKind;
use crate::cdx::{Collapse, Filter, Order};

/// Asks for captures.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CdxQuestion {
    /// The URL or pattern, without its star (see [`crate::cdx::url_and_match`]). With `match_type` `exact` a
    /// URL key works too.
    pub url: String,
    /// Which URLs belong to `url`.
    pub match_type: MatchType,
    /// Earliest capture time, 1 to 14 digits (`YYYYMMDDhhmmss`), inclusive.
    pub from: Option<String>,
    /// Latest capture time, 1 to 14 digits, inclusive: `2024` includes all of 2024.
    pub to: Option<String>,
    /// Return only captures from inputs with this label.
    pub collection: Option<String>,
    /// Most rows in one answer; 0 means 100.
    pub limit: usize,
    /// Cursor to continue from: `next` of the previous answer. Clients must not interpret it.
    pub after: Option<String>,
    /// Cursor of the last capture to return (one of the ends in [`CdxBlocksBody`]). Works with order
    /// `Forward` only.
    pub until: Option<String>,
    /// Conditions; a capture is returned only if it meets all of them.
    pub filters: Vec<Filter>,
    /// Leave out a capture that equals the one before it in all of these fields. An empty list leaves out
    /// nothing.
    pub collapse: Vec<Collapse>,
    /// Order of the captures.
    pub order: Order,
    /// Whether [`CdxRow::filename`] contains only the last part of the input's name.
    pub base_names: bool,
}

/// Which URLs a CDX look-up returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchType {
    /// Only the URL itself.
    #[default]
    Exact,
    /// All URLs that begin with the URL.
    Prefix,
    /// All URLs of the URL's host.
    Host,
    /// All URLs of the URL's domain and of the hosts below it.
    Domain,
}

impl MatchType {
    /// Every match type.
    pub const ALL: [MatchType; 4] = [
        MatchType::Exact,
        MatchType::Prefix,
        MatchType::Host,
        MatchType::Domain,
    ];

    /// The name that query strings and the command line use.
    pub fn name(self) -> &'static str {
        match self {
            MatchType::Exact => "exact",
            MatchType::Prefix => "prefix",
            MatchType::Host => "host",
            MatchType::Domain => "domain",
        }
    }

    /// Finds a match type by its [`MatchType::name`].
    pub fn named(name: &str) -> Option<MatchType> {
        MatchType::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// One part of a list of captures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CdxBody {
    /// The captures, in the order asked for.
    pub rows: Vec<CdxRow>,
    /// Cursor for the next part; absent at the end of the list. It may be present in an answer without rows.
    pub next: Option<String>,
}

/// One capture, with the fields of CDXJ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CdxRow {
    /// Sort key of the URL.
    pub url_key: String,
    /// Capture time in UTC, 14 digits (`YYYYMMDDhhmmss`).
    pub timestamp: String,
    /// Capture time in ISO 8601, with milliseconds.
    pub fetch_time: String,
    /// The URL as the record has it.
    pub url: String,
    /// Media type; `unk` if the capture declares none.
    pub mime: String,
    /// HTTP status, 0 if the capture has none.
    pub status: u16,
    /// Payload digest that the record declares; if it declares none, the payload's SHA-1 in Base32.
    pub digest: String,
    /// Length of the stored record in bytes.
    pub length: u64,
    /// Offset in bytes at which the record begins in its input.
    pub offset: u64,
    /// The input's name, or only its last part if the question asked for `base_names`.
    pub filename: String,
    /// The input's label, empty if it has none.
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

/// Asks where blocks of captures end, so that a client can ask for pages by number.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CdxBlocksQuestion {
    /// The URL or pattern, as in [`CdxQuestion::url`].
    pub url: String,
    /// Which URLs belong to `url`, as in [`CdxQuestion::match_type`].
    pub match_type: MatchType,
    /// Number of captures in each block.
    pub rows: usize,
    /// Cursor to continue from: `next` of the previous answer.
    pub after: Option<String>,
}

/// Where blocks of captures end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CdxBlocksBody {
    /// Cursor of the last capture of each block. The last block of the whole list may have fewer captures.
    pub ends: Vec<String>,
    /// Cursor for the next part; absent at the end of the list.
    pub next: Option<String>,
}
