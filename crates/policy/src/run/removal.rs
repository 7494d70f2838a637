//! Actions that take a file from its place. The file is renamed and then checked under its new
//! name. If another file took the old name at the last moment, the rename is reversed.

use std::sync::atomic::AtomicBool;

use catalogue::{FileVersion, PathHandle};

use super::Runner;
use super::outcome::{ActError, CheckedFile, Outcome};
use crate::crash::CRASH_POINTS;
use crate::path::{is_below, path_of};
use crate::trash::TRASH;

impl Runner<'_> {
    /// Removes a file whose replicas are intact and whose content equals the copy. The file is
    /// read to check that, because it may have been damaged or replaced with the same length and
    /// times.
    pub(super) fn release(
        &self,
        ready: &mut CheckedFile<'_>,
        replicas: u32,
        stop: &AtomicBool,
    ) -> Result<Outcome, ActError> {
        let shelf = self
            .shelf
            .ok_or_else(|| ActError::Failed("there is no store".to_owned()))?;
        let digest = self.catalogue.current_digest(&ready.file)?;
        let digest = digest.ok_or_else(|| {
            ActError::Skipped("it has changed since it was copied, or never was".to_owned())
        })?;
        if digest.damaged_ms.is_some() {
            return Err(ActError::Failed(
                "it is damaged, and is left where it is".to_owned(),
            ));
        }
        let copy = digest
            .copy
            .ok_or_else(|| ActError::Skipped("it was never copied".to_owned()))?;
        let found = shelf
            .verify(&copy.address)
            .map_err(|error| ActError::failed("the store", error))?
            .ok_or_else(|| ActError::Failed(format!("{} is gone", copy.address)))?;
        if found.sha256 != digest.sha256 || found.replicas < replicas {
            let message = format!(
                "{} has {} right replicas of {replicas}",
                copy.address, found.replicas
            );
            return Err(ActError::Failed(message));
        }
        if self.read(ready, stop)? != digest.sha256 {
            return Err(ActError::Failed(format!(
                "it is not what {} has, though nothing says that it was written: it is left where it is (verify it)",
                copy.address
            )));
        }
        system::failpoint::pass(&CRASH_POINTS, "policy.verified");
        let staged = self.move_checked(ready, 0o700)?;
        system::failpoint::pass(&CRASH_POINTS, "policy.staged");
        staged
            .remove()
            .map_err(|error| ActError::failed("it lies in the trash and cannot be removed", error))?;
        system::failpoint::pass(&CRASH_POINTS, "policy.unlinked");
        remove_empty(&ready.row.to, &ready.item.tree);
        ready.row.to = copy.address.clone().into_bytes();
        Ok(Outcome::new(format!(
            "{} has {} replicas that were read and are right",
            copy.address, found.replicas
        )))
    }

    pub(super) fn move_file(&self, ready: &CheckedFile<'_>, mode: u16) -> Result<Outcome, ActError> {
        self.move_checked(ready, mode)?;
        system::failpoint::pass(&CRASH_POINTS, "policy.staged");
        Ok(Outcome::new("the condition held"))
    }

    /// Renames a file to its destination and checks the file there. If it is another one, renames
    /// it back.
    fn move_checked(&self, ready: &CheckedFile<'_>, mode: u16) -> Result<PathHandle, ActError> {
        let staged = self.rename(ready, mode);
        if staged.is_err() {
            remove_empty(&ready.row.to, &ready.item.tree);
        }
        staged
    }

    fn rename(&self, ready: &CheckedFile<'_>, mode: u16) -> Result<PathHandle, ActError> {
        let to = PathHandle::create_parents(&ready.row.to, mode).map_err(|error| {
            ActError::failed(
                &format!("{} cannot be made", path_of(&ready.row.to).display()),
                error,
            )
        })?;
        ready.place.rename(&to).map_err(|error| match error.kind() {
            std::io::ErrorKind::CrossesDevices => ActError::Failed(format!(
                "{} is on another file system: a file is only moved within one (copy it into a store, and release it)",
                path_of(to.path()).display()
            )),
            std::io::ErrorKind::AlreadyExists => {
                ActError::Failed(format!("{} is there already", path_of(to.path()).display()))
            }
            std::io::ErrorKind::NotFound => ActError::Skipped("it is not there any more".to_owned()),
            _ => ActError::failed("it cannot be renamed", error),
        })?;
        let moved = to.stat(self.catalogue);
        if matches!(&moved, Ok(Some(moved)) if FileVersion::of(moved) == FileVersion::of(&ready.file)) {
            return Ok(to);
        }
        match to.rename(&ready.place) {
            Ok(()) => Err(ActError::Skipped(
                "it changed at the last moment, and is where it was".to_owned(),
            )),
            Err(error) => Err(ActError::failed(
                &format!(
                    "it changed at the last moment, and is now {}",
                    path_of(to.path()).display()
                ),
                error,
            )),
        }
    }
}

/// Permanently removes a file from the trash.
pub(super) fn empty_trash(ready: &CheckedFile<'_>) -> Result<Outcome, ActError> {
    ready
        .place
        .remove()
        .map_err(|error| ActError::failed("it cannot be removed", error))?;
    remove_empty(&ready.item.path, &ready.item.tree);
    Ok(Outcome::new("it has been in the trash for long enough"))
}

/// Removes the directories that were created in the trash for one file, unless they hold other
/// files.
pub(super) fn remove_empty(path: &[u8], tree: &[u8]) {
    let mut at = path;
    while let Some(end) = at.iter().rposition(|&byte| byte == b'/') {
        at = &at[..end];
        let is_in_trash = is_below(at, tree)
            && at
                .split(|&byte| byte == b'/')
                .any(|name| name == TRASH.as_bytes());
        // An error means that the directory is not empty and still needed.
        if !is_in_trash || std::fs::remove_dir(path_of(at)).is_err() {
            return;
        }
    }
}
