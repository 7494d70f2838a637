//! Reverses the actions of a run.

use std::sync::Arc;

use catalogue::{
    ActRow, ActState, ActionKind, Catalogue, CatalogueError, Digest, FileVersion, LogBatch, PathHandle,
    RunRow,
};
use rustix::fs::{Gid, Mode, Timespec, Timestamps, Uid};

use super::RunError;
use super::content::digest;
use super::removal::remove_empty;
use super::settle::{UNDOING, after_undo, settle};
use crate::crash::UNDO_CRASH_POINTS;
use crate::path::{is_there, path_of};
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
        let result = match &row.action {
            _ if row.state == ActState::Emptied => {
                Err("it is gone: it was in the trash, which was emptied".to_owned())
            }
            ActionKind::Delete | ActionKind::Move => rename_back(catalogue, &row).map(|()| None),
            ActionKind::Release => fetch_back(catalogue, (run, act), &row, shelf).map(Some),
            // These actions left the file in place.
            ActionKind::Verify | ActionKind::Copy => continue,
            other @ (ActionKind::EmptyTrash
            | ActionKind::Command
            | ActionKind::Report
            | ActionKind::Growth
            | ActionKind::Other(_)) => Err(format!("{other} cannot be undone")),
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
            Err(error) => Some(error),
        };
        undone.push(Undone { act, path, error });
    }
    if is_any {
        note_run(catalogue, run, after_undo(catalogue, run, before)?)?;
    }
    Ok(undone)
}

fn note_run(catalogue: &Arc<Catalogue>, run: u64, row: RunRow) -> Result<(), CatalogueError> {
    catalogue.write_log(&LogBatch {
        runs: vec![(run, row)],
        ..LogBatch::default()
    })
}

fn rename_back(catalogue: &Catalogue, row: &ActRow) -> Result<(), String> {
    let to = path_of(&row.to);
    if !is_there(catalogue, &row.to, &row.version) {
        // A process that was killed between the rename and the log may have restored it already.
        return if is_there(catalogue, &row.path, &row.version) {
            Ok(())
        } else {
            Err(format!(
                "{} is gone: the trash was emptied, or the file was moved away",
                to.display()
            ))
        };
    }
    let put_back = || {
        let from = PathHandle::open(&row.to)?;
        // The directories that contained it may have been removed.
        from.rename(&PathHandle::create_parents(&row.path, 0o755)?)
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
    shelf: Option<&dyn CopyStore>,
) -> Result<Digest, String> {
    let shelf = shelf.ok_or("it is in a store: name its volumes (--volume DIR) or set WEFT_STORE")?;
    let known = catalogue
        .digest(row.version.id)
        .map_err(|error| error.to_string())?;
    let known = known
        .filter(|known| known.version == row.version)
        .ok_or("its digest is no longer in the catalogue")?;
    let copy = known
        .copy
        .clone()
        .ok_or("the address of its copy is no longer in the catalogue")?;
    let text_of = |error: std::io::Error| error.to_string();
    let place = PathHandle::create_parents(&row.path, 0o755).map_err(text_of)?;
    if place.stat(catalogue).map_err(text_of)?.is_some() {
        return Err("another file now has its name: rename it first".to_owned());
    }
    let mut part = row.path.clone();
    let begin = part
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |slash| slash + 1);
    part.truncate(begin);
    part.extend_from_slice(format!(".weft-undo-{run}-{act}").as_bytes());
    let part = PathHandle::open(&part).map_err(text_of)?;
    // Left by a process that was killed in between. Usually there is no such file, and creating it
    // reports any other error.
    let _ = part.remove();
    let file = part.create().map_err(text_of)?;
    let whole = || -> Result<(), String> {
        shelf.get(&copy.address, file.try_clone().map_err(text_of)?)?;
        let sha256 = digest(part.read().map_err(text_of)?, &false.into()).map_err(text_of)?;
        if sha256 != Some(known.sha256) {
            return Err(format!("{} differs from the released file", copy.address));
        }
        let (mode, uid, gid) = row.access;
        // Users who are not allowed to give files away keep the ownership.
        let _ = rustix::fs::fchown(&file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode.into())).map_err(|error| error.to_string())?;
        let modified = Timespec {
            tv_sec: row.version.modified_ns.div_euclid(1_000_000_000),
            tv_nsec: row.version.modified_ns.rem_euclid(1_000_000_000),
        };
        let times = Timestamps {
            last_access: modified,
            last_modification: modified,
        };
        rustix::fs::futimens(&file, &times).map_err(|error| error.to_string())?;
        file.sync_all().map_err(text_of)?;
        part.rename(&place).map_err(text_of)
    };
    if let Err(error) = whole() {
        // The incomplete file is useless.
        let _ = part.remove();
        return Err(error);
    }
    let came = place.stat(catalogue).map_err(text_of)?;
    let came = came.ok_or("it disappeared after it was restored")?;
    Ok(Digest {
        version: FileVersion::of(&came),
        verified_ms: system::time_ms(),
        damaged_ms: None,
        ..known
    })
}
