//! Full-text search.

use serde::{Deserialize, Serialize};

pub use search::{Note as SearchNote, NoteKind as SearchNoteKind, Snippet, SnippetPart};

/// Asks for pages by their text.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchQuestion {
    /// In the query language.
    pub query: String,
    /// Most results.
    pub limit: usize,
    /// `next` of the answer before.
    pub after: Option<String>,
    /// Whether each result says how its score came about.
    pub explain: bool,
    /// Whether all results are counted by field.
    pub facets: bool,
}

/// Results of a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchBody {
    /// As it was asked.
    pub query: String,
    /// How the query was understood.
    pub understood: String,
    /// What of the query was not used, or was done instead.
    pub notes: Vec<SearchNote>,
    /// All results, in this answer or not.
    pub total: u64,
    /// Epoch the search index covers.
    pub search_epoch: u64,
    /// Time that the search took, in milliseconds.
    pub took_ms: f64,
    /// The best first.
    pub hits: Vec<SearchHit>,
    /// Counts by field; with `facets` only.
    pub facets: Vec<Facet>,
    /// Where the results go on; nothing at their end.
    pub next: Option<String>,
}

/// One result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchHit {
    /// The page's key.
    pub url_key: String,
    /// The page's URL.
    pub url: String,
    /// Its registered domain.
    pub domain: String,
    /// Its title.
    pub title: String,
    /// When its current version was captured (ISO 8601).
    pub fetch_time: String,
    /// Its media type.
    pub mime: String,
    /// Its BCP 47 language, empty if unknown.
    pub language: String,
    /// The label of its input, empty if it has none.
    pub collection: String,
    /// The best part of its text. In JSON: `snippet_html`, escaped text with `<mark>` around matches, and nothing else
    /// of HTML.
    #[serde(rename = "snippet_html", with = "crate::snippet_html")]
    pub snippet: Snippet,
    /// Pages that link to it.
    pub inlinks: u64,
    /// Of these, the ones of other registered domains.
    pub inlinks_external: u64,
    /// How well it fits; compared within one answer only.
    pub score: f64,
    /// With `explain`: how the score came about.
    pub explanation: Option<serde_json::Value>,
}

/// Counts of one field over all results.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facet {
    /// `domain`, `year`, `type`, `language`.
    pub field: String,
    /// The most frequent first.
    pub values: Vec<FacetValue>,
}

/// One facet value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FacetValue {
    /// The value.
    pub value: String,
    /// Results that have it.
    pub count: u64,
    /// The query that narrows to it.
    pub query: String,
}
