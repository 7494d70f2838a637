//! Completes the word being typed.

use super::basis::Basis;
use super::search::damaged;
use crate::AskError;
use crate::question::{Suggest, SuggestionRow, SuggestionsBody};

pub(super) fn suggest(basis: &Basis<'_>, question: &Suggest) -> Result<SuggestionsBody, AskError> {
    let (open, filter) = (basis.open, &basis.filter);
    open.freshen_search().map_err(AskError::internal)?;
    let found = open.search.suggest(&question.text, question.limit, filter);
    let found = found.map_err(|error| damaged(&open.search_folder(), &error))?;
    let rows = found.rows.into_iter().map(|row| SuggestionRow {
        text: row.text,
        word: row.word,
        pages: row.pages,
    });
    Ok(SuggestionsBody {
        text: question.text.clone(),
        search_epoch: found.epoch,
        rows: rows.collect(),
    })
}
