//! Runs: acts on the planned files, one by one.
//!
//! Invariants:
//! - Immediately before the action, the file is checked again, and so is the condition.
//! - An action that takes a file from its place is logged before it starts, and its outcome
//!   afterwards, so that a killed run can be settled from the state of the disk.
//! - A file is never unlinked under its own name. It is renamed first and checked under the new
//!   name, so that another file that took the old name at the last moment is not removed.

mod act;
mod command;
mod content;
mod effect;
mod outcome;
mod removal;
mod restore;
mod settle;
mod undo;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use catalogue::{ActRow, ActState, ActionKind, Catalogue, CatalogueError, FileVersion, LogBatch, RunRow};
use rustc_hash::FxHashSet;

use crate::plan::{Plan, PlannedFile};
use crate::rules::{Action, Policy};
use crate::shelf::CopyStore;
use crate::trash;

pub use settle::settle;
pub use undo::{Undone, undo};

/// The parameters of a run in addition to its policy.
pub struct RunSettings<'a> {
    /// The store, for actions that need one.
    pub store: Option<&'a dyn CopyStore>,
    /// Set to end the run soon.
    pub stop: &'a AtomicBool,
    /// Called after each file, with its outcome.
    pub each: &'a mut dyn FnMut(&ActRow),
}

/// Why a run did not start, or was aborted.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The catalogue failed. The log has the actions so far, as far as they could be written.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// The action needs a store, and none was given.
    #[error("policy {policy}: {action} requires a store: name its volumes (--volume DIR) or set WEFT_STORE")]
    NoStore {
        /// The policy.
        policy: String,
        /// Its action.
        action: ActionKind,
    },
    /// The run does not exist.
    #[error("there is no run {run}: `weft files policy log` lists them")]
    NoRun {
        /// Its number.
        run: u64,
    },
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedRun {
    /// Its number.
    pub number: u64,
    /// Its outcome.
    pub row: RunRow,
}

/// Number of actions that are logged together, with one sync before them and one after.
const CHUNK: usize = 64;

/// Maximum bytes of these actions, so that little has to be repeated after a kill.
const CHUNK_BYTES: u64 = 256 << 20;

fn chunk_length(items: &[PlannedFile]) -> usize {
    let mut bytes = 0u64;
    let fits = |item: &&PlannedFile| {
        bytes = bytes.saturating_add(item.file.size_bytes);
        bytes <= CHUNK_BYTES
    };
    items.iter().take(CHUNK).take_while(fits).count().max(1)
}

/// Number of files from which on the percentage of failures is meaningful.
const ERRORS_FROM: u64 = 20;

/// Acts on the planned files. Continues a stopped run of the same policy, without repeating its
/// completed actions.
///
/// # Errors
/// [`RunError`]. Failures with single files are logged and counted.
pub fn run(
    catalogue: &Arc<Catalogue>,
    policy: &Policy,
    plan: Plan,
    settings: &mut RunSettings<'_>,
) -> Result<FinishedRun, RunError> {
    if policy.action.kind().needs_store() && !plan.items.is_empty() && settings.store.is_none() {
        return Err(RunError::NoStore {
            policy: policy.name.clone(),
            action: policy.action.kind(),
        });
    }
    settle(catalogue)?;
    let (number, mut row, done, next_act) = begin(catalogue, policy, &plan)?;
    catalogue.write_log(&LogBatch {
        runs: vec![(number, row.clone())],
        ..LogBatch::default()
    })?;
    let mut runner = Runner {
        catalogue,
        policy,
        shelf: settings.store,
        number,
        next_act,
    };
    let items: Vec<PlannedFile> = match policy.action {
        // The plan already lists them; there is nothing to do.
        Action::Report | Action::Growth { .. } => Vec::new(),
        _ => plan
            .items
            .into_iter()
            .filter(|item| !done.contains(&(item.path.clone(), FileVersion::of(&item.file))))
            .collect(),
    };
    let is_stopped = runner.act_on_all(&items, &mut row, settings)?;
    row.ended_ms = system::time_ms();
    row.state = match (is_stopped, row.failed) {
        // Keep the state: the next run continues this one.
        (true, _) => ActState::Begun,
        (false, 0) => ActState::Done,
        (false, _) => ActState::Failed,
    };
    catalogue.write_log(&LogBatch {
        runs: vec![(number, row.clone())],
        ..LogBatch::default()
    })?;
    if matches!(policy.action, Action::EmptyTrash { .. }) {
        trash::close_runs(catalogue)?;
    }
    catalogue.forget_old_runs(row.ended_ms)?;
    Ok(FinishedRun { number, row })
}

type Begun = (u64, RunRow, FxHashSet<(Vec<u8>, FileVersion)>, u64);

