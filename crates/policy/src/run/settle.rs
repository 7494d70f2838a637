//! Settles actions after a kill, from the state of the disk.

use std::sync::Arc;

use catalogue::{ActRow, ActState, ActionKind, Catalogue, CatalogueError, LogBatch, PathHandle, RunRow};

use super::removal::remove_empty;
use crate::path::is_there;
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
                (row.state, row.why) = outcome(catalogue, &mut row);
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

/// Returns whether a file that an action took away is in its place again.
fn is_back(catalogue: &Catalogue, row: &ActRow) -> bool {
    match &row.action {
        // A file restored from a store is another file with the same content and times.
        ActionKind::Release => {
            let found = PathHandle::open(&row.path).and_then(|place| place.stat(catalogue));
            matches!(found, Ok(Some(file))
                if (file.size_bytes, file.modified_ns) == (row.version.size_bytes, row.version.modified_ns))
        }
        _ => is_there(catalogue, &row.path, &row.version) && !is_there(catalogue, &row.to, &row.version),
    }
}

fn outcome(catalogue: &Catalogue, row: &mut ActRow) -> (ActState, String) {
    let is_here = is_there(catalogue, &row.path, &row.version);
    let is_moved = !row.to.is_empty() && is_there(catalogue, &row.to, &row.version);
    let ended = "the process ended";
    match (&row.action, is_here, is_moved) {
        (ActionKind::Delete | ActionKind::Move, _, true) => (ActState::Done, format!("{ended} after it")),
        (ActionKind::Release, _, true) => match put_back(row) {
            Ok(()) => (
                ActState::Skipped,
                format!("{ended} before it; the file is where it was"),
            ),
            Err(error) => (
                ActState::Failed,
                format!("{ended} before it; the file is in the trash and cannot be put back: {error}"),
            ),
        },
        // It was in the trash for a moment, after its replicas were found intact.
        (ActionKind::Release, false, false) => {
            let digest = catalogue.digest(row.version.id).ok().flatten();
            if let Some(copy) = digest.and_then(|digest| digest.copy) {
                row.to = copy.address.into_bytes();
            }
            (ActState::Done, format!("{ended} after it"))
        }
        (ActionKind::EmptyTrash, false, _) => (ActState::Done, format!("{ended} after it")),
        (ActionKind::Command, ..) => (
            ActState::Failed,
            format!("{ended} while the command ran, or before: what it did is not known"),
        ),
        (_, true, false) => (ActState::Skipped, format!("{ended} before it")),
        _ => (
            ActState::Failed,
            format!("{ended}, and the file is not there any more"),
        ),
    }
}

fn put_back(row: &ActRow) -> std::io::Result<()> {
    PathHandle::open(&row.to)?.rename(&PathHandle::open(&row.path)?)
}
