//! Pages that match a query, month by month.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SearchNote;

/// Maximum number of parts of a period.
pub const EVENT_PARTS_MAX: usize = 60;

/// Asks which pages match a query in each month of a period. A period of more than
/// [`EVENT_PARTS_MAX`] months is divided into years.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Events {
    /// The query, in the query language. Its `from:` and `to:` name the period if the question does
    /// not.
    pub query: String,
    /// The first month or year, 1 to 14 digits. If absent, the first year with a match.
    pub from: Option<String>,
    /// The last month or year, 1 to 14 digits. If absent, the last year with a match.
    pub to: Option<String>,
}

/// Pages that match a query, by month or year.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventsBody {
    /// The query as the client sent it.
    #[schemars(example = &"flood from:2012 to:2013")]
    pub query: String,
    /// The query as the program understood it, without its period.
    #[schemars(example = &"flood")]
    pub understood: String,
    /// Parts of the query that were ignored or replaced.
    pub notes: Vec<SearchNote>,
    /// Epoch that the search index covers.
    pub search_epoch: u64,
    /// Whether the period is divided into years, because it has more than 60 months.
    pub by_year: bool,
    /// The months or years of the period, in chronological order, including those without matches.
    pub rows: Vec<EventRow>,
}

/// Pages that match a query in one month or year.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventRow {
    /// The month or year.
    #[schemars(example = &"2012-05")]
    pub period: String,
    /// Number of versions of pages that match and were captured in this time: first captured before
    /// its end, and last captured after its start.
    pub versions: u64,
    /// Number of these versions that were first captured in this time. Absent for clients who
    /// cannot see past versions.
    pub new_versions: Option<u64>,
    /// The first of the best 100 matches that were first captured in this time, in chronological
    /// order, at most five. A page is listed once in an answer.
    pub first: Vec<EventPage>,
    /// The most linked of the best 20 matches, at most five: pages with the most links from other
    /// domains at the end of this time. Empty for clients who do not see everything.
    pub linked: Vec<EventPage>,
}

/// A version of a page that matches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventPage {
    /// Key of the page's URL.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// URL of the page.
    #[schemars(example = &"http://example.com/")]
    pub url: String,
    /// Title of this version.
    pub title: String,
    /// When this version was first captured (ISO 8601). The capture of this time shows the page as
    /// it was.
    #[schemars(example = &"2012-05-01T20:06:24.000Z")]
    pub since: String,
    /// When the following version was first captured (ISO 8601); absent for the current version.
    pub until: Option<String>,
    /// Number of pages of other domains that linked to the page at the end of the month or year. An
    /// estimate if more than 16 pages ever linked to it. Absent in `first`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inlinks_external: Option<u64>,
}
