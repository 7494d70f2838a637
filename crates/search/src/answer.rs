//! A search from question to answer.

use std::time::Instant;

use tantivy::TantivyDocument;
use tantivy::schema::Value;

use crate::collect::{After, Collect, Collected, Found};
use crate::compile::{self, Mode};
use crate::document::Row;
use crate::index::SearchIndex;
use crate::note::{Note, NoteKind};
use crate::panics::caught;
use crate::query::{self, Parsed};
use crate::snippet::{Snippet, Snippets};
use crate::view::View;
use crate::{explain, facets, rank};

/// Most results of one answer.
const LIMIT_MAX: usize = 1000;

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
    /// Count domains, years, types and languages over all matches.
    pub facets: bool,
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
    /// If asked for: domain, year, type, language.
    pub facets: Vec<Facet>,
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
    /// The best part of its text.
    pub snippet: Snippet,
    /// Score in points: BM25 and prior.
    pub score: f64,
    /// If asked for: the parts of the score.
    pub explanation: Option<serde_json::Value>,
}

/// Counts of one field over all matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facet {
    /// `domain`, `year`, `type` or `language`.
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

/// The index could not be read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("search: {message}")]
pub struct SearchError {
    /// What tantivy said.
    pub message: String,
}

impl From<tantivy::TantivyError> for SearchError {
    fn from(error: tantivy::TantivyError) -> SearchError {
        SearchError {
            message: error.to_string(),
        }
    }
}

impl SearchIndex {
    /// Answers a query. `text_of` gives the text of a key, for the snippets of the results shown: it
    /// is asked at most `limit` times, and not more than [`crate::SNIPPET_TEXT_BYTES_MAX`] bytes of
    /// each text are looked at.
    ///
    /// # Errors
    /// [`SearchError`] where the index cannot be read; never because of the query.
    pub fn search(
        &self,
        query: &Query,
        text_of: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Results, SearchError> {
        caught(|| answer(&self.view(), query, None, text_of))
    }
}

/// Answers from a view; `forced` for measuring.
pub(crate) fn answer(
    view: &View,
    query: &Query,
    forced: Option<Mode>,
    text_of: &dyn Fn(&str) -> Option<String>,
) -> Result<Results, SearchError> {
    let started = Instant::now();
    let mut parsed = query::parse(&query.text);
    let mut cursor = query.after.as_deref().and_then(Cursor::decode);
    if query.after.is_some() && cursor.is_none() {
        parsed.notes.push(Note::new(NoteKind::UnknownCursor, ""));
    }
    if parsed.clauses.is_empty() {
        // Every page would hold: an answer to a question that nobody asked.
        return Ok(Results {
            notes: parsed.notes,
            epoch: view.epoch,
            took_ms: milliseconds(started),
            ..Results::default()
        });
    }
    let limit = query.limit.min(LIMIT_MAX);
    let mut mode = forced
        .or(cursor.as_ref().map(|cursor| cursor.mode))
        .unwrap_or(Mode::All);
    let mut run = |mode| {
        let collect = Collect {
            limit,
            after: cursor.take().map(|cursor| cursor.after),
            facets: query.facets,
        };
        collect_matches(view, &parsed, mode, &collect)
    };
    let mut found = run(mode)?;
    if found.total == 0 && mode == Mode::All && can_relax(&parsed) {
        let relaxed = run(Mode::Most)?;
        if relaxed.total > 0 {
            mode = Mode::Most;
            found = relaxed;
        }
    }
    if mode == Mode::Most {
        parsed.notes.push(Note::new(NoteKind::MostOfTheWords, ""));
    }
    let understood = parsed.to_string();
    let hits = hits(view, &parsed, &found.best, query.explain, text_of)?;
    let facets = if query.facets {
        facets::facets(&found.counts, &understood)?
    } else {
        Vec::new()
    };
    let next = match (found.more, found.best.last(), hits.last()) {
        (true, Some(last), Some(hit)) => Some(Cursor::encode(mode, last.score, &hit.url_key)),
        _ => None,
    };
    Ok(Results {
        understood,
        notes: parsed.notes,
        total: found.total,
        epoch: view.epoch,
        took_ms: milliseconds(started),
        hits,
        facets,
        next,
    })
}

fn milliseconds(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1000.0
}

fn collect_matches(
    view: &View,
    parsed: &Parsed,
    mode: Mode,
    collect: &Collect,
) -> Result<Collected, SearchError> {
    let compiled = compile::compile(parsed, &view.fields, mode);
    let searcher = &view.searcher;
    Ok(searcher.search_with_statistics_provider(&compiled, collect, &view.live)?)
}

/// Whether "most of the words" is less than "all of them".
fn can_relax(parsed: &Parsed) -> bool {
    parsed
        .clauses
        .iter()
        .filter(|clause| compile::is_worded(clause))
        .count()
        > 1
}

fn hits(
    view: &View,
    parsed: &Parsed,
    best: &[Found],
    explained: bool,
    text_of: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Hit>, SearchError> {
    let snippets = Snippets::new(parsed);
    let mut hits = Vec::with_capacity(best.len());
    for found in best {
        let row = row(view, found)?;
        let text = text_of(&row.url_key).unwrap_or_default();
        let explanation = explained
            .then(|| explain::explain(view, parsed, found, &row))
            .transpose()?;
        hits.push(Hit {
            snippet: snippets.best(&text),
            score: rank::points(found.score),
            explanation,
            url_key: row.url_key,
            url: row.url,
            title: row.title,
            fetch_time_ms: row.fetch_time_ms,
            mime: row.mime,
            language: row.language,
            collection: row.collection,
        });
    }
    Ok(hits)
}

fn row(view: &View, found: &Found) -> Result<Row, SearchError> {
    let document: TantivyDocument = view.searcher.doc(found.address)?;
    let row = document.get_first(view.fields.row);
    let row = row.and_then(|value| value.as_bytes().and_then(Row::decode));
    row.ok_or_else(|| SearchError {
        message: format!("document {:?} has no row", found.address),
    })
}

/// Where the next page begins.
struct Cursor {
    mode: Mode,
    after: After,
}

impl Cursor {
    fn encode(mode: Mode, score: rank::Units, key: &str) -> String {
        let mode = match mode {
            Mode::All => 'a',
            Mode::Most => 'm',
            Mode::Any => 'o',
        };
        format!("{mode}{score:x}.{key}")
    }

    fn decode(text: &str) -> Option<Cursor> {
        let (head, key) = text.split_once('.')?;
        let mode = match head.chars().next()? {
            'a' => Mode::All,
            'm' => Mode::Most,
            'o' => Mode::Any,
            _ => return None,
        };
        let score = rank::Units::from_str_radix(&head[1..], 16).ok()?;
        Some(Cursor {
            mode,
            after: After {
                score,
                key: key.to_owned(),
            },
        })
    }
}
