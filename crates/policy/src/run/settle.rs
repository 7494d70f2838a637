//! After a kill: what was begun is settled by what is on the disk.

use std::sync::Arc;

use files::{ActRow, ActState, Catalogue, CatalogueError, Notes, Place};

use super::act::is_there;
use super::leave::remove_empty;
use super::now_ms;
use crate::trash;

/// Settles actions that were begun by a process that is gone, and returns how many there were.
///
/// The catalogue is open in one process at a time: whoever calls this knows that nobody is acting.
///
/// # Errors
/// A row could not be read or written.
pub fn settle(catalogue: &Arc<Catalogue>) -> Result<usize, CatalogueError> {
    let mut notes = Notes::default();
    let begun = catalogue
        .runs()?
        .into_iter()
        .filter(|(_, run)| run.state == ActState::Begun);
    for (run, _) in begun {
        catalogue.each_act(Some(run), |run, act, mut row| {
            if row.state == ActState::Begun {
                let to = row.to.clone();
                (row.state, row.why) = outcome(catalogue, &mut row);
                // Directories of the trash that were made for it, if nothing came into them.
                remove_empty(&to, b"/");
                row.at_ms = now_ms();
                notes.acts.push((run, act, row));
            }
            Ok::<(), CatalogueError>(())
        })?;
    }
    let settled = notes.acts.len();
    let emptied = trash::emptied(catalogue, notes.acts.iter().map(|(_, _, row)| row))?;
    notes.acts.extend(emptied);
    if !notes.acts.is_empty() {
        catalogue.note(&notes)?;
    }
    Ok(settled)
}

fn outcome(catalogue: &Catalogue, row: &mut ActRow) -> (ActState, String) {
    let is_here = is_there(catalogue, &row.path, &row.seen);
    let is_moved = !row.to.is_empty() && is_there(catalogue, &row.to, &row.seen);
    let ended = "the process ended";
    match (&*row.action, is_here, is_moved) {
        ("delete" | "move", _, true) => (ActState::Done, format!("{ended} after it")),
        ("release", _, true) => match put_back(row) {
            Ok(()) => (
                ActState::Skipped,
                format!("{ended} before it; the file is where it was"),
            ),
            Err(error) => (
                ActState::Failed,
                format!("{ended} before it; the file is in the trash and cannot be put back: {error}"),
            ),
        },
        // It was in the trash for a moment, and its replicas were right then.
        ("release", false, false) => {
            let digest = catalogue.digest(row.seen.id).ok().flatten();
            if let Some(copy) = digest.and_then(|digest| digest.copy) {
                row.to = copy.address.into_bytes();
            }
            (ActState::Done, format!("{ended} after it"))
        }
        ("empty-trash", false, _) => (ActState::Done, format!("{ended} after it")),
        ("command", ..) => (
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
    Place::open(&row.to)?.rename(&Place::open(&row.path)?)
}
