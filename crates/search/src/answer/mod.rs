//! Answers a query: parsing, collecting, ordering, snippets and facets.
//!
//! This module joins the others and is used only by `suggest`. It does not know how documents are
//! written.

mod as_of;
pub(crate) mod compile;
pub(crate) mod cursor;
mod explain;
mod presence;
pub(crate) mod profile;
pub(crate) mod results;
mod semantic;
#[cfg(test)]
mod test_query;

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Instant;

use access::AccessFilter;
use vectors::Vectors;

use crate::answer::compile::Compiler;
use crate::answer::cursor::Cursor;
use crate::answer::presence::HeldWords;
use crate::answer::profile::{Profile, RANKED};
use crate::answer::results::{ConcordanceLimits, Hit, InlinksAt, Query, Results, TextRequest, TextSource};
use crate::collect::Order;
use crate::collect::facets;
use crate::collect::grouped::{Content, GroupedCollector, Grouping};
use crate::collect::{self, RankedDoc, SearchAfter, TopDocs, TopDocsCollector};
use crate::documents::document::Row;
use crate::documents::schema;
use crate::error::SearchError;
use crate::index::SearchIndex;
use crate::index::view::View;
use crate::panics::catch_panics;
use crate::query::note::{Note, NoteKind};
use crate::query::{self, ParsedQuery};
use crate::query::{Clause, Versions};
use crate::scoring::rank;
use crate::scoring::wanted::Mode;
use crate::snippet::Snippets;
use crate::words::StemMemo;

/// Maximum number of results in one answer.
const LIMIT_MAX: usize = 1000;

impl SearchIndex {
    /// Answers a query from the documents that `sight` can see. Hits, total and facets are computed
    /// as if the hidden documents did not exist; with a strict sight, so are scores and their
    /// order. `text_of` returns the text of a version for its snippet. It is called at most `limit`
    /// times, and once more for each of the first 1,000 matches if the index has word vectors. Only the
    /// first [`crate::SNIPPET_TEXT_BYTES_MAX`] bytes of each text are read.
    ///
    /// # Errors
    /// [`SearchError`] if the index cannot be read or `after` is not a cursor
    /// ([`is_cursor`](crate::is_cursor)). The text of the query never causes an error.
    pub fn search(
        &self,
        query: &Query,
        sight: &AccessFilter,
        text_of: &TextSource<'_>,
    ) -> Result<Results, SearchError> {
        // One view for the whole answer, so a concurrent commit cannot change its total or its
        // order.
        catch_panics(|| answer(&self.view(), self.vectors(), query, sight, text_of, None))
    }

    /// As [`SearchIndex::search`], but if the query names a time with `at:`, the best matches are
    /// ranked by their in-links of that time, which `inlinks_at` returns. It is called at most 100
    /// times.
    ///
    /// # Errors
    /// As [`SearchIndex::search`].
    pub fn search_as_of(
        &self,
        query: &Query,
        sight: &AccessFilter,
        text_of: &TextSource<'_>,
        inlinks_at: &InlinksAt<'_>,
    ) -> Result<Results, SearchError> {
        catch_panics(|| {
            answer(
                &self.view(),
                self.vectors(),
                query,
                sight,
                text_of,
                Some(inlinks_at),
            )
        })
    }
}

