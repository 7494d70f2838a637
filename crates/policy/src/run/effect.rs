//! What each action does to a file: its destination, its work, what is left of it after a kill, and
//! how it is taken back.

use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::AtomicBool;

use catalogue::{ActRow, ActState, ActionKind, Catalogue, Digest, PathHandle};

use super::Runner;
use super::command::run_command;
use super::outcome::{ActError, CheckedFile, Outcome};
use super::removal::empty_trash;
use super::restore::{UndoError, fetch_back, rename_back};
use crate::condition::name_of;
use crate::path::is_there;
use crate::plan::PlannedFile;
use crate::rules::Action;
use crate::shelf::CopyStore;
use crate::trash;

impl Runner<'_> {
    /// Returns the destination of a file; empty if the action has none. It is known before the
    /// action starts, so that a killed run can be settled.
    pub(super) fn destination(&self, item: &PlannedFile, act: u64) -> Vec<u8> {
        let below = item.path.get(item.below.len()..).unwrap_or_default();
        let below = below.strip_prefix(b"/").unwrap_or(below);
        let join = |directory: &[u8]| {
            let mut path = directory.to_vec();
            catalogue::join(&mut path, below);
            path
        };
        match &self.policy.action {
            Action::Copy { to, .. } => join(to.as_bytes()),
            Action::Move { to } => join(to.as_os_str().as_bytes()),
            Action::Delete | Action::Release { .. } => {
                trash::trash_path(&item.tree, self.number, act, name_of(&item.path))
            }
            Action::Verify
            | Action::EmptyTrash { .. }
            | Action::Command { .. }
            | Action::Report
            | Action::Growth { .. } => Vec::new(),
        }
    }

    /// Carries out the action on a file.
    pub(super) fn act(&self, ready: &mut CheckedFile<'_>, stop: &AtomicBool) -> Result<Outcome, ActError> {
        match &self.policy.action {
            Action::Verify => self.verify(ready, stop),
            Action::Copy { replicas, .. } => self.copy(ready, *replicas, stop),
            Action::Release { replicas } => self.release(ready, *replicas, stop),
            Action::Move { .. } => self.move_file(ready, 0o755),
            Action::Delete => self.move_file(ready, 0o700),
            Action::EmptyTrash { .. } => empty_trash(ready),
            Action::Command { words, limits } => run_command(words, *limits, ready, stop),
            // The plan lists them.
            Action::Report | Action::Growth { .. } => Ok(Outcome::new("")),
        }
    }
}

/// Returns the state of an action whose process was killed, and why.
pub(super) fn outcome_after_kill(catalogue: &Catalogue, row: &mut ActRow) -> (ActState, String) {
    let is_here = is_there(catalogue, &row.path, &row.version);
    let is_moved = !row.to.is_empty() && is_there(catalogue, &row.to, &row.version);
    let ended = "the process ended";
    match &row.action {
        ActionKind::Delete | ActionKind::Move if is_moved => (ActState::Done, format!("{ended} after it")),
        ActionKind::Release if is_moved => match put_back(row) {
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
        ActionKind::Release if !is_here => {
            let digest = catalogue.digest(row.version.id).ok().flatten();
            if let Some(copy) = digest.and_then(|digest| digest.copy) {
                row.to = copy.address.into_bytes();
            }
            (ActState::Done, format!("{ended} after it"))
        }
        ActionKind::EmptyTrash if !is_here => (ActState::Done, format!("{ended} after it")),
        ActionKind::Command => (
            ActState::Failed,
            format!("{ended} while the command ran, or before: what it did is not known"),
        ),
        ActionKind::Verify
        | ActionKind::Copy
        | ActionKind::Release
        | ActionKind::Move
        | ActionKind::Delete
        | ActionKind::EmptyTrash
        | ActionKind::Report
        | ActionKind::Growth
        | ActionKind::Other(_) => match (is_here, is_moved) {
            (true, false) => (ActState::Skipped, format!("{ended} before it")),
            _ => (
                ActState::Failed,
                format!("{ended}, and the file is not there any more"),
            ),
        },
    }
}

fn put_back(row: &ActRow) -> std::io::Result<()> {
    PathHandle::open(&row.to)?.rename(&PathHandle::open(&row.path)?)
}

/// Takes back an action: returns the digest of a file restored from a store, or why it cannot be
/// taken back. `None` if the action left the file as it was.
pub(super) fn take_back(
    catalogue: &Catalogue,
    (run, act): (u64, u64),
    row: &ActRow,
    shelf: Option<&dyn CopyStore>,
) -> Option<Result<Option<Digest>, UndoError>> {
    match &row.action {
        ActionKind::Delete | ActionKind::Move => Some(rename_back(catalogue, row).map(|()| None)),
        ActionKind::Release => Some(fetch_back(catalogue, (run, act), row, shelf).map(Some)),
        ActionKind::Verify | ActionKind::Copy => None,
        other @ (ActionKind::EmptyTrash
        | ActionKind::Command
        | ActionKind::Report
        | ActionKind::Growth
        | ActionKind::Other(_)) => Some(Err(UndoError::Permanent(other.clone()))),
    }
}

/// Returns whether a file that an action took away is in its place again.
pub(super) fn is_back(catalogue: &Catalogue, row: &ActRow) -> bool {
    match &row.action {
        // A file restored from a store is another file with the same content and times.
        ActionKind::Release => {
            let found = PathHandle::open(&row.path).and_then(|place| place.stat(catalogue));
            matches!(found, Ok(Some(file))
                if (file.size_bytes, file.modified_ns) == (row.version.size_bytes, row.version.modified_ns))
        }
        ActionKind::Delete | ActionKind::Move => {
            is_there(catalogue, &row.path, &row.version) && !is_there(catalogue, &row.to, &row.version)
        }
        // They take no file away.
        ActionKind::Verify
        | ActionKind::Copy
        | ActionKind::EmptyTrash
        | ActionKind::Command
        | ActionKind::Report
        | ActionKind::Growth
        | ActionKind::Other(_) => false,
    }
}
