//! Acts on one file: checks it, logs the action, performs it, and logs the outcome.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use catalogue::{ActRow, ActState, Attributes, CatalogueError, Digest, Notes, Place, Seen};

use super::command::run_command;
use super::leave::empty;
use super::{Runner, too_many_errors};
use crate::condition::name_of;
use crate::crash::CRASH_POINTS;
use crate::plan::{Planned, holds};
use crate::rules::Action;
use crate::trash;

/// A completed action.
pub(super) struct Done {
    pub(super) why: String,
    /// The digest of the content, if the action computed it.
    pub(super) digest: Option<Digest>,
}

impl Done {
    pub(super) fn new(why: impl Into<String>) -> Done {
        Done {
            why: why.into(),
            digest: None,
        }
    }
}

/// An action that was not completed, and why.
pub(super) enum Not {
    Skipped(String),
    Failed(String),
}

impl From<CatalogueError> for Not {
    fn from(error: CatalogueError) -> Not {
        Not::Failed(error.to_string())
    }
}

impl Not {
    pub(super) fn failed(what: &str, error: impl std::fmt::Display) -> Not {
        Not::Failed(format!("{what}: {error}"))
    }
}

/// A file that has been checked and is still the one that was planned.
pub(super) struct Ready<'a> {
    pub(super) item: &'a Planned,
    pub(super) place: Place,
    pub(super) file: Attributes,
    pub(super) act: u64,
    pub(super) row: ActRow,
}

