//! Reverses the actions of a run.

use std::sync::Arc;

use catalogue::{ActRow, ActState, Catalogue, CatalogueError, Digest, Notes, Place, RunRow, Seen};
use rustix::fs::{Gid, Mode, Timespec, Timestamps, Uid};

use super::content::digest;
use super::leave::remove_empty;
use super::{RunError, settle};
use crate::crash::UNDO_CRASH_POINTS;
use crate::path::{is_there, path_of};
use crate::shelf::Shelf;

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
    shelf: Option<&dyn Shelf>,
) -> Result<Vec<Undone>, RunError> {
    settle(catalogue)?;
    let runs = catalogue.runs()?;
    let mut acts: Vec<(u64, ActRow)> = Vec::new();
    catalogue.each_act(Some(run), |_, act, row| {
        let is_done = matches!(row.state, ActState::Done | ActState::Emptied);
        if is_done && only.is_none_or(|only| only == act) {
            acts.push((act, row));
        }
        Ok::<(), CatalogueError>(())
    })?;
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
        let result = match &*row.action {
            _ if row.state == ActState::Emptied => {
                Err("it is gone: it was in the trash, which was emptied".to_owned())
            }
            "delete" | "move" => rename_back(catalogue, &row).map(|()| None),
            "release" => fetch_back(catalogue, (run, act), &row, shelf).map(Some),
            // These actions left the file in place; other actions cannot be undone.
            "verify" | "copy" => continue,
            other => Err(format!("{other} cannot be undone")),
        };
        let path = row.path.clone();
        let error = match result {
            Ok(digest) => {
                system::failpoint::pass(&UNDO_CRASH_POINTS, "policy.taken_back");
                row.state = ActState::Undone;
                row.at_ms = system::time_ms();
                catalogue.note(&Notes {
                    acts: vec![(run, act, row)],
                    digests: digest.into_iter().collect(),
                    ..Notes::default()
                })?;
                None
            }
            Err(error) => Some(error),
        };
        undone.push(Undone { act, path, error });
    }
    if is_any {
        note_run(catalogue, run, after_undo(catalogue, run, before)?)?;
    }
    Ok(undone)
}

/// The end of a run's row while its actions are being undone.
pub(super) const UNDOING: &str = "it was being taken back";

fn note_run(catalogue: &Arc<Catalogue>, run: u64, row: RunRow) -> Result<(), CatalogueError> {
    catalogue.note(&Notes {
        runs: vec![(run, row)],
        ..Notes::default()
    })
}

/// Returns the row of a run after an undo. If no action of the run is in effect any longer, the run
/// is undone.
pub(super) fn after_undo(catalogue: &Catalogue, run: u64, before: RunRow) -> Result<RunRow, CatalogueError> {
    let (mut undone, mut left) = (0u64, 0u64);
    catalogue.each_act(Some(run), |_, _, act| {
        undone += u64::from(act.state == ActState::Undone);
        left += u64::from(act.takes_away());
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

fn rename_back(catalogue: &Catalogue, row: &ActRow) -> Result<(), String> {
    let to = path_of(&row.to);
    if !is_there(catalogue, &row.to, &row.seen) {
        // A process that was killed between the rename and the log may have restored it already.
        return if is_there(catalogue, &row.path, &row.seen) {
            Ok(())
        } else {
            Err(format!(
                "{} is gone: the trash was emptied, or the file was moved away",
                to.display()
            ))
        };
    }
    let put_back = || {
        let from = Place::open(&row.to)?;
        // The directories that contained it may have been removed.
        from.rename(&Place::make(&row.path, 0o755)?)
    };
    put_back().map_err(|error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => "another file now has its name: rename it first".to_owned(),
        _ => error.to_string(),
    })?;
    remove_empty(&row.to, b"/");
    Ok(())
}

/// Restores a released file from the store. It has a temporary name until it is complete and
/// verified.
fn fetch_back(
    catalogue: &Catalogue,
    (run, act): (u64, u64),
    row: &ActRow,
    shelf: Option<&dyn Shelf>,
) -> Result<Digest, String> {
    let shelf = shelf.ok_or("it is in a store: name its volumes (--volume DIR) or set WEFT_STORE")?;
    let known = catalogue.digest(row.seen.id).map_err(|error| error.to_string())?;
    let known = known
        .filter(|known| known.seen == row.seen)
        .ok_or("its digest is no longer in the catalogue")?;
    let copy = known
        .copy
        .clone()
        .ok_or("the address of its copy is no longer in the catalogue")?;
    let said = |error: std::io::Error| error.to_string();
    let place = Place::make(&row.path, 0o755).map_err(said)?;
    if place.look(catalogue).map_err(said)?.is_some() {
        return Err("another file now has its name: rename it first".to_owned());
    }
    let mut part = row.path.clone();
    let begin = part
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |slash| slash + 1);
    part.truncate(begin);
    part.extend_from_slice(format!(".weft-undo-{run}-{act}").as_bytes());
    let part = Place::open(&part).map_err(said)?;
    // Left by a process that was killed in between. Usually there is no such file, and creating it
    // reports any other error.
    let _ = part.remove();
    let file = part.create().map_err(said)?;
    let whole = || -> Result<(), String> {
        shelf.get(&copy.address, file.try_clone().map_err(said)?)?;
        let sha256 = digest(part.read().map_err(said)?, &false.into()).map_err(said)?;
        if sha256 != Some(known.sha256) {
            return Err(format!("{} differs from the released file", copy.address));
        }
        let (mode, uid, gid) = row.access;
        // Users who are not allowed to give files away keep the ownership.
        let _ = rustix::fs::fchown(&file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode.into())).map_err(|error| error.to_string())?;
        let modified = Timespec {
            tv_sec: row.seen.modified_ns.div_euclid(1_000_000_000),
            tv_nsec: row.seen.modified_ns.rem_euclid(1_000_000_000),
        };
        let times = Timestamps {
            last_access: modified,
            last_modification: modified,
        };
        rustix::fs::futimens(&file, &times).map_err(|error| error.to_string())?;
        file.sync_all().map_err(said)?;
        part.rename(&place).map_err(said)
    };
    if let Err(error) = whole() {
        // The incomplete file is useless.
        let _ = part.remove();
        return Err(error);
    }
    let came = place.look(catalogue).map_err(said)?;
    let came = came.ok_or("it disappeared after it was restored")?;
    Ok(Digest {
        seen: Seen::of(&came),
        verified_ms: system::time_ms(),
        damaged_ms: None,
        ..known
    })
}
