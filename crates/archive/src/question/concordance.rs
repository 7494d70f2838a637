//! Matches of a query with the words around them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SearchNote, SearchOrder};

/// Most words of context on one side of a match.
pub const CONTEXT_WORDS_MAX: usize = 50;

/// Words of context where nothing else is asked for.
pub const CONTEXT_WORDS: usize = 8;

/// Lines of one page where nothing else is asked for: a long page must not fill the list.
pub const LINES_PER_PAGE: usize = 5;

/// Asks for the matches of a query in the texts of pages, each with the words before and behind it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ConcordanceQuestion {
    /// The query, in the query language.
    pub query: String,
    /// Most lines in one answer.
    pub limit: usize,
    /// Most lines of one page.
    pub per_page: usize,
    /// Words before and behind each match, at most [`CONTEXT_WORDS_MAX`].
    pub context: usize,
    /// Cursor to continue from: `next` of the previous answer.
    pub after: Option<String>,
    /// Which page comes first.
    pub order: SearchOrder,
    /// Whether past versions of pages are searched although the query does not say of which time.
    pub all_versions: bool,
}

/// Lines of a concordance.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConcordanceBody {
    /// The query as it was asked.
    #[schemars(example = &"example")]
    pub query: String,
    /// The query as the program understood it.
    pub understood: String,
    /// Parts of the query that were ignored or replaced.
    pub notes: Vec<SearchNote>,
    /// Number of all pages that match, including those that are not in this answer or have no line.
    pub total: u64,
    /// Epoch that the search index covers.
    pub search_epoch: u64,
    /// Duration of the search in milliseconds.
    pub took_ms: f64,
    /// Page by page, best first; within a page in the order of its text.
    pub lines: Vec<ConcordanceLine>,
    /// Cursor for the next part; absent after the last page.
    pub next: Option<String>,
}

/// A match in the text of a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConcordanceLine {
    /// The words before the match; ends with a blank where the text has one.
    #[schemars(example = &"this domain is for use in ")]
    pub left: String,
    /// What matches.
    #[serde(rename = "match")]
    #[schemars(example = &"examples")]
    pub matched: String,
    /// The words behind the match; begins with a blank where the text has one.
    pub right: String,
    /// URL of the page.
    #[schemars(example = &"http://example.com/")]
    pub url: String,
    /// Sort key of this URL.
    pub url_key: String,
    /// Title of the page.
    pub title: String,
    /// When this version of the page was captured last (ISO 8601).
    pub fetch_time: String,
    /// When it was captured first, without another version between (ISO 8601).
    pub since: String,
    /// When the version after it was captured first (ISO 8601); absent where this is the current version.
    pub until: Option<String>,
}
