//! Settles actions after a kill, from the state of the disk.

use std::sync::Arc;

use catalogue::{ActState, Catalogue, CatalogueError, LogBatch, RunRow};

use super::effect::{is_back, outcome_after_kill};
use super::removal::remove_empty;
use crate::trash;

/// The end of a run's row while its actions are being undone.
pub(super) const UNDOING: &str = "it was being taken back";

/// Settles actions that a killed process had started, and returns their number.
///
/// Only one process at a time has the catalogue open, so no action is running when this is called.
///
/// # Errors
/// A row could not be read or written.
pub fn settle(catalogue: &Arc<Catalogue>) -> Result<usize, CatalogueError> {
    let mut notes = LogBatch::default();
    let runs = catalogue.runs()?;
    for (run, row) in runs.iter().filter(|(_, run)| run.end == UNDOING) {
        settle_undo(catalogue, *run, row)?;
    }
    let begun = runs.into_iter().filter(|(_, run)| run.state == ActState::Begun);
    for (run, _) in begun {
        catalogue.each_act(Some(run), |run, act, mut row| {
            if row.state == ActState::Begun {
                let to = row.to.clone();
                (row.state, row.why) = outcome_after_kill(catalogue, &mut row);
                // Remove the directories that were created for it in the trash, if they are empty.
                remove_empty(&to, b"/");
                row.at_ms = system::time_ms();
                notes.acts.push((run, act, row));
            }
            Ok::<(), CatalogueError>(())
        })?;
    }
    let settled = notes.acts.len();
    let emptied = trash::emptied(catalogue, notes.acts.iter().map(|(_, _, row)| row))?;
    notes.acts.extend(emptied);
    if !notes.acts.is_empty() {
        catalogue.write_log(&notes)?;
    }
    Ok(settled)
}

/// Logs the actions that an undo had reversed when its process ended.
fn settle_undo(catalogue: &Arc<Catalogue>, run: u64, row: &RunRow) -> Result<(), CatalogueError> {
    let mut notes = LogBatch::default();
    catalogue.each_act(Some(run), |run, act, mut row| {
        if row.has_removed_file() && row.state == ActState::Done && is_back(catalogue, &row) {
            row.state = ActState::Undone;
            row.at_ms = system::time_ms();
            notes.acts.push((run, act, row));
        }
        Ok::<(), CatalogueError>(())
    })?;
    if !notes.acts.is_empty() {
        catalogue.write_log(&notes)?;
    }
    let row = after_undo(catalogue, run, row.clone())?;
    catalogue.write_log(&LogBatch {
        runs: vec![(run, row)],
        ..LogBatch::default()
    })
}

/// Returns the row of a run after an undo. If no action of the run is in effect any longer, the run
/// is undone.
pub(super) fn after_undo(catalogue: &Catalogue, run: u64, before: RunRow) -> Result<RunRow, CatalogueError> {
    let (mut undone, mut left) = (0u64, 0u64);
    catalogue.each_act(Some(run), |_, _, act| {
        undone += u64::from(act.state == ActState::Undone);
        left += u64::from(act.has_removed_file());
        Ok::<(), CatalogueError>(())
    })?;
    let mut row = before;
    if undone > 0 {
        row.end = match left {
            0 => String::new(),
            left => format!("{undone} taken back, {left} not"),
        };
        if left == 0 {
            row.state = ActState::Undone;
        }
    } else if row.end == UNDOING {
        row.end.clear();
    }
    Ok(row)
}
