//! Matches of a query with the words around them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SearchNote, SearchOrder};

/// Maximum number of context words on one side of a match.
pub const CONTEXT_WORDS_MAX: usize = 50;

/// Default number of context words.
pub const CONTEXT_WORDS: usize = 8;

/// Default number of lines per page, so that a long page does not fill the list.
pub const LINES_PER_PAGE: usize = 5;

/// Asks for the matches of a query in the texts of pages, each with the words before and after it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ConcordanceQuestion {
    /// The query, in the query language.
    pub query: String,
    /// Maximum number of lines per answer.
    pub limit: usize,
    /// Maximum number of lines per page.
    pub per_page: usize,
    /// Number of words before and after each match, at most [`CONTEXT_WORDS_MAX`].
    pub context: usize,
    /// Cursor to continue from: `next` of the previous answer.
    pub after: Option<String>,
    /// Order of the pages.
    pub order: SearchOrder,
    /// Whether to search past versions of pages even if the query names no time.
    pub all_versions: bool,
}

/// Lines of a concordance.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConcordanceBody {
    /// The query as the client sent it.
    #[schemars(example = &"example")]
    pub query: String,
    /// The query as the program understood it.
    pub understood: String,
    /// Parts of the query that were ignored or replaced.
    pub notes: Vec<SearchNote>,
    /// Number of all matching pages, including those that are not in this answer or have no line.
    pub total: u64,
    /// Epoch that the search index covers.
    pub search_epoch: u64,
    /// Duration of the search in milliseconds.
    pub took_ms: f64,
    /// The lines, by page, best first; within a page in text order.
    pub lines: Vec<ConcordanceLine>,
    /// Cursor for the next part; absent after the last page.
    pub next: Option<String>,
}

/// A match in the text of a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConcordanceLine {
    /// The words before the match. Ends with a space if the text has one there.
    #[schemars(example = &"this domain is for use in ")]
    pub left: String,
    /// The matched text.
    #[serde(rename = "match")]
    #[schemars(example = &"examples")]
    pub matched: String,
    /// The words after the match. Begins with a space if the text has one there.
    pub right: String,
    /// URL of the page.
    #[schemars(example = &"http://example.com/")]
    pub url: String,
    /// Sort key of this URL.
    pub url_key: String,
    /// Title of the page.
    pub title: String,
    /// When this version of the page was last captured (ISO 8601).
    pub fetch_time: String,
    /// When this version was first captured, without another version in between (ISO 8601).
    pub since: String,
    /// When the following version was first captured (ISO 8601); absent for the current version.
    pub until: Option<String>,
}
