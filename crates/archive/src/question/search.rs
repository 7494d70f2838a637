//! Full-text search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use search::{
    Facet, FacetValue, Note as SearchNote, NoteKind as SearchNoteKind, Order as SearchOrder, Snippet,
    SnippetPart, YearCount,
};

use super::CdxRow;

/// Number of results up to which their total is exact in any case.
const TOTAL_EXACT_MAX: u64 = 10_000;

/// Asks for pages that match a query.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchQuestion {
    /// The query, in the query language.
    pub query: String,
    /// Maximum number of results per answer.
    pub limit: usize,
    /// Cursor to continue from: `next` of the previous answer.
    pub after: Option<String>,
    /// Whether each result explains its score.
    pub explain: bool,
    /// Whether to count all results by domain, year, type, language, public suffix and collection.
    pub facets: bool,
    /// Order of the results.
    pub order: SearchOrder,
    /// Whether to search past versions of pages even if the query names no time.
    pub all_versions: bool,
    /// Maximum number of results per registered domain; 0 for no limit.
    pub per_site: usize,
    /// Whether to show only the first of several results with the same content (payload digest).
    pub distinct: bool,
    /// Preferences of the client, as a profile (`lang:de site:example.org^40`). The best results
    /// are reordered by it.
    pub prefer: String,
    /// Whether to show only the first of several results with nearly the same text. Replaces
    /// `distinct`, which it includes.
    pub near: bool,
    /// Whether to count all results. Otherwise more than 10,000 are not counted, if their order is
    /// by relevance and neither facets nor groups are asked for.
    pub exact: bool,
}

impl SearchQuestion {
    /// Returns the query to the search index.
    ///
    /// # Errors
    /// [`ProfileError`](search::ProfileError) if `prefer` is not a profile.
    pub(crate) fn to_query(&self) -> Result<search::Query, search::ProfileError> {
        // All fields are named, so that none is forgotten.
        let SearchQuestion {
            query,
            limit,
            after,
            explain,
            facets,
            order,
            all_versions,
            per_site,
            distinct,
            prefer,
            near,
            exact,
        } = self;
        Ok(search::Query {
            text: query.clone(),
            limit: *limit,
            after: after.clone(),
            explain: *explain,
            facets: *facets,
            order: *order,
            all_versions: *all_versions,
            per_site: *per_site,
            distinct: *distinct,
            profile: prefer.parse()?,
            near: *near,
            count_max: (!exact).then_some(TOTAL_EXACT_MAX),
            ..search::Query::default()
        })
    }
}

/// What a search understood and found, without the results.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchSummary {
    /// The query as the client sent it.
    #[schemars(example = &"example")]
    pub query: String,
    /// The query as the program understood it.
    pub understood: String,
    /// Parts of the query that were ignored or replaced.
    pub notes: Vec<SearchNote>,
    /// Number of all results, including those that are not in this answer. An image counts for each
    /// page that shows it.
    pub total: u64,
    /// Whether `total` is exact. If not, there are more results, which were not counted.
    pub total_is_exact: bool,
    /// Number of results shown, over all answers to this query. It is smaller than `total` if the
    /// question groups results: with `per_site`, `distinct` or `near`, and for images unless
    /// `every_page` is set.
    pub shown_total: u64,
    /// Epoch that the search index covers: that of pages or that of images.
    pub search_epoch: u64,
    /// Duration of the search in milliseconds.
    pub took_ms: f64,
}

impl SearchSummary {
    /// Returns the summary of the results of a query.
    pub(crate) fn of(query: &str, results: &search::Results) -> SearchSummary {
        SearchSummary {
            query: query.to_owned(),
            understood: results.understood.clone(),
            notes: results.notes.clone(),
            total: results.total,
            total_is_exact: !results.has_more_than_total,
            shown_total: results.shown_total,
            search_epoch: results.epoch,
            took_ms: results.took_ms,
        }
    }
}

