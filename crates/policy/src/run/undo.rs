//! Reverses the actions of a run.

use std::sync::Arc;

use catalogue::{ActRow, ActState, Catalogue, CatalogueError, LogBatch, RunRow};

use super::RunError;
use super::effect::take_back;
use super::restore::UndoError;
use super::settle::{UNDOING, after_undo, settle};
use crate::crash::UNDO_CRASH_POINTS;
use crate::shelf::CopyStore;

/// The outcome of undoing one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// Number of the action in its run.
    pub act: u64,
    /// Path of the file.
    pub path: Vec<u8>,
    /// Why it could not be undone; `None` if it was.
    pub error: Option<String>,
}

/// Undoes the actions of a run, the last one first. Files are restored from the trash, from where
/// they were moved, or from the store. A file now in their place is never replaced. `only` selects
/// one action.
///
/// # Errors
/// [`RunError`]. Failures with single files are returned.
pub fn undo(
    catalogue: &Arc<Catalogue>,
    run: u64,
    only: Option<u64>,
    shelf: Option<&dyn CopyStore>,
) -> Result<Vec<Undone>, RunError> {
    settle(catalogue)?;
    let runs = catalogue.runs()?;
    let acts = completed_acts(catalogue, run, only)?;
    let Some((_, before)) = runs.into_iter().find(|(number, _)| *number == run) else {
        return Err(RunError::NoRun { run });
    };
    if !acts.is_empty() {
        // A process that is killed in between may have undone more than it has logged. [`settle`]
        // finds out.
        note_run(
            catalogue,
            run,
            RunRow {
                end: UNDOING.to_owned(),
                ..before.clone()
            },
        )?;
    }
    let is_any = !acts.is_empty();
    let mut undone = Vec::new();
    for (act, mut row) in acts.into_iter().rev() {
        let result = if row.state == ActState::Emptied {
            Err(UndoError::EmptyTrash)
        } else if let Some(result) = take_back(catalogue, (run, act), &row, shelf) {
            result
        } else {
            continue;
        };
        let path = row.path.clone();
        let error = match result {
            Ok(digest) => {
                system::failpoint::pass(&UNDO_CRASH_POINTS, "policy.taken_back");
                row.state = ActState::Undone;
                row.at_ms = system::time_ms();
                catalogue.write_log(&LogBatch {
                    acts: vec![(run, act, row)],
                    digests: digest.into_iter().collect(),
                    ..LogBatch::default()
                })?;
                None
            }
            Err(error) => Some(error.to_string()),
        };
        undone.push(Undone { act, path, error });
    }
    if is_any {
        note_run(catalogue, run, after_undo(catalogue, run, before)?)?;
    }
    Ok(undone)
}

/// Returns the actions of a run that can be undone, or the one numbered `only`.
fn completed_acts(
    catalogue: &Catalogue,
    run: u64,
    only: Option<u64>,
) -> Result<Vec<(u64, ActRow)>, CatalogueError> {
    let mut acts = Vec::new();
    catalogue.each_act(Some(run), |_, act, row| {
        let is_done = matches!(row.state, ActState::Done | ActState::Emptied);
        if is_done && only.is_none_or(|only| only == act) {
            acts.push((act, row));
        }
        Ok::<(), CatalogueError>(())
    })?;
    Ok(acts)
}

fn note_run(catalogue: &Arc<Catalogue>, run: u64, row: RunRow) -> Result<(), CatalogueError> {
    catalogue.write_log(&LogBatch {
        runs: vec![(run, row)],
        ..LogBatch::default()
    })
}
