//! Captures by URL, prefix, host or domain, with the fields of CDXJ.

use serde::{Deserialize, Serialize};

use super::CaptureKind;
use crate::cdx::{Collapse, Filter, Order};

/// Asks for captures.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CdxQuestion {
    /// The URL without a star (see [`crate::cdx::url_and_match`]); with an exact match also a key.
    pub url: String,
    /// What the URL stands for.
    pub match_type: MatchType,
    /// 1 to 14 digits, inclusive.
    pub from: Option<String>,
    /// 1 to 14 digits, inclusive (a prefix covers all it begins).
    pub to: Option<String>,
    /// Only captures with this label.
    pub collection: Option<String>,
    /// Most rows; 100 for 0.
    pub limit: usize,
    /// Opaque cursor from the answer before.
    pub after: Option<String>,
    /// Cursor of the last capture that may be given (an end of [`CdxBlocksBody`]); order `Forward` only.
    pub until: Option<String>,
    /// All of them must fit.
    pub filters: Vec<Filter>,
    /// Captures that equal the one before in all of these are left out; none are where this is empty.
    pub collapse: Vec<Collapse>,
    /// Their order.
    pub order: Order,
    /// Whether [`CdxRow::filename`] is the last part of the input's name alone.
    pub base_names: bool,
}

/// How a CDX look-up matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchType {
    /// The URL alone.
    #[default]
    Exact,
    /// All URLs that begin with it.
    Prefix,
    /// All URLs of its host.
    Host,
    /// All URLs of its domain and the hosts below.
    Domain,
}

impl MatchType {
    /// All of them.
    pub const ALL: [MatchType; 4] = [
        MatchType::Exact,
        MatchType::Prefix,
        MatchType::Host,
        MatchType::Domain,
    ];

    /// Its name in addresses and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            MatchType::Exact => "exact",
            MatchType::Prefix => "prefix",
            MatchType::Host => "host",
            MatchType::Domain => "domain",
        }
    }

    /// By that name.
    pub fn named(name: &str) -> Option<MatchType> {
        MatchType::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// Captures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CdxBody {
    /// In the order asked for.
    pub rows: Vec<CdxRow>,
    /// Where the list goes on; nothing at its end. It may go on after an answer without rows.
    pub next: Option<String>,
}

/// One capture, with the fields of CDXJ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CdxRow {
    /// Sort key of the URL.
    pub url_key: String,
    /// 14 digits.
    pub timestamp: String,
    /// ISO 8601 with milliseconds.
    pub fetch_time: String,
    /// As the record has it.
    pub url: String,
    /// Media type, `unk` if none was declared.
    pub mime: String,
    /// HTTP status, 0 if the capture has none.
    pub status: u16,
    /// Payload digest, as declared, else the SHA-1 in Base32.
    pub digest: String,
    /// Bytes of the record as stored.
    pub length: u64,
    /// Where the record begins in its input, in bytes.
    pub offset: u64,
    /// The input's name, or the last part of it.
    pub filename: String,
    /// The input's label, empty if it has none.
    pub collection: String,
    /// Kind of the record.
    pub kind: CaptureKind,
}

impl CdxRow {
    /// What tells it from every other capture of its URL, also one of the same millisecond: `<offset>,<filename>`.
    pub fn name(&self) -> String {
        format!("{},{}", self.offset, self.filename)
    }
}

/// Asks where blocks of captures end, so that pages of them can be given by number.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CdxBlocksQuestion {
    /// As in [`CdxQuestion`].
    pub url: String,
    /// As in [`CdxQuestion`].
    pub match_type: MatchType,
    /// Captures of a block.
    pub rows: usize,
    /// Opaque cursor from the answer before.
    pub after: Option<String>,
}

/// Where blocks of captures end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CdxBlocksBody {
    /// Cursors of the last capture of each block; the last block of all may be a shorter one.
    pub ends: Vec<String>,
    /// Where the list goes on; nothing at its end.
    pub next: Option<String>,
}
