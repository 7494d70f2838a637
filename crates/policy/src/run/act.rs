//! Acts on one file: checks it, logs the action, performs it, and logs the outcome.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use catalogue::{ActRow, ActState, Attributes, CatalogueError, Digest, FileVersion, LogBatch, PathHandle};

use super::outcome::{ActError, CheckedFile, Outcome};
use super::{Runner, too_many_errors};
use crate::crash::CRASH_POINTS;
use crate::plan::{PlannedFile, holds};
use crate::rules::Action;
use crate::trash;

/// The files of a chunk after their first check.
struct CheckedChunk<'a> {
    ready: Vec<CheckedFile<'a>>,
    /// The other files, with the numbers of their actions.
    ended: Vec<(u64, ActRow)>,
    /// Number of files of the run that have failed.
    failed: u64,
    /// Why the run ends here, if too many files failed.
    too_many: Option<String>,
}

impl Runner<'_> {
    /// Acts on some files. Returns the outcome of each and, if the run ends here, the reason.
    /// `so_far` counts the files of the run that are done and those that failed. The percentage of
    /// failures is checked before each file.
    pub(super) fn chunk(
        &mut self,
        items: &[PlannedFile],
        so_far: (u64, u64),
        stop: &AtomicBool,
    ) -> Result<(Vec<ActRow>, Option<String>), CatalogueError> {
        let CheckedChunk {
            ready,
            mut ended,
            mut failed,
            mut too_many,
        } = self.check_chunk(items, so_far);
        let mut done = so_far.0;
        let begun = ready
            .iter()
            .map(|ready| (self.number, ready.act, ready.row.clone()));
        self.catalogue.write_log(&LogBatch {
            acts: begun.collect(),
            ..LogBatch::default()
        })?;
        system::failpoint::pass(&CRASH_POINTS, "policy.begun");
        let mut digests = Vec::new();
        for mut ready in ready {
            too_many = too_many.or_else(|| too_many_errors(self.policy, done, failed));
            let end = match (stop.load(Relaxed), &too_many) {
                (true, _) => Err(ActError::Skipped("stopped before it was done".to_owned())),
                (_, Some(why)) => Err(ActError::Skipped(format!("not tried: {why}"))),
                // The files before it in the chunk may have taken long.
                _ => match self.check(ready.item) {
                    Ok((place, file)) => {
                        ready.row.version = FileVersion::of(&file);
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
        self.catalogue.write_log(&LogBatch {
            acts,
            digests,
            ..LogBatch::default()
        })?;
        Ok((ended.into_iter().map(|(_, row)| row).collect(), too_many))
    }

    /// Checks the files of a chunk, and stops at the first one before which too many have failed.
    fn check_chunk<'a>(&mut self, items: &'a [PlannedFile], so_far: (u64, u64)) -> CheckedChunk<'a> {
        let (done, failed) = so_far;
        let mut chunk = CheckedChunk {
            ready: Vec::new(),
            ended: Vec::new(),
            failed,
            too_many: None,
        };
        for item in items {
            chunk.too_many = too_many_errors(self.policy, done, chunk.failed);
            if chunk.too_many.is_some() {
                break;
            }
            let act = self.next_act;
            self.next_act += 1;
            let mut row = ActRow {
                action: self.policy.action.kind(),
                state: ActState::Begun,
                at_ms: system::time_ms(),
                path: item.path.clone(),
                to: self.destination(item, act),
                version: FileVersion::of(&item.file),
                access: (item.file.mode, item.file.uid, item.file.gid),
                why: String::new(),
            };
            match self.check(item) {
                Ok((place, file)) => {
                    row.access = (file.mode, file.uid, file.gid);
                    row.version = FileVersion::of(&file);
                    chunk.ready.push(CheckedFile {
                        item,
                        place,
                        file,
                        act,
                        row,
                    });
                }
                Err(end) => {
                    set(&mut row, Err(end));
                    chunk.failed += u64::from(row.state == ActState::Failed);
                    chunk.ended.push((act, row));
                }
            }
        }
        chunk
    }

    /// Checks that the file is the planned one and still meets the condition.
    fn check(&self, item: &PlannedFile) -> Result<(PathHandle, Attributes), ActError> {
        let missing = || ActError::Skipped("it is not there any more".to_owned());
        let place = match PathHandle::open(&item.path) {
            Ok(place) => place,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(missing()),
            Err(error) => return Err(ActError::failed("it cannot be reached", error)),
        };
        let file = place
            .stat(self.catalogue)
            .map_err(|error| ActError::failed("it cannot be read", error))?;
        let file = file.ok_or_else(missing)?;
        if file.id != item.file.id {
            return Err(ActError::Skipped("another file has its name".to_owned()));
        }
        if matches!(self.policy.action, Action::EmptyTrash { .. }) {
            return Ok((place, file));
        }
        if !holds(self.catalogue, self.policy, item, &file, system::time_ms())? {
            return Err(ActError::Skipped(
                "it has changed: the condition holds no more".to_owned(),
            ));
        }
        Ok((place, file))
    }
}

/// Records the outcome of an action in its row. Returns the digest of the content, if it was
/// computed.
fn set(row: &mut ActRow, end: Result<Outcome, ActError>) -> Option<Digest> {
    row.at_ms = system::time_ms();
    let (state, why, digest) = match end {
        Ok(Outcome { why, digest }) => (ActState::Done, why, digest),
        Err(ActError::Skipped(why)) => (ActState::Skipped, why, None),
        Err(ActError::Failed(why)) => (ActState::Failed, why, None),
    };
    row.state = state;
    row.why = why;
    digest
}
