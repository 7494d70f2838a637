//! Full-text search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use search::{
    Note as SearchNote, NoteKind as SearchNoteKind, Order as SearchOrder, Snippet, SnippetPart,
};

/// Asks for pages that match a query.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchQuestion {
    /// The query, in the query language.
    pub query: String,
    /// Most results in one answer.
    pub limit: usize,
    /// Cursor to continue from: `next` of the previous answer.
    pub after: Option<String>,
    /// Whether each result explains its score.
    pub explain: bool,
    /// Whether to count all results by domain, year, type, language, public suffix and collection.
    pub facets: bool,
    /// What comes first.
    pub order: SearchOrder,
    /// Whether past versions of pages are searched although the query does not say of which time.
    pub all_versions: bool,
    /// Most results of one registered domain; 0 for all.
    pub per_site: usize,
    /// Whether of results with the same content (payload digest) the first is shown alone.
    pub distinct: bool,
    /// What who asks prefers, as a profile (`lang:de site:example.org^40`): the best results are put in order by it.
    pub prefer: String,
    /// Whether of results whose texts are nearly the same the first is shown alone; in place of `distinct`, which it includes.
    pub near: bool,
}

/// Results of a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchBody {
    /// The query as it was asked.
    #[schemars(example = &"example")]
    pub query: String,
    /// The query as the program understood it.
    pub understood: String,
    /// Parts of the query that were ignored or replaced.
    pub notes: Vec<SearchNote>,
    /// Number of all results, including those that are not in this answer.
    pub total: u64,
    /// How many of these are shown, from the first answer to the last: fewer than all where the question sets `per_site`, `distinct` or `near`.
    pub shown_total: u64,
    /// Epoch that the search index covers.
    pub search_epoch: u64,
    /// Duration of the search in milliseconds.
    pub took_ms: f64,
    /// The results, best first.
    pub hits: Vec<SearchHit>,
    /// Counts by field; empty unless the question set `facets`.
    pub facets: Vec<Facet>,
    /// Results by year, beside all that were searched of it; empty unless the question set `facets`.
    pub years: Vec<YearCount>,
    /// Cursor for the next part; absent after the last result.
    pub next: Option<String>,
}

impl SearchBody {
    /// Whether the results have most of the words alone, because none has all.
    pub fn has_most_alone(&self) -> bool {
        let mut notes = self.notes.iter();
        notes.any(|note| note.kind == SearchNoteKind::MostOfTheWords)
    }
}

/// One result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchHit {
    /// Sort key of the page's URL.
    pub url_key: String,
    /// URL of the page.
    #[schemars(example = &"http://example.com/")]
    pub url: String,
    /// Registered domain of the page.
    pub domain: String,
    /// Title of the page.
    pub title: String,
    /// When this version of the page was captured last (ISO 8601).
    pub fetch_time: String,
    /// When it was captured first, without another version between (ISO 8601).
    pub since: String,
    /// When the version after it was captured first (ISO 8601); absent where this is the current version.
    pub until: Option<String>,
    /// Of the current version: how many versions the page had before.
    pub past_versions: u64,
    /// Media type of the page.
    pub mime: String,
    /// BCP 47 language of the page; empty if unknown.
    pub language: String,
    /// Label of the input that the page comes from; empty if it has none.
    pub collection: String,
    /// The part of the page's text that matches best. JSON has it as `snippet_html`: escaped text with
    /// `<mark>` around matches and no other markup.
    #[serde(rename = "snippet_html", with = "crate::snippet_html")]
    #[schemars(with = "String", example = &"an <mark>example</mark>")]
    pub snippet: Snippet,
    /// Number of pages that link to the page; absent for those who do not see everything, for whom the page itself tells it.
    pub inlinks: Option<u64>,
    /// Number of these pages that belong to another registered domain; absent as `inlinks`.
    pub inlinks_external: Option<u64>,
    /// How well the page matches; 0 in an order by time. Scores of different answers cannot be compared.
    pub score: f64,
    /// With `per_site`: how many results there are of its registered domain.
    pub of_site: Option<u64>,
    /// With `distinct`: how many results have the same content.
    pub of_digest: Option<u64>,
    /// With `near`: how many results have nearly the same text, itself included.
    pub of_near: Option<u64>,
    /// With `near`: the part of a query that finds these.
    #[schemars(example = &"like:0123456789abcdef")]
    pub like: Option<String>,
    /// How the score was computed; absent unless the question set `explain`.
    pub explanation: Option<serde_json::Value>,
}

/// Versions of pages that were captured last in a year.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct YearCount {
    /// The year.
    #[schemars(example = &2014)]
    pub year: u64,
    /// Number of results.
    pub count: u64,
    /// Number of all that were searched, results or not.
    pub documents: u64,
}

/// Counts of one field over all results.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Facet {
    /// Name of the field: `domain`, `year`, `type` or `language`.
    #[schemars(example = &"year")]
    pub field: String,
    /// Values of the field, most frequent first.
    pub values: Vec<FacetValue>,
}

/// One value of a field and how many results have it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FacetValue {
    /// The value as text.
    #[schemars(example = &"2014")]
    pub value: String,
    /// Number of results that have the value.
    pub count: u64,
    /// The query that returns only these results.
    #[schemars(example = &"example year:2014")]
    pub query: String,
}