/// Results of a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchBody {
    /// What was understood and found.
    #[serde(flatten)]
    pub summary: SearchSummary,
    /// The results, best first.
    pub hits: Vec<SearchHit>,
    /// Counts by field; empty unless the question set `facets`.
    pub facets: Vec<Facet>,
    /// Results by year, next to the number of documents searched for that year; empty unless the
    /// question set `facets`. Years that the times of the query leave out are listed only if they
    /// have results.
    pub years: Vec<YearCount>,
    /// Cursor for the next part; absent after the last result.
    pub next: Option<String>,
}

impl SearchBody {
    /// Returns whether the results have too few of the words to match, because no page has enough.
    pub fn has_few_alone(&self) -> bool {
        let mut notes = self.summary.notes.iter();
        notes.any(|note| note.kind == SearchNoteKind::FewOfTheWords)
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
    /// When this version of the page was last captured (ISO 8601).
    pub fetch_time: String,
    /// When this version was first captured, without another version in between (ISO 8601).
    pub since: String,
    /// When the following version was first captured (ISO 8601); absent for the current version.
    pub until: Option<String>,
    /// For a current version: number of earlier versions of the page.
    pub past_versions: u64,
    /// Media type of the page.
    pub mime: String,
    /// BCP 47 language of the page; empty if unknown.
    pub language: String,
    /// Label of the input that the page comes from; empty if it has none.
    pub collection: String,
    /// The part of the page's text that matches best. In JSON it is `snippet_html`: escaped text
    /// with `<mark>` around matches and no other markup.
    #[serde(rename = "snippet_html", with = "crate::snippet_html")]
    #[schemars(with = "String", example = &"an <mark>example</mark>")]
    pub snippet: Snippet,
    /// Small picture of the page that the crawler added within an hour of this capture (an
    /// attachment, docs/views.md). [`Record`](super::Record) finds it by `url` and
    /// [`CdxRow::name`].
    pub thumbnail: Option<Box<CdxRow>>,
    /// Words of the query that the page lacks, as written. Function words of its language are not
    /// among them.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Number of pages that link to the page. Absent for clients that do not see everything; they
    /// find it in the answer about the page itself.
    pub inlinks: Option<u64>,
    /// Number of these pages that belong to another registered domain. Absent in the same cases as
    /// `inlinks`.
    pub inlinks_external: Option<u64>,
    /// Score of the match; 0 in an order by time. Scores of different answers cannot be compared.
    pub score: f64,
    /// With `per_site`: number of results of its registered domain.
    pub of_site: Option<u64>,
    /// With `distinct`: number of results with the same content.
    pub of_digest: Option<u64>,
    /// With `near`: number of results with nearly the same text, including this one.
    pub of_near: Option<u64>,
    /// With `near`: the part of a query that finds these results.
    #[schemars(example = &"like:0123456789abcdef")]
    pub like: Option<String>,
    /// How the score was computed; absent unless the question set `explain`.
    pub explanation: Option<serde_json::Value>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::{Body, ImagesBody};

    /// Clients of the API and owners of other versions know the summary as fields of the answer.
    #[test]
    fn a_summary_has_no_object_of_its_own_in_json() {
        let summary = SearchSummary {
            query: "boat".to_owned(),
            total: 3,
            shown_total: 2,
            took_ms: 1.5,
            ..SearchSummary::default()
        };
        let pages = SearchBody {
            summary: summary.clone(),
            ..SearchBody::default()
        };
        let images = ImagesBody {
            summary,
            ..ImagesBody::default()
        };
        for body in [Body::from(pages), Body::from(images)] {
            let json = serde_json::to_value(&body).unwrap();
            assert_eq!(json["total"], 3, "{json}");
            assert_eq!(json["took_ms"], 1.5, "{json}");
            assert_eq!(json.get("summary"), None);
            assert_eq!(serde_json::from_value::<Body>(json).unwrap(), body);
        }
    }
}
