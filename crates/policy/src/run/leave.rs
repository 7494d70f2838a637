//! Actions that take a file from its place. The file is renamed and then checked under its new
//! name. If another file took the old name at the last moment, the rename is reversed.

use std::sync::atomic::AtomicBool;

use catalogue::{Place, Seen};

use super::Runner;
use super::act::{Done, Not, Ready};
use crate::crash::CRASH_POINTS;
use crate::path::{is_below, path_of};
use crate::trash::TRASH;

impl Runner<'_> {
    /// Removes a file whose replicas are intact and whose content equals the copy. The file is
    /// read to check that, because it may have been damaged or replaced with the same length and
    /// times.
    pub(super) fn release(
        &self,
        ready: &mut Ready<'_>,
        replicas: u32,
        stop: &AtomicBool,
    ) -> Result<Done, Not> {
        let shelf = self
            .shelf
            .ok_or_else(|| Not::Failed("there is no store".to_owned()))?;
        let digest = self.catalogue.known(&ready.file)?;
        let digest = digest
            .ok_or_else(|| Not::Skipped("it has changed since it was copied, or never was".to_owned()))?;
        if digest.damaged_ms.is_some() {
            return Err(Not::Failed("it is damaged, and is left where it is".to_owned()));
        }
        let copy = digest
            .copy
            .ok_or_else(|| Not::Skipped("it was never copied".to_owned()))?;
        let found = shelf
            .verify(&copy.address)
            .map_err(|error| Not::failed("the store", error))?
            .ok_or_else(|| Not::Failed(format!("{} is gone", copy.address)))?;
        if found.sha256 != digest.sha256 || found.replicas < replicas {
            let message = format!(
                "{} has {} right replicas of {replicas}",
                copy.address, found.replicas
            );
            return Err(Not::Failed(message));
        }
        if self.read(ready, stop)? != digest.sha256 {
            return Err(Not::Failed(format!(
                "it is not what {} has, though nothing says that it was written: it is left where it is (verify it)",
                copy.address
            )));
        }
        system::failpoint::pass(&CRASH_POINTS, "policy.verified");
        let staged = self.stage(ready, 0o700)?;
        system::failpoint::pass(&CRASH_POINTS, "policy.staged");
        staged
            .remove()
            .map_err(|error| Not::failed("it lies in the trash and cannot be removed", error))?;
        system::failpoint::pass(&CRASH_POINTS, "policy.unlinked");
        remove_empty(&ready.row.to, &ready.item.tree);
        ready.row.to = copy.address.clone().into_bytes();
        Ok(Done::new(format!(
            "{} has {} replicas that were read and are right",
            copy.address, found.replicas
        )))
    }

    pub(super) fn shift(&self, ready: &Ready<'_>, mode: u16) -> Result<Done, Not> {
        self.stage(ready, mode)?;
        system::failpoint::pass(&CRASH_POINTS, "policy.staged");
        Ok(Done::new("the condition held"))
    }

    /// Renames a file to its destination and checks the file there. If it is another one, renames
    /// it back.
    fn stage(&self, ready: &Ready<'_>, mode: u16) -> Result<Place, Not> {
        let staged = self.rename(ready, mode);
        if staged.is_err() {
            remove_empty(&ready.row.to, &ready.item.tree);
        }
        staged
    }

    fn rename(&self, ready: &Ready<'_>, mode: u16) -> Result<Place, Not> {
        let to = Place::make(&ready.row.to, mode).map_err(|error| {
            Not::failed(
                &format!("{} cannot be made", path_of(&ready.row.to).display()),
                error,
            )
        })?;
        ready.place.rename(&to).map_err(|error| match error.kind() {
            std::io::ErrorKind::CrossesDevices => Not::Failed(format!(
                "{} is on another file system: a file is only moved within one (copy it into a store, and release it)",
                path_of(to.path()).display()
            )),
            std::io::ErrorKind::AlreadyExists => {
                Not::Failed(format!("{} is there already", path_of(to.path()).display()))
            }
            std::io::ErrorKind::NotFound => Not::Skipped("it is not there any more".to_owned()),
            _ => Not::failed("it cannot be renamed", error),
        })?;
        let came = to.look(self.catalogue);
        if matches!(&came, Ok(Some(came)) if Seen::of(came) == Seen::of(&ready.file)) {
            return Ok(to);
        }
        match to.rename(&ready.place) {
            Ok(()) => Err(Not::Skipped(
                "it changed at the last moment, and is where it was".to_owned(),
            )),
            Err(error) => Err(Not::failed(
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
pub(super) fn empty(ready: &Ready<'_>) -> Result<Done, Not> {
    ready
        .place
        .remove()
        .map_err(|error| Not::failed("it cannot be removed", error))?;
    remove_empty(&ready.item.path, &ready.item.tree);
    Ok(Done::new("it has been in the trash for long enough"))
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
