//! Reverses the actions of a run.

use std::io;
use std::path::PathBuf;
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
use crate::shelf::{CopyStore, CopyStoreError};

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

/// Why an action was not undone.
#[derive(Debug, thiserror::Error)]
enum UndoError {
    #[error("it is gone: it was in the trash, which was emptied")]
    EmptyTrash,
    #[error("{0} cannot be undone")]
    Permanent(ActionKind),
    #[error("{} is gone: the trash was emptied, or the file was moved away", path.display())]
    Gone { path: PathBuf },
    #[error("another file now has its name: rename it first")]
    OtherFile,
    #[error("it is in a store: name its volumes (--volume DIR) or set WEFT_STORE")]
    NoStore,
    #[error("its digest is no longer in the catalogue")]
    NoDigest,
    #[error("the address of its copy is no longer in the catalogue")]
    NoCopy,
    #[error("{address} differs from the released file")]
    OtherContent { address: String },
    #[error("it disappeared after it was restored")]
    NoFile,
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    #[error(transparent)]
    Store(#[from] CopyStoreError),
    #[error(transparent)]
    File(#[from] io::Error),
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
            _ if row.state == ActState::Emptied => Err(UndoError::EmptyTrash),
            ActionKind::Delete | ActionKind::Move => rename_back(catalogue, &row).map(|()| None),
            ActionKind::Release => fetch_back(catalogue, (run, act), &row, shelf).map(Some),
            // These actions left the file in place.
            ActionKind::Verify | ActionKind::Copy => continue,
            other @ (ActionKind::EmptyTrash
            | ActionKind::Command
            | ActionKind::Report
            | ActionKind::Growth
            | ActionKind::Other(_)) => Err(UndoError::Permanent(other.clone())),
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

fn note_run(catalogue: &Arc<Catalogue>, run: u64, row: RunRow) -> Result<(), CatalogueError> {
    catalogue.write_log(&LogBatch {
        runs: vec![(run, row)],
        ..LogBatch::default()
    })
}

fn rename_back(catalogue: &Catalogue, row: &ActRow) -> Result<(), UndoError> {
    if !is_there(catalogue, &row.to, &row.version) {
        // A process that was killed between the rename and the log may have restored it already.
        return if is_there(catalogue, &row.path, &row.version) {
            Ok(())
        } else {
            Err(UndoError::Gone {
                path: path_of(&row.to),
            })
        };
    }
    let put_back = || {
        let from = PathHandle::open(&row.to)?;
        // The directories that contained it may have been removed.
        from.rename(&PathHandle::create_parents(&row.path, 0o755)?)
    };
    put_back().map_err(|error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => UndoError::OtherFile,
        _ => error.into(),
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
) -> Result<Digest, UndoError> {
    let shelf = shelf.ok_or(UndoError::NoStore)?;
    let known = catalogue
        .digest(row.version.id)?
        .filter(|known| known.version == row.version)
        .ok_or(UndoError::NoDigest)?;
    let copy = known.copy.clone().ok_or(UndoError::NoCopy)?;
    let place = PathHandle::create_parents(&row.path, 0o755)?;
    if place.stat(catalogue)?.is_some() {
        return Err(UndoError::OtherFile);
    }
    let mut part = row.path.clone();
    let begin = part
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |slash| slash + 1);
    part.truncate(begin);
    part.extend_from_slice(format!(".weft-undo-{run}-{act}").as_bytes());
    let part = PathHandle::open(&part)?;
    // Left by a process that was killed in between. Usually there is no such file, and creating it
    // reports any other error.
    let _ = part.remove();
    let file = part.create()?;
    let whole = || -> Result<(), UndoError> {
        shelf.get(&copy.address, file.try_clone()?)?;
        let sha256 = digest(part.read()?, &false.into())?;
        if sha256 != Some(known.sha256) {
            return Err(UndoError::OtherContent {
                address: copy.address.clone(),
            });
        }
        let (mode, uid, gid) = row.access;
        // Users who are not allowed to give files away keep the ownership.
        let _ = rustix::fs::fchown(&file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode.into())).map_err(io::Error::from)?;
        let modified = Timespec {
            tv_sec: row.version.modified_ns.div_euclid(1_000_000_000),
            tv_nsec: row.version.modified_ns.rem_euclid(1_000_000_000),
        };
        let times = Timestamps {
            last_access: modified,
            last_modification: modified,
        };
        rustix::fs::futimens(&file, &times).map_err(io::Error::from)?;
        file.sync_all()?;
        Ok(part.rename(&place)?)
    };
    if let Err(error) = whole() {
        // The incomplete file is useless.
        let _ = part.remove();
        return Err(error);
    }
    let came = place.stat(catalogue)?;
    let came = came.ok_or(UndoError::NoFile)?;
    Ok(Digest {
        version: FileVersion::of(&came),
        verified_ms: system::time_ms(),
        damaged_ms: None,
        ..known
    })
}
