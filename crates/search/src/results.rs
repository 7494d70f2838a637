//! What is asked of the index, and what it answers.

use std::sync::Arc;

use crate::document::Version;
use crate::likeness;
use crate::note::Note;
use crate::profile::Profile;
use crate::snippet::{Line, Snippet};

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Any text; see the crate's notes on the language.
    pub text: String,
    /// Results wanted, at most 1,000; 0 for the counts alone.
    pub limit: usize,
    /// `next` of the answer before, for the results behind it.
    pub after: Option<String>,
    /// Tell how each score came about.
    pub explain: bool,
    /// Count domains, years, types, languages, public suffixes and collections over all matches, and by year over all that there are.
    pub facets: bool,
    /// What comes first.
    pub order: Order,
    /// Past versions, too, also where the query does not say of which time.
    pub all_versions: bool,
    /// At most so many results of each registered domain; 0 for all.
    pub per_site: usize,
    /// Of results with the same payload digest the first alone.
    pub distinct: bool,
    /// What who asks prefers; of no effect in an order that is not by score.
    pub profile: Profile,
    /// Of results whose texts are near-duplicates the first alone; in place of `distinct`, which it includes.
    pub near: bool,
    /// Matches as lines of a concordance, in place of snippets.
    pub lines: Option<Lines>,
    /// The parts of the ranking that are in use.
    pub ranking: Ranking,
}

/// Which lines of a concordance are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// Lines in all, at least 1: the answer ends before the page that has more than are left of them.
    pub most: usize,
    /// Lines of one page; never more than `most`.
    pub per_page: usize,
    /// Words before and behind a match.
    pub words: usize,
}

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The best match.
    #[default]
    Relevance,
    /// What was captured last.
    Newest,
    /// What was captured first.
    Oldest,
    /// The least URL key.
    Url,
}

/// Parts of the ranking, which can be left out to measure what they give. People's queries have all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranking {
    /// Words are found by their stems, too.
    pub stems: bool,
    /// Words of the query that stand near each other in a page count more.
    pub near: bool,
    /// Words of the links that lead to a page are words of it, for who may know of all links.
    pub anchors: bool,
    /// One word of the query is enough: what collections of judged queries expect.
    pub any_word: bool,
}

impl Default for Ranking {
    fn default() -> Ranking {
        Ranking {
            stems: true,
            near: true,
            anchors: true,
            any_word: false,
        }
    }
}

/// An answer. All of it comes from one cut of the index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// The query as it was read, in the same language.
    pub understood: String,
    /// What of the query was not used, or was done instead.
    pub notes: Vec<Note>,
    /// Matches, exactly.
    pub total: u64,
    /// Epoch this answer covers.
    pub epoch: u64,
    /// Milliseconds it took.
    pub took_ms: f64,
    /// Best first; equal scores in the order of their keys.
    pub hits: Vec<Hit>,
    /// Where results are grouped: how many matches are the first of their group, or among the first of their site, exactly; else
    /// as `total`.
    pub shown_total: u64,
    /// If asked for: domain, year, type, language, suffix, collection.
    pub facets: Vec<Facet>,
    /// If asked for: matches by year, among all that there are of it.
    pub years: Vec<YearCount>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// A page that was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hit {
    /// Its key.
    pub url_key: String,
    /// Its URL as archived.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fetch_time_ms: i64,
    /// Content type.
    pub mime: String,
    /// Language, as it was given.
    pub language: String,
    /// Collection.
    pub collection: String,
    /// When it was the page of this URL.
    pub version: Version,
    /// The best part of its text.
    pub snippet: Snippet,
    /// If asked for, in place of the snippet: its matches, in the order of the text.
    pub lines: Vec<Line>,
    /// Score in points: BM25 and prior; 0 in an order by time.
    pub score: f64,
    /// Where results are grouped: matches of its registered domain, with its digest and like it, itself included.
    pub group: Option<Group>,
    /// If asked for: the parts of the score.
    pub explanation: Option<serde_json::Value>,
}

/// Whose text is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextSought<'a> {
    /// Key of the page.
    pub url_key: &'a str,
    /// Of a past version: the name of its text, if it has one.
    pub past: Option<Option<[u8; 16]>>,
}

/// Gives texts.
pub type TextOf<'a> = dyn Fn(&TextSought<'_>) -> Option<Arc<str>> + 'a;

/// How many matches a result stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Group {
    /// Of its registered domain; 0 where sites are no groups.
    pub of_site: u64,
    /// With its digest; 0 where these are no groups.
    pub of_digest: u64,
    /// Near-duplicates of its text; 0 where these are no groups.
    pub of_near: u64,
    /// Where they are: the likeness of its text, for `like:`.
    pub likeness: Option<u64>,
}

impl Group {
    /// The filter that finds the near-duplicates.
    pub fn like(&self) -> Option<String> {
        let likeness = self.likeness.map(likeness::text);
        likeness.map(|likeness| format!("like:{likeness}"))
    }
}

/// Versions captured last in a year.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct YearCount {
    /// The year.
    pub year: u64,
    /// Matches.
    pub count: u64,
    /// All that are looked at, matches or not.
    pub documents: u64,
}

/// Counts of one field over all matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facet {
    /// `domain`, `year`, `type`, `language`, `suffix` or `collection`.
    pub field: String,
    /// The ten most frequent, most frequent first.
    pub values: Vec<FacetValue>,
}

/// One value and how often it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FacetValue {
    /// The value.
    pub value: String,
    /// Matches with it.
    pub count: u64,
    /// The query that narrows to it.
    pub query: String,
}
