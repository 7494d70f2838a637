//! Lists matches of a search with the words around them.

use search::{ConcordanceLimits, Hit, Query};

use super::basis::Basis;
use super::search::found;
use super::visible_snapshot::VisibleSnapshot;
use crate::AskError;
use crate::question::{CONTEXT_WORDS_MAX, ConcordanceBody, ConcordanceLine, ConcordanceQuestion};

pub(super) fn concordance(
    basis: &Basis<'_>,
    question: &ConcordanceQuestion,
) -> Result<ConcordanceBody, AskError> {
    let query = Query {
        text: question.query.clone(),
        // Some of these pages may have no line. Then the answer has fewer lines, and the next
        // answer continues after these pages.
        limit: question.limit,
        after: question.after.clone(),
        order: question.order,
        all_versions: question.all_versions,
        lines: Some(ConcordanceLimits {
            most: question.limit,
            per_page: question.per_page,
            words: question.context.min(CONTEXT_WORDS_MAX),
        }),
        ..Query::default()
    };
    let visible = basis.visible();
    let results = found(basis, &visible, &query)?;
    let mut lines = Vec::new();
    for hit in results.hits {
        add_lines(&visible, hit, &mut lines)?;
    }
    Ok(ConcordanceBody {
        query: question.query.clone(),
        understood: results.understood,
        notes: results.notes,
        total: results.total,
        search_epoch: results.epoch,
        took_ms: results.took_ms,
        lines,
        next: results.next,
    })
}

fn add_lines(
    visible: &VisibleSnapshot<'_>,
    hit: Hit,
    lines: &mut Vec<ConcordanceLine>,
) -> Result<(), AskError> {
    if hit.lines.is_empty() {
        return Ok(());
    }
    let version = visible.version_shown(&hit.url_key, hit.version)?;
    let of_page = hit.lines.into_iter().map(|line| ConcordanceLine {
        left: line.left,
        matched: line.matched,
        right: line.right,
        url: hit.url.clone(),
        url_key: hit.url_key.clone(),
        title: hit.title.clone(),
        fetch_time: format::date::iso(hit.fetch_time_ms),
        since: format::date::iso(version.since_ms),
        until: version.ended_ms().map(format::date::iso),
    });
    lines.extend(of_page);
    Ok(())
}
