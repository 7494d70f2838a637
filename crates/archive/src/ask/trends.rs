//! Counts how often queries match in each year.

use search::{NoteKind, Query, Results};

use super::basis::Basis;
use super::search::found;
use crate::AskError;
use crate::question::{TREND_QUERIES_MAX, TrendRow, Trends, TrendsBody};

/// Number of attempts to answer all queries from one state of the search index.
const TOGETHER_TRIES: usize = 3;

pub(super) fn trends(basis: &Basis<'_>, question: &Trends) -> Result<TrendsBody, AskError> {
    if question.queries.len() > TREND_QUERIES_MAX {
        return Err(AskError::bad_request(format!(
            "cannot compare {} queries: the limit is {TREND_QUERIES_MAX}",
            question.queries.len()
        )));
    }
    let visible = basis.visible();
    let ask = |text: &String| {
        let query = Query {
            text: text.clone(),
            facets: true,
            all_versions: true,
            ..Query::default()
        };
        found(basis, &visible, &query)
    };
    let mut results = Vec::new();
    for _ in 0..TOGETHER_TRIES {
        results = question.queries.iter().map(ask).collect::<Result<Vec<_>, _>>()?;
        // Compared results should be from one commit of the index. During heavy loading the last
        // ones are used.
        if results.windows(2).all(|two| two[0].epoch == two[1].epoch) {
            break;
        }
    }
    Ok(TrendsBody {
        search_epoch: results.iter().map(|results| results.epoch).min().unwrap_or(0),
        rows: question.queries.iter().zip(results).map(row).collect(),
    })
}

fn row((query, results): (&String, Results)) -> TrendRow {
    // Pages with too few of the words say nothing about how often enough of them occur together.
    let has_enough = results
        .notes
        .iter()
        .all(|note| note.kind != NoteKind::FewOfTheWords);
    let mut years = results.years;
    if !has_enough {
        years.iter_mut().for_each(|year| year.count = 0);
    }
    let mut notes = results.notes;
    notes.retain(|note| note.kind != NoteKind::FewOfTheWords);
    TrendRow {
        query: query.clone(),
        understood: results.understood,
        notes,
        total: if has_enough { results.total } else { 0 },
        years,
    }
}