fn answer(
    view: &View,
    vectors: Option<&Vectors>,
    query: &Query,
    sight: &AccessFilter,
    text_of: &TextSource<'_>,
    inlinks_at: Option<&InlinksAt<'_>>,
) -> Result<Results, SearchError> {
    let started = system::now();
    let mut parsed = query::parse(&query.text);
    let mut cursor = match query.after.as_deref() {
        Some(after) => Some(Cursor::decode(after).ok_or_else(SearchError::no_cursor)?),
        None => None,
    };
    if parsed.clauses.is_empty() {
        // Without clauses every page would match, which is not what the user asked for.
        return Ok(Results {
            notes: parsed.notes,
            epoch: view.epoch,
            took_ms: milliseconds(started),
            ..Results::default()
        });
    }
    let limit = query.limit.min(LIMIT_MAX);
    // The in-links of a time, word vectors and a profile reorder only the best matches. The results
    // after them are in the order of scores.
    let as_of = inlinks_at.and_then(|inlinks_at| Some((as_of::time(&parsed)?, inlinks_at)));
    let is_personal = limit > 0
        && query.order == Order::Relevance
        && (!query.profile.is_empty() || as_of.is_some() || vectors.is_some())
        && cursor.as_ref().is_none_or(|cursor| cursor.personal);
    // A cursor keeps the mode of its list, so that its next page lists the same matches.
    let mut mode = match &cursor {
        Some(cursor) => cursor.mode,
        None => Mode::Enough,
    };
    let versions = versions(&mut parsed, query, sight);
    let visible_view = view.visible_to(sight, versions)?;
    let compiler = Compiler::new(view, &visible_view, &parsed, versions, query.ranking);
    let near = compiler.near(&parsed)?;
    let grouping = Grouping {
        per_site: query.per_site,
        content: match (query.near, query.distinct) {
            (true, _) => Content::Near,
            (false, true) => Content::Digest,
            (false, false) => Content::Any,
        },
    };
    let personal_after = cursor.take_if(|_| is_personal).map(|cursor| cursor.after);
    let mut run = |mode| {
        let collect = TopDocsCollector {
            buckets: &visible_view.buckets,
            visible: &visible_view.visible,
            near: &near,
            lists: &view.lists,
            limit: if is_personal { RANKED } else { limit },
            after: cursor.take().map(|cursor| cursor.after),
            facets: query.facets,
            order: query.order,
            least: AtomicU32::new(0),
            count_max: count_max(query),
            counted: AtomicU64::new(0),
        };
        collect_matches(view, &compiler, &parsed, mode, &collect, grouping)
    };
    let mut found = run(mode)?;
    // Relax the query only if no page has enough words: a short list of good matches is better than
    // a long list.
    for relaxed in [Mode::Known, Mode::One] {
        if !found.has_matches() && mode == Mode::Enough && can_relax(&parsed) {
            found = run(relaxed)?;
            if found.has_matches() {
                mode = relaxed;
            }
        }
    }
    if mode != Mode::Enough {
        parsed.notes.push(Note::new(NoteKind::FewOfTheWords, ""));
    }
    let mut next = if is_personal {
        let after_all = last_of(view, &found, mode)?;
        if let Some((last, inlinks_at)) = as_of {
            as_of::rerank(&view.searcher, &mut found.best, last, inlinks_at)?;
        }
        if let Some(vectors) = vectors {
            semantic::rerank(view, vectors, &parsed, &mut found.best, text_of)?;
        }
        let page = (personal_after.as_ref(), limit);
        put_in_order(view, &query.profile, &mut found, page)?
            .then_some(after_all)
            .flatten()
    } else {
        None
    };
    let understood = parsed.to_string();
    let by_score = query.order == Order::Relevance;
    let presence = presence::of(view, &compiler, (&parsed, mode), &found.best)?;
    let explained = (query.explain && by_score).then_some(&compiler);
    let explained = explained.map(|compiler| (compiler, &query.profile));
    let mut hits = hits(view, &parsed, &found.best, &presence, explained)?;
    match &query.lines {
        Some(lines) => view
            .memos
            .with(|memo| add_lines(&parsed, &mut hits, lines, memo, text_of)),
        None => view
            .memos
            .with(|memo| add_snippets(&parsed, &mut hits, memo, text_of)),
    }
    if !by_score {
        hits.iter_mut().for_each(|hit| hit.score = 0.0);
    }
    let (mut facets, mut years) = (Vec::new(), Vec::new());
    if query.facets {
        facets = facets::facets(&found.counts, &understood)?;
        let counts = facets::years(&found.counts);
        years = view
            .years
            .with_document_counts(&view.searcher, &visible_view.visible, counts)?;
        // A zero would say that nothing matched in a year that was not searched.
        years.retain(|year| year.count > 0 || !parsed.leaves_out(year.year));
    }
    let is_cut = hits.len() < found.best.len();
    if is_cut {
        // A concordance ended before the last of these matches, so it continues among them.
        next = None;
    }
    let more = found.more || is_cut;
    let last = hits.len().checked_sub(1).and_then(|last| found.best.get(last));
    if let (None, true, Some(last), Some(hit)) = (&next, more, last, hits.last()) {
        let identity = schema::identity(&hit.url_key, &hit.version);
        next = Some(Cursor::encode(mode, is_personal, last.score, &identity));
    }
    Ok(Results {
        understood,
        notes: parsed.notes,
        total: found.total,
        has_more_than_total: found.has_more_than_total,
        shown_total: found.shown_total,
        epoch: view.epoch,
        took_ms: milliseconds(started),
        hits,
        facets,
        years,
        next,
    })
}

/// Returns the cursor after the last match found, in the order of scores, if more follow. Must be
/// called before the matches are reordered.
fn last_of(view: &View, found: &TopDocs, mode: Mode) -> Result<Option<String>, SearchError> {
    let Some(last) = found.best.last().filter(|_| found.more) else {
        return Ok(None);
    };
    let key = collect::key_of(&view.searcher, last.address)?.unwrap_or_default();
    Ok(Some(Cursor::encode(mode, false, last.score, &key)))
}

/// Reorders the best matches by a profile, and keeps those of the page: at most a number of matches
/// after one of them. Returns whether the page has the last of them.
fn put_in_order(
    view: &View,
    profile: &Profile,
    found: &mut TopDocs,
    (after, limit): (Option<&SearchAfter>, usize),
) -> Result<bool, SearchError> {
    let ranked = std::mem::take(&mut found.best);
    let page = profile::rerank(&view.searcher, profile, ranked, after, limit)?;
    found.best = page.best;
    found.more = page.more;
    Ok(!page.more)
}

