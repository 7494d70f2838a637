//! Rebuilds views and the search index, and reports the progress.

use index::{RebuildError, View};

use super::basis::Basis;
use crate::AskError;
use crate::question::{Rebuild, Rebuilding, RebuildingBody, RebuiltBody, RebuiltPart};

/// Name of the search index in the list of rebuilt parts.
const SEARCH: &str = "search";

/// Rebuilds views, then the search index. Loads wait meanwhile; questions are answered.
pub(super) fn rebuild(basis: &Basis<'_>, question: &Rebuild) -> Result<RebuiltBody, AskError> {
    let open = basis.open;
    open.writable()?;
    let views = question.views.iter().map(|name| name.parse());
    let views: Vec<View> = views.collect::<Result<_, _>>().map_err(AskError::bad_request)?;
    let begun = open.rebuild_begins()?;
    let mut body = RebuiltBody {
        rebuilt_epoch: basis.snapshot.epoch().0,
        ..RebuiltBody::default()
    };
    if !views.is_empty() {
        let mut progress = |table: &str, rows| begun.at(table, rows);
        let rebuilt = open
            .index
            .rebuild(&views, &mut progress)
            .map_err(|error| match error {
                RebuildError::NotDerived(_) => AskError::bad_request(error),
                other => AskError::internal(other),
            })?;
        body.rebuilt_epoch = rebuilt.epoch.0;
        body.search_is_behind = rebuilt.search_needs_rebuild && !question.search;
        body.parts = rebuilt
            .tables
            .into_iter()
            .map(|sum| RebuiltPart {
                part: sum.table.to_owned(),
                rows: sum.rows,
                mended: sum.rows_repaired,
            })
            .collect();
    }
    if question.search {
        let made = open
            .rebuild_search(&mut |rows| begun.at(SEARCH, rows))
            .map_err(AskError::internal)?;
        body.parts.push(RebuiltPart {
            part: SEARCH.to_owned(),
            rows: made,
            mended: made,
        });
    }
    Ok(body)
}

/// Returns the progress of the running rebuild, if any.
pub(super) fn progress(basis: &Basis<'_>, _: &Rebuilding) -> Result<RebuildingBody, AskError> {
    let (part, rows) = basis.open.rebuild_progress();
    Ok(RebuildingBody { part, rows })
}