impl Runner<'_> {
    /// Acts on some files. Returns the outcome of each and, if the run ends here, the reason.
    /// `so_far` counts the files of the run that are done and those that failed. The percentage of
    /// failures is checked before each file.
    pub(super) fn chunk(
        &mut self,
        items: &[Planned],
        so_far: (u64, u64),
        stop: &AtomicBool,
    ) -> Result<(Vec<ActRow>, Option<String>), CatalogueError> {
        let (mut ready, mut ended) = (Vec::new(), Vec::new());
        let (mut done, mut failed) = so_far;
        let mut too_many = None;
        for item in items {
            too_many = too_many_errors(self.policy, done, failed);
            if too_many.is_some() {
                break;
            }
            let act = self.next_act;
            self.next_act += 1;
            let mut row = ActRow {
                action: self.policy.action.name().to_owned(),
                state: ActState::Begun,
                at_ms: system::time_ms(),
                path: item.path.clone(),
                to: self.to(item, act),
                seen: Seen::of(&item.file),
                access: (item.file.mode, item.file.uid, item.file.gid),
                why: String::new(),
            };
            match self.check(item) {
                Ok((place, file)) => {
                    row.access = (file.mode, file.uid, file.gid);
                    row.seen = Seen::of(&file);
                    ready.push(Ready {
                        item,
                        place,
                        file,
                        act,
                        row,
                    });
                }
                Err(end) => {
                    set(&mut row, Err(end));
                    failed += u64::from(row.state == ActState::Failed);
                    ended.push((act, row));
                }
            }
        }
        let begun = ready
            .iter()
            .map(|ready| (self.number, ready.act, ready.row.clone()));
        self.catalogue.note(&Notes {
            acts: begun.collect(),
            ..Notes::default()
        })?;
        system::failpoint::pass(&CRASH_POINTS, "policy.begun");
        let mut digests = Vec::new();
        for mut ready in ready {
            too_many = too_many.or_else(|| too_many_errors(self.policy, done, failed));
            let end = match (stop.load(Relaxed), &too_many) {
                (true, _) => Err(Not::Skipped("stopped before it was done".to_owned())),
                (_, Some(why)) => Err(Not::Skipped(format!("not tried: {why}"))),
                // The files before it in the chunk may have taken long.
                _ => match self.check(ready.item) {
                    Ok((place, file)) => {
                        ready.row.seen = Seen::of(&file);
                        (ready.place, ready.file) = (place, file);
                        self.act(&mut ready, stop)
                    }
                    Err(end) => Err(end),
                },
            };
            if let Some(digest) = set(&mut ready.row, end) {
                digests.push(digest);
            }
            match ready.row.state {
                ActState::Done => done += 1,
                ActState::Failed => failed += 1,
                _ => {}
            }
            ended.push((ready.act, ready.row));
        }
        ended.sort_by_key(|(act, _)| *act);
        system::failpoint::pass(&CRASH_POINTS, "policy.acted");
        let mut acts = trash::emptied(self.catalogue, ended.iter().map(|(_, row)| row))?;
        acts.extend(ended.iter().map(|(act, row)| (self.number, *act, row.clone())));
        self.catalogue.note(&Notes {
            acts,
            digests,
            ..Notes::default()
        })?;
        Ok((ended.into_iter().map(|(_, row)| row).collect(), too_many))
    }

    /// Returns the destination of a file. It is known before the action starts, so that a killed
    /// run can be settled.
    fn to(&self, item: &Planned, act: u64) -> Vec<u8> {
        let below = item.path.get(item.below.len()..).unwrap_or_default();
        let below = below.strip_prefix(b"/").unwrap_or(below);
        match &self.policy.action {
            Action::Copy { to, .. } => {
                let mut address = to.clone().into_bytes();
                catalogue::join(&mut address, below);
                address
            }
            Action::Move { to } => {
                let mut path = std::os::unix::ffi::OsStrExt::as_bytes(to.as_os_str()).to_vec();
                catalogue::join(&mut path, below);
                path
            }
            Action::Delete | Action::Release { .. } => {
                trash::place_of(&item.tree, self.number, act, name_of(&item.path))
            }
            _ => Vec::new(),
        }
    }

    /// Checks that the file is the planned one and still meets the condition.
    fn check(&self, item: &Planned) -> Result<(Place, Attributes), Not> {
        let missing = || Not::Skipped("it is not there any more".to_owned());
        let place = match Place::open(&item.path) {
            Ok(place) => place,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(missing()),
            Err(error) => return Err(Not::failed("it cannot be reached", error)),
        };
        let file = place
            .look(self.catalogue)
            .map_err(|error| Not::failed("it cannot be read", error))?;
        let file = file.ok_or_else(missing)?;
        if file.id != item.file.id {
            return Err(Not::Skipped("another file has its name".to_owned()));
        }
        if matches!(self.policy.action, Action::EmptyTrash { .. }) {
            return Ok((place, file));
        }
        if !holds(self.catalogue, self.policy, item, &file, system::time_ms())? {
            return Err(Not::Skipped(
                "it has changed: the condition holds no more".to_owned(),
            ));
        }
        Ok((place, file))
    }

    fn act(&self, ready: &mut Ready<'_>, stop: &AtomicBool) -> Result<Done, Not> {
        match &self.policy.action {
            Action::Verify => self.verify(ready, stop),
            Action::Copy { replicas, .. } => self.copy(ready, *replicas, stop),
            Action::Release { replicas } => self.release(ready, *replicas, stop),
            Action::Move { .. } => self.shift(ready, 0o755),
            Action::Delete => self.shift(ready, 0o700),
            Action::EmptyTrash { .. } => empty(ready),
            Action::Command { words, limits } => run_command(words, *limits, ready, stop),
            // The plan lists them.
            Action::Report | Action::Growth { .. } => Ok(Done::new("")),
        }
    }
}

/// Records the outcome of an action in its row. Returns the digest of the content, if it was
/// computed.
fn set(row: &mut ActRow, end: Result<Done, Not>) -> Option<Digest> {
    row.at_ms = system::time_ms();
    let (state, why, digest) = match end {
        Ok(Done { why, digest }) => (ActState::Done, why, digest),
        Err(Not::Skipped(why)) => (ActState::Skipped, why, None),
        Err(Not::Failed(why)) => (ActState::Failed, why, None),
    };
    row.state = state;
    row.why = why;
    digest
}
