//! Queries to the index, and its answers.

use std::sync::Arc;

use crate::answer::profile::Profile;
use crate::collect::facets::Facet;
use crate::collect::years::YearCount;
use crate::collect::{Group, Order};
use crate::documents::document::Version;
use crate::query::note::Note;
use crate::snippet::{Line, Snippet};

/// A query to the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Any text; see the crate's notes on the language.
    pub text: String,
    /// Maximum number of results, at most 1,000; 0 for counts only.
    pub limit: usize,
    /// `next` of the previous answer, to get the results after it.
    pub after: Option<String>,
    /// Explain the score of each result.
    pub explain: bool,
    /// Count domains, years, types, languages, public suffixes and collections over all matches.
    /// For years, also count all documents.
    pub facets: bool,
    /// The order of results.
    pub order: Order,
    /// Search past versions as well, even if the query names no time.
    pub all_versions: bool,
    /// Maximum number of results per registered domain; 0 for no limit.
    pub per_site: usize,
    /// Show only the first result of each payload digest.
    pub distinct: bool,
    /// The caller's preferences. They have no effect in an order other than by score.
    pub profile: Profile,
    /// Show only the first of results whose texts are near-duplicates. Takes the place of
    /// `distinct`, which it includes.
    pub near: bool,
    /// Return matches as lines of a concordance instead of snippets.
    pub lines: Option<ConcordanceLimits>,
    /// The parts of the ranking to use.
    pub ranking: Ranking,
    /// Number of matches to count exactly. Beyond it, matches that cannot be among the results are
    /// not read, if their order is by score and neither facets nor groups are asked for. `None`
    /// counts all.
    pub count_max: Option<u64>,
}

/// Limits of a concordance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcordanceLimits {
    /// Maximum number of lines in total, at least 1. The answer ends before the page that would
    /// exceed it.
    pub most: usize,
    /// Maximum number of lines per page; at most `most`.
    pub per_page: usize,
    /// Number of words before and after a match.
    pub words: usize,
}

/// Parts of the ranking, which can be switched off to measure their effect. Users' queries use all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranking {
    /// Words also match by their stems.
    pub stems: bool,
    /// Words of the query that are near each other in a page score more.
    pub near: bool,
    /// Words of links to a page match the page, for callers who may know of all links.
    pub anchors: bool,
}

impl Default for Ranking {
    fn default() -> Ranking {
        Ranking {
            stems: true,
            near: true,
            anchors: true,
        }
    }
}

/// The answer to a query. It comes from one snapshot of the index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// The query as parsed, in the query language.
    pub understood: String,
    /// Notes on parts of the query that were not used or were changed.
    pub notes: Vec<Note>,
    /// Number of matches.
    pub total: u64,
    /// Whether there are more than `total` matches. Only if the query sets `count_max`.
    pub has_more_than_total: bool,
    /// Epoch that the answer covers.
    pub epoch: u64,
    /// Time taken, in milliseconds.
    pub took_ms: f64,
    /// Results, best first; equal scores are ordered by key.
    pub hits: Vec<Hit>,
    /// If results are grouped: exact number of matches that are the first of their group, or within
    /// the limit of their site. Otherwise the same as `total`.
    pub shown_total: u64,
    /// If requested: domain, year, type, language, suffix, collection.
    pub facets: Vec<Facet>,
    /// If requested: number of matches and of all documents by year. Years that the times of the
    /// query leave out are listed only if they have matches.
    pub years: Vec<YearCount>,
    /// Cursor of the next page, if there is one.
    pub next: Option<String>,
}

/// A page that matches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hit {
    /// Its URL key.
    pub url_key: String,
    /// The words of the query that it lacks, as written. Function words of its language are not
    /// among them.
    pub missing: Vec<String>,
    /// Its archived URL.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Fetch time, in milliseconds since 1970-01-01T00:00:00Z.
    pub fetch_time_ms: i64,
    /// Content type.
    pub mime: String,
    /// Language, as given at load.
    pub language: String,
    /// Collection.
    pub collection: String,
    /// When the URL returned this page.
    pub version: Version,
    /// The best part of its text.
    pub snippet: Snippet,
    /// If requested, instead of the snippet: its matches, in the order of the text.
    pub lines: Vec<Line>,
    /// Score in points, with all its parts; 0 in an order other than by score.
    pub score: f64,
    /// If results are grouped: how many matches the result represents, itself included.
    pub group: Option<Group>,
    /// If requested: the parts of the score.
    pub explanation: Option<serde_json::Value>,
}

/// Identifies the text to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRequest<'a> {
    /// URL key of the page.
    pub url_key: &'a str,
    /// `None` for the current version. For a past version, the name of its text, if it has one.
    pub past: Option<Option<[u8; 16]>>,
}

/// Returns the text of a version.
pub type TextSource<'a> = dyn Fn(&TextRequest<'_>) -> Option<Arc<str>> + 'a;

/// Returns the bucket of the number of in-links that a URL key had at a time, which is the last
/// 14-digit date that counts. `None` if that is not known, or must not influence the order.
pub type InlinksAt<'a> = dyn Fn(&str, u64) -> Option<u8> + 'a;
