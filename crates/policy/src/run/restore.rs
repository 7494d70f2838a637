//! Restores a file that an action has taken away: from the trash, from where it was moved, or from
//! the store. A file now in its place is never replaced.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use catalogue::{ActRow, ActionKind, Catalogue, CatalogueError, Digest, FileVersion, PathHandle};
use rustix::fs::{Gid, Mode, Timespec, Timestamps, Uid};

use super::content::digest;
use super::removal::remove_empty;
use crate::path::{is_there, path_of};
use crate::shelf::{CopyStore, CopyStoreError};

/// Why an action was not undone.
#[derive(Debug, thiserror::Error)]
pub(super) enum UndoError {
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

/// Renames a file back from its destination.
pub(super) fn rename_back(catalogue: &Catalogue, row: &ActRow) -> Result<(), UndoError> {
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
pub(super) fn fetch_back(
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
    let part = PathHandle::open(&part_path(&row.path, (run, act)))?;
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
        restore_attributes(&file, row)?;
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

/// Returns the temporary name of a file that is being restored, next to its path.
fn part_path(path: &[u8], (run, act): (u64, u64)) -> Vec<u8> {
    let mut part = path.to_vec();
    let begin = part
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |slash| slash + 1);
    part.truncate(begin);
    part.extend_from_slice(format!(".weft-undo-{run}-{act}").as_bytes());
    part
}

/// Gives a file the owner, the permissions and the time that it had before the action.
fn restore_attributes(file: &File, row: &ActRow) -> io::Result<()> {
    let (mode, uid, gid) = row.access;
    // Users who are not allowed to give files away keep the ownership.
    let _ = rustix::fs::fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode.into()))?;
    let modified = Timespec {
        tv_sec: row.version.modified_ns.div_euclid(1_000_000_000),
        tv_nsec: row.version.modified_ns.rem_euclid(1_000_000_000),
    };
    let times = Timestamps {
        last_access: modified,
        last_modification: modified,
    };
    rustix::fs::futimens(file, &times)?;
    Ok(())
}
