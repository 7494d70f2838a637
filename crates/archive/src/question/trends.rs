//! How often queries match in each year.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SearchNote, YearCount};

/// Maximum number of queries in one question.
pub const TREND_QUERIES_MAX: usize = 5;

/// Asks how many versions of pages match each query in each year, next to the number of all
/// versions of that year.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Trends {
    /// The queries, in the query language; at most [`TREND_QUERIES_MAX`].
    pub queries: Vec<String>,
}

/// Matches of queries by year.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendsBody {
    /// Epoch that the search index covers.
    pub search_epoch: u64,
    /// One row for each query, in the order of the queries.
    pub rows: Vec<TrendRow>,
}

/// Matches of a query by year.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendRow {
    /// The query as the client sent it.
    #[schemars(example = &"example")]
    pub query: String,
    /// The query as the program understood it.
    pub understood: String,
    /// Parts of the query that were ignored or replaced.
    pub notes: Vec<SearchNote>,
    /// Number of all versions of pages that match.
    pub total: u64,
    /// Every year that has any version of a page, in chronological order. A version belongs to the
    /// year of its last capture. Years that the times of the query leave out are listed only if
    /// they have matches.
    pub years: Vec<YearCount>,
}
