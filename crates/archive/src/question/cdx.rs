//! Captures by URL, prefix, host or domain, with the fields of CDXJ.

use cdx::{CdxRow, Collapse, CollapseTime, Filter, MatchType, Order, SkippedCounts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::as_text;

/// Asks for captures.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CdxQuestion {
    /// The URL or pattern, without its star (see [`crate::cdx::url_and_match`]). With `match_type`
    /// `exact` a URL key works too.
    pub url: String,
    /// Ask for captures of all URLs; `url` and `match_type` are ignored.
    pub everything: bool,
    /// Whether `url` is a URL key, to be used unchanged.
    pub as_key: bool,
    /// Ask for captures of all URLs from the key of `url` onwards; `match_type` is ignored.
    pub onward: bool,
    /// Which URLs belong to `url`.
    #[serde(with = "as_text")]
    pub match_type: MatchType,
    /// Whether a URL that an index declares an alias is answered with the captures of its target.
    /// Works with `match_type` `exact` only.
    pub aliases: bool,
    /// Earliest capture time, 1 to 14 digits (`YYYYMMDDhhmmss`), inclusive.
    pub from: Option<String>,
    /// Latest capture time, 1 to 14 digits, inclusive: `2024` includes all of 2024.
    pub to: Option<String>,
    /// Return only captures from inputs with this label.
    pub collection: Option<String>,
    /// Maximum number of rows per answer; 0 means 100.
    pub limit: usize,
    /// Cursor to continue from: `next` of the previous answer. Clients must not interpret it.
    pub after: Option<String>,
    /// Cursor of the last capture to return (one of the ends in [`CdxBlocksBody`]). Works with
    /// order `Forward` only.
    pub until: Option<String>,
    /// Conditions; a capture is returned only if it meets all of them.
    pub filters: Vec<Filter>,
    /// Leave out a capture that equals the one before it in all of these fields. If the list is
    /// empty, all captures are kept.
    pub collapse: Vec<Collapse>,
    /// Leave out a capture as soon as one field equals the last value that this field let through.
    pub collapse_any: bool,
    /// Leave out captures of the same time.
    pub collapse_time: Option<CollapseTime>,
    /// Whether to report where the payload of a revisit is.
    pub revisits: Option<ResolveRevisits>,
    /// Whether to report how many captures filters and collapsing left out after each row
    /// ([`CdxRow::computed`]).
    pub count_skipped: bool,
    /// Whether to report the digests of those captures too ([`SkippedCounts::digests`]).
    pub count_digests: bool,
    /// Order of the captures.
    pub order: Order,
    /// Whether to leave out captures known only from indexes ([`CdxRow::index_only`]).
    pub records_only: bool,
    /// Whether [`CdxRow::filename`] contains only the last part of the input's name.
    pub base_names: bool,
}

/// When a revisit gets the media type and status of the capture that has its payload. That capture
/// is the original: the latest capture of the same key and digest up to the revisit, or else the
/// first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolveRevisits {
    /// Before the filters, so that they test the values of the original, as in pywb.
    BeforeFilters,
    /// After the filters, so that they test the values of the revisit itself, as at the Internet
    /// Archive.
    AfterFilters,
}

/// One part of a list of captures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CdxBody {
    /// The captures, in the order asked for.
    pub rows: Vec<CdxRow>,
    /// With `count_skipped`: the captures left out before the first row. They follow the last row
    /// of the previous answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub skipped: Option<SkippedCounts>,
    /// Cursor for the next part; absent at the end of the list. It may be present in an answer
    /// without rows.
    pub next: Option<String>,
}

/// Asks where blocks of captures end, so that a client can request pages by number.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CdxBlocksQuestion {
    /// The URL or pattern, as in [`CdxQuestion::url`].
    pub url: String,
    /// Which URLs belong to `url`, as in [`CdxQuestion::match_type`].
    #[serde(with = "as_text")]
    pub match_type: MatchType,
    /// Number of captures in each block.
    pub rows: usize,
    /// Cursor to continue from: `next` of the previous answer.
    pub after: Option<String>,
}

/// Where blocks of captures end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CdxBlocksBody {
    /// Cursor of the last capture of each block. The last block of the whole list may have fewer
    /// captures.
    pub ends: Vec<String>,
    /// Cursor for the next part; absent at the end of the list.
    pub next: Option<String>,
}