/// Returns the number of the run, its row, the files already done, and the number of its next
/// action.
fn begin(catalogue: &Catalogue, policy: &Policy, plan: &Plan) -> Result<Begun, CatalogueError> {
    let runs = catalogue.runs()?;
    let last = runs.iter().rev().find(|(_, run)| run.policy == policy.name);
    if let Some((number, row)) = last
        && row.state == ActState::Begun
        && row.action == policy.action.kind()
    {
        let (mut done, mut next) = (FxHashSet::default(), 0);
        let mut row = RunRow {
            end: String::new(),
            done: (0, 0),
            skipped: 0,
            failed: 0,
            ..row.clone()
        };
        catalogue.each_act(Some(*number), |_, act, found| {
            next = act + 1;
            // Skipped and failed files are tried again.
            if found.state == ActState::Done {
                row.done = (row.done.0 + 1, row.done.1 + found.version.size_bytes);
                done.insert((found.path, found.version));
            }
            Ok::<(), CatalogueError>(())
        })?;
        row.planned.0 = row.done.0 + plan.items.len() as u64;
        row.planned.1 = row.done.1 + plan.size_bytes();
        return Ok((*number, row, done, next));
    }
    let number = runs.last().map_or(1, |(number, _)| number + 1);
    let row = RunRow {
        policy: policy.name.clone(),
        action: policy.action.kind(),
        cause: plan.cause.clone(),
        state: ActState::Begun,
        begun_ms: system::time_ms(),
        ended_ms: system::time_ms(),
        planned: (plan.items.len() as u64, plan.size_bytes()),
        done: (0, 0),
        skipped: 0,
        failed: 0,
        end: String::new(),
    };
    Ok((number, row, FxHashSet::default(), 0))
}

/// Returns why a run ends before all files are done.
fn ends_early(policy: &Policy, row: &RunRow, stop: &AtomicBool) -> Option<String> {
    if stop.load(Relaxed) {
        return Some("stopped; run it again to go on".to_owned());
    }
    if let Some(why) = too_many_errors(policy, row.done.0, row.failed) {
        return Some(why);
    }
    let (from, to) = policy.limits.window?;
    let minute = u32::try_from(system::time_ms().div_euclid(60_000).rem_euclid(24 * 60)).unwrap_or(0);
    let is_in = if from <= to {
        (from..to).contains(&minute)
    } else {
        minute >= from || minute < to
    };
    (!is_in).then(|| "it is outside the policy's window of the day (UTC)".to_owned())
}

/// Returns why a run ends, if too many of its files failed.
fn too_many_errors(policy: &Policy, done: u64, failed: u64) -> Option<String> {
    let tried = done + failed;
    let share = failed as f64 * 100.0 / tried.max(1) as f64;
    let most = policy.limits.errors_percent;
    (tried >= ERRORS_FROM && share > most)
        .then(|| format!("{share:.0}% failed, and the policy allows {most}%"))
}

/// Waits until the rate allows this many bytes since the start of the run.
fn throttle(rate: u64, bytes: u64, began: std::time::Instant, stop: &AtomicBool) {
    let due = Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
    while system::since(began) < due && !stop.load(Relaxed) {
        system::pause(Duration::from_millis(20).min(due));
    }
}

struct Runner<'a> {
    catalogue: &'a Arc<Catalogue>,
    policy: &'a Policy,
    shelf: Option<&'a dyn CopyStore>,
    number: u64,
    next_act: u64,
}

impl Runner<'_> {
    /// Acts on the files in chunks and counts their outcomes in `row`. Returns whether the run was
    /// stopped.
    fn act_on_all(
        &mut self,
        mut items: &[PlannedFile],
        row: &mut RunRow,
        settings: &mut RunSettings<'_>,
    ) -> Result<bool, CatalogueError> {
        let began = system::now();
        let mut sent_bytes = 0u64;
        while !items.is_empty() {
            let (chunk, rest) = items.split_at(chunk_length(items));
            items = rest;
            if let Some(why) = ends_early(self.policy, row, settings.stop) {
                row.end = why;
                return Ok(settings.stop.load(Relaxed));
            }
            let (acts, end) = self.chunk(chunk, (row.done.0, row.failed), settings.stop)?;
            for act in acts {
                match act.state {
                    ActState::Done => {
                        row.done.0 += 1;
                        row.done.1 += act.version.size_bytes;
                    }
                    ActState::Skipped => row.skipped += 1,
                    _ => row.failed += 1,
                }
                sent_bytes += act.version.size_bytes;
                (settings.each)(&act);
            }
            row.ended_ms = system::time_ms();
            if let Some(why) = end {
                row.end = why;
                break;
            }
            if let Some(rate) = self.policy.limits.rate_bytes {
                throttle(rate, sent_bytes, began, settings.stop);
            }
        }
        Ok(false)
    }
}