/// Returns which versions the search covers. The end of a version is the time of the next capture.
/// Past versions are therefore searched only if `sight` cannot hide one capture of a URL while it
/// shows another.
fn versions(parsed: &mut ParsedQuery, query: &Query, sight: &AccessFilter) -> Versions {
    let versions = if query.all_versions {
        Versions::All
    } else {
        parsed.versions()
    };
    if versions == Versions::All && !sight.depends_on_keys_only() {
        parsed.notes.push(Note::new(NoteKind::PastVersionsLeftOut, ""));
        return Versions::Current;
    }
    versions
}

/// Returns the number of matches to count. A query for counts alone counts all.
fn count_max(query: &Query) -> u64 {
    let count_max = query
        .count_max
        .filter(|_| query.limit > 0 && !query.facets && query.order == Order::Relevance);
    count_max.unwrap_or(TopDocsCollector::COUNT_ALL)
}

fn milliseconds(started: Instant) -> f64 {
    system::since(started).as_secs_f64() * 1000.0
}

fn collect_matches(
    view: &View,
    compiler: &Compiler<'_>,
    parsed: &ParsedQuery,
    mode: Mode,
    collect: &TopDocsCollector<'_>,
    grouping: Grouping,
) -> Result<TopDocs, SearchError> {
    let compiled = compiler.compile(parsed, mode)?;
    Ok(if grouping.is_any() {
        view.searcher
            .search(&*compiled, &GroupedCollector { collect, grouping })?
    } else {
        view.searcher.search(&*compiled, collect)?
    })
}

/// Returns whether pages with one of the words are more than those with enough.
fn can_relax(parsed: &ParsedQuery) -> bool {
    let demanded = parsed.clauses.iter().filter(|clause| clause.wanted().is_none());
    let demanded = demanded.filter_map(Clause::demanded_words).count();
    let wanted = parsed.wanted().count();
    wanted > 0 && wanted + demanded > 1
}

fn hits(
    view: &View,
    parsed: &ParsedQuery,
    best: &[RankedDoc],
    presence: &[HeldWords],
    explained: Option<(&Compiler<'_>, &Profile)>,
) -> Result<Vec<Hit>, SearchError> {
    let rows = rows(view, best)?;
    let mut hits = Vec::with_capacity(best.len());
    for ((found, held), row) in best.iter().zip(presence).zip(rows) {
        let explanation = explained
            .map(|(compiler, profile)| explain::explain(view, compiler, parsed, profile, (found, held), &row))
            .transpose()?;
        hits.push(Hit {
            score: rank::points(found.score),
            explanation,
            missing: held.missing.clone(),
            url_key: row.url_key,
            url: row.url,
            title: row.title,
            fetch_time_ms: row.fetch_time_ms,
            mime: row.mime,
            language: row.language,
            collection: row.collection,
            version: row.version,
            group: found.group,
            ..Hit::default()
        });
    }
    Ok(hits)
}

/// Reads the rows of documents in the order in which they are stored, because neighbours share a
/// compressed block.
fn rows(view: &View, best: &[RankedDoc]) -> Result<Vec<Row>, SearchError> {
    let mut rows = vec![Row::default(); best.len()];
    for index in sorted(best.len(), |index| best[index].address) {
        rows[index] = view
            .rows
            .read(&view.searcher, &view.fields, best[index].address)?;
    }
    Ok(rows)
}

/// Adds a snippet to each hit. Texts are read in the order of their keys, which is their order on
/// disk, and one at a time, because a thousand long texts would fill the memory.
fn add_snippets(parsed: &ParsedQuery, hits: &mut [Hit], memo: &mut StemMemo, text_of: &TextSource<'_>) {
    let mut maker = Snippets::new(parsed, memo);
    for index in sorted(hits.len(), |index| hits[index].url_key.as_str()) {
        let hit = &mut hits[index];
        let text = text_of(&text_request(hit));
        hit.snippet = maker.best(text.as_deref().unwrap_or_default(), &hit.language);
    }
}

/// Adds concordance lines to each hit. Texts are read in the order of the results, because the
/// first texts may already have enough lines.
fn add_lines(
    parsed: &ParsedQuery,
    hits: &mut Vec<Hit>,
    lines: &ConcordanceLimits,
    memo: &mut StemMemo,
    text_of: &TextSource<'_>,
) {
    let mut maker = Snippets::new(parsed, memo);
    let mut left = lines.most.max(1);
    let per_page = lines.per_page.clamp(1, left);
    for index in 0..hits.len() {
        let hit = &mut hits[index];
        let text = text_of(&text_request(hit));
        let text = text.as_deref().unwrap_or_default();
        let of_page = maker.lines(text, &hit.language, per_page, lines.words);
        match left.checked_sub(of_page.len()) {
            Some(rest) => left = rest,
            // The next answer begins with this page.
            None => return hits.truncate(index),
        }
        hit.lines = of_page;
        if left == 0 {
            return hits.truncate(index + 1);
        }
    }
}

fn text_request(hit: &Hit) -> TextRequest<'_> {
    TextRequest {
        url_key: &hit.url_key,
        past: hit.version.until_ms.map(|_| hit.version.text),
    }
}

/// Returns the numbers below `count`, sorted by `key`.
fn sorted<K: Ord>(count: usize, key: impl Fn(usize) -> K) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    numbers.sort_unstable_by_key(|&number| key(number));
    numbers
}
