//! Full-text search, with in-link counts from the views.

use std::sync::Arc;

use search::{Hit, Query, Results, SearchError, TextRequest, TextSource};

use super::basis::Basis;
use super::visible_snapshot::VisibleSnapshot;
use super::{attachments, cdx, cursor};
use crate::AskError;
use crate::open_archive::remake_advice;
use crate::question::{SearchBody, SearchHit, SearchQuestion, SearchSummary};

pub(super) fn search(basis: &Basis<'_>, question: &SearchQuestion) -> Result<SearchBody, AskError> {
    let query = question.to_query().map_err(AskError::bad_request)?;
    let visible = basis.visible();
    let results = found(basis, &visible, &query)?;
    let summary = SearchSummary::of(&question.query, &results);
    let hits = results.hits.into_iter().map(|hit| search_hit(&visible, hit));
    Ok(SearchBody {
        summary,
        hits: hits.collect::<Result<_, AskError>>()?,
        facets: results.facets,
        years: results.years,
        next: results.next,
    })
}

/// Runs a query on the search index, with the texts that are visible.
pub(super) fn found(
    basis: &Basis<'_>,
    visible: &VisibleSnapshot<'_>,
    query: &Query,
) -> Result<Results, AskError> {
    let text_of = |sought: &TextRequest<'_>| match sought.past {
        None => visible.text_shown(sought.url_key).ok().flatten(),
        Some(name) => visible
            .past_text(sought.url_key, name?)
            .ok()
            .flatten()
            .map(Arc::from),
    };
    found_with_texts(basis, visible, query, &text_of)
}

/// Runs a query on the search index. Hits have no snippets, so no texts are read for them.
pub(super) fn found_without_texts(
    basis: &Basis<'_>,
    visible: &VisibleSnapshot<'_>,
    query: &Query,
) -> Result<Results, AskError> {
    found_with_texts(basis, visible, query, &|_| None)
}

fn found_with_texts(
    basis: &Basis<'_>,
    visible: &VisibleSnapshot<'_>,
    query: &Query,
    text_of: &TextSource<'_>,
) -> Result<Results, AskError> {
    let (open, filter) = (basis.open, &basis.filter);
    if query
        .after
        .as_deref()
        .is_some_and(|after| !search::is_cursor(after))
    {
        return Err(AskError::bad_request(cursor::NO_CURSOR));
    }
    open.freshen_search().map_err(AskError::internal)?;
    // If a number cannot be read, the page keeps its place.
    let inlinks_at = |url_key: &str, last: u64| {
        let inlinks = visible.external_inlinks_at(url_key, &format!("{last:014}"));
        inlinks.ok().flatten().map(index::inlinks_bucket)
    };
    let found = open.search.search_as_of(query, filter, text_of, &inlinks_at);
    found.map_err(|error| damaged(&open.search_folder(), &error))
}

/// Returns the error for a search index that cannot be read, in a folder.
pub(super) fn damaged(folder: &str, error: &SearchError) -> AskError {
    // The log has the message of the search engine.
    tracing::error!(%error, folder, "the search index cannot be read");
    AskError::internal(format!(
        "the search index cannot be read: {folder} may be damaged (`weft verify` checks it): {}",
        remake_advice(folder)
    ))
}

fn search_hit(visible: &VisibleSnapshot<'_>, hit: Hit) -> Result<SearchHit, AskError> {
    let inlinks = visible.inlinks_shown(&hit.url_key)?;
    let version = visible.version_shown(&hit.url_key, hit.version)?;
    let thumbnail = attachments::thumbnail(visible, (&hit.url_key, &hit.url), hit.fetch_time_ms)?;
    Ok(SearchHit {
        since: format::date::iso(version.since_ms),
        until: version.ended_ms().map(format::date::iso),
        past_versions: u64::from(version.past_versions),
        domain: urlkey::domain_of_key(&hit.url_key).to_string(),
        url_key: hit.url_key,
        url: hit.url,
        title: hit.title,
        fetch_time: format::date::iso(hit.fetch_time_ms),
        mime: hit.mime,
        language: hit.language,
        collection: hit.collection,
        snippet: hit.snippet,
        thumbnail: thumbnail.map(|thumbnail| Box::new(cdx::row(thumbnail))),
        missing: hit.missing,
        inlinks: inlinks.map(|(all, _)| all),
        inlinks_external: inlinks.map(|(_, external)| external),
        score: hit.score,
        of_site: group(hit.group.map(|group| group.of_site)),
        of_digest: group(hit.group.map(|group| group.of_digest)),
        of_near: group(hit.group.map(|group| group.of_near)),
        like: hit.group.and_then(|group| group.like()),
        explanation: hit.explanation,
    })
}

/// Returns the size of a group; `None` for a result without a group.
fn group(count: Option<u64>) -> Option<u64> {
    count.filter(|count| *count > 0)
}
