//! The writing side of an open index: changes in, commits when due, searchers renewed.
//!
//! Invariants:
//! - `settled` <= `applied`, in the commit as well.
//! - `committed` <= `applied`; what lies between is lost if the writer fails, and is given again by the caller.
//! - Searcher, statistics and epoch of the view belong to the same commit.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock};
use system::{Broken, holds};
use tantivy::{Index, IndexReader, TantivyError};

use crate::bucket_log::{self, Appender, LogEnd};
use crate::buckets::{Buckets, Told};
use crate::crash;
use crate::error::ApplyError;
use crate::queue::Budget;
use crate::schema::{self, Fields};
use crate::settings::Settings;
use crate::view::View;
use crate::writer::{Covered, Writer};

/// Commits are at least this far apart: the first epochs can be found within a second.
const COMMIT_INTERVAL_MIN: Duration = Duration::from_millis(500);

/// While much is applied without a pause, commits come at half the time that it has gone on, up to this: a commit ends
/// a segment, and small segments are merged again and again.
const COMMIT_INTERVAL_MAX: Duration = Duration::from_secs(20);

/// Fewer documents a second are not much: there is time for commits.
const DOCUMENTS_PER_S_FEW: u64 = 100;

/// So many epochs are committed soon: the caller can say what changed in some 1,000 of them only.
const EPOCHS_WAITING_MAX: u64 = 256;

/// What the users of an index and its committer thread share.
pub(super) struct Shared {
    pub(super) dir: PathBuf,
    /// For reading; each writer has one of its own.
    pub(super) index: Index,
    pub(super) fields: Fields,
    pub(super) settings: Settings,
    pub(super) budget: Arc<Budget>,
    pub(super) reader: IndexReader,
    pub(super) state: Mutex<State>,
    /// Something was applied, or it is time to stop.
    pub(super) changed: Condvar,
    /// Replaced only under the lock of `state`, so that searcher and epoch belong together.
    pub(super) view: RwLock<Arc<View>>,
}

/// Where writing stands.
pub(super) struct State {
    /// `None` after a failure, until the next apply.
    pub(super) writer: Option<Writer>,
    /// Newest epoch given to the writer; at least `committed`.
    pub(super) applied: u64,
    /// Newest epoch up to which no change is owed; at most `applied`.
    pub(super) settled: u64,
    /// Newest epoch on disk.
    pub(super) committed: u64,
    /// What `settled` was then.
    pub(super) committed_settled: u64,
    pub(super) committed_at: Instant,
    /// Since when epochs come without a pause.
    pub(super) busy_since: Instant,
    /// When the last epoch came.
    pub(super) applied_at: Instant,
    /// Documents put in since the last commit.
    pub(super) documents_waiting: u64,
    /// Buckets since the last commit, as the changes say.
    pub(super) told: Told,
    /// Buckets that are committed, but not in the view yet.
    pub(super) unseen: Told,
    /// Log of buckets as of the last commit.
    pub(super) log: LogEnd,
    /// The view's buckets and `unseen` are those of the last commit; else they are read from the log.
    pub(super) view_follows: bool,
    /// A failure nobody was told of yet.
    pub(super) failure: Option<String>,
    pub(super) stopping: bool,
}

impl State {
    /// Whether something is not committed yet.
    fn is_waiting(&self) -> bool {
        (self.applied, self.settled) != (self.committed, self.committed_settled)
    }
}

impl Shared {
    pub(super) fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read())
    }

    /// The writer, opened again at the last commit if it failed.
    pub(super) fn writer<'s>(&self, state: &'s mut State) -> tantivy::Result<&'s mut Writer> {
        if state.writer.is_none() {
            let writer = Writer::open(&self.dir, &self.settings, self.fields.nobody())?;
            let covered = Covered::by(&self.index)?;
            if (covered.epoch, covered.settled, covered.buckets)
                != (state.committed, state.committed_settled, state.log)
            {
                // A commit came about, and its error was about something after it: nothing of it may be inserted again.
                state.committed = covered.epoch;
                state.committed_settled = covered.settled;
                state.applied = covered.epoch;
                state.settled = covered.settled;
                state.log = covered.buckets;
                state.view_follows = false;
            }
            state.writer = Some(writer);
        }
        let none = || TantivyError::InternalError("there is no writer".to_owned());
        state.writer.as_mut().ok_or_else(none)
    }

    /// Commits where something is not committed yet.
    pub(super) fn commit(&self, state: &mut State) -> Result<(), ApplyError> {
        if !state.is_waiting() {
            return Ok(());
        }
        self.commit_now(state)
    }

    pub(super) fn commit_now(&self, state: &mut State) -> Result<(), ApplyError> {
        let (epoch, settled) = (state.applied, state.settled);
        if let Err(broken) = check_covered(state) {
            return Err(self.fail(state, TantivyError::InternalError(broken.to_string())));
        }
        let committed = self.commit_with_buckets(state);
        // Also after a failure: the next try waits for the interval too.
        state.committed_at = system::now();
        let log = match committed {
            Ok(log) => log,
            Err(error) => return Err(self.fail(state, error)),
        };
        let is_other_file = !log.is_in_file_of(state.log);
        state.committed = epoch;
        state.committed_settled = settled;
        state.log = log;
        state.documents_waiting = 0;
        state.unseen.extend(state.told.drain());
        if is_other_file {
            self.remove_other_logs(state);
        }
        // The commit stands even if the searcher cannot be renewed now: the committer tries again.
        if let Err(error) = self.renew_view(state) {
            tracing::warn!(%error, epoch, "renew searcher");
        }
        Ok(())
    }

    /// The log first: a commit names only what is on disk.
    fn commit_with_buckets(&self, state: &mut State) -> tantivy::Result<LogEnd> {
        // Opened before the log is written: it may find that the log goes further.
        self.writer(state)?;
        crash::point("search.before_buckets");
        let log = self.write_log(state)?;
        let covered = Covered {
            format: schema::FORMAT,
            epoch: state.applied,
            settled: state.settled,
            buckets: log,
        };
        self.writer(state)?.commit(&covered)?;
        Ok(log)
    }

    fn write_log(&self, state: &State) -> tantivy::Result<LogEnd> {
        let is_view_current = state.view_follows && state.unseen.is_empty();
        let anew = state.log.has_grown() && is_view_current;
        if state.told.is_empty() && !anew {
            return Ok(state.log);
        }
        let begin = if anew { state.log.next() } else { state.log };
        let mut appender = Appender::open(&self.dir, begin)?;
        if anew {
            let view = self.view();
            let mut pushed = Ok(());
            view.buckets.each(&view.searcher, |hash, bucket| {
                if pushed.is_ok() {
                    pushed = appender.push(hash, bucket);
                }
            })?;
            pushed?;
        }
        for (&hash, &bucket) in &state.told {
            appender.push(hash, bucket)?;
        }
        let end = appender.finish()?;
        Ok(if anew { end.made() } else { end })
    }

    pub(super) fn remove_other_logs(&self, state: &State) {
        if let Err(error) = bucket_log::remove_others(&self.dir, state.log) {
            // Found again when the index is opened next.
            tracing::warn!(%error, "remove an old log of in-link buckets");
        }
    }

    /// Gives up what is not committed, without an error.
    pub(super) fn give_up(&self, state: &mut State) {
        state.writer = None;
        state.applied = state.committed;
        state.settled = state.committed_settled;
        state.told.clear();
        state.documents_waiting = 0;
    }

    /// Gives up what is not committed. After a broken invariant, too: its caller applies again from what is on disk.
    pub(super) fn fail(&self, state: &mut State, error: TantivyError) -> ApplyError {
        // What the writer has taken in cannot be told from what it lost: all of it is given up.
        self.give_up(state);
        ApplyError {
            covered_epoch: state.committed,
            message: error.to_string(),
        }
    }

    /// Tells of a failure in the background.
    pub(super) fn report(&self, state: &mut State) -> Result<(), ApplyError> {
        match state.failure.take() {
            Some(message) => Err(ApplyError {
                covered_epoch: state.committed,
                message,
            }),
            None => Ok(()),
        }
    }

    fn renew_view(&self, state: &mut State) -> tantivy::Result<()> {
        // The lock of `state` is held: no commit comes between the reload and `state.committed`.
        self.reader.reload()?;
        let before = self.view();
        let searcher = self.reader.searcher();
        debug_assert!(
            state.committed <= state.applied,
            "epoch {} is on disk, but only {} was applied",
            state.committed,
            state.applied
        );
        let buckets = match state.view_follows {
            true => before
                .buckets
                .renewed(&before.searcher, &searcher, &state.unseen)?,
            false => Buckets::of_log(&searcher, &self.dir, state.log)?,
        };
        let view = View::new(searcher, state.committed, self.fields, Some(&before), buckets)?;
        *self.view.write() = Arc::new(view);
        state.view_follows = true;
        state.unseen.clear();
        Ok(())
    }

    /// The committer thread: commits when due, and follows merges.
    pub(super) fn commit_when_due(&self) {
        let mut state = self.state.lock();
        while !state.stopping {
            if !state.is_waiting() {
                // Nothing tells of the end of a merge, so it is looked for when there is nothing else to do.
                let idle = self.changed.wait_for(&mut state, Duration::from_secs(2));
                if idle.timed_out() && !state.stopping {
                    self.follow_merges(&mut state);
                }
                continue;
            }
            let now = system::now();
            let due = state.committed_at + interval(&state, now);
            if now < due {
                self.changed.wait_until(&mut state, due);
                continue;
            }
            if let Err(error) = self.commit(&mut state) {
                tracing::warn!(%error, "commit search index");
                state.failure = Some(error.message);
            }
        }
    }

    /// Takes over segments that were merged since the last commit, and lets go of the old files.
    pub(super) fn follow_merges(&self, state: &mut State) {
        // The epoch differs where the searcher could not be renewed after the last commit.
        let stale = self.view().epoch != state.committed
            || self.index.searchable_segment_ids().is_ok_and(|mut on_disk| {
                on_disk.sort_unstable();
                let view = self.view();
                let seen = view.searcher.segment_readers().iter();
                let mut seen: Vec<_> = seen.map(|reader| reader.segment_id()).collect();
                seen.sort_unstable();
                seen != on_disk
            });
        if !stale {
            return;
        }
        if let Err(error) = self.renew_view(state) {
            tracing::warn!(%error, "renew searcher after a merge");
        }
        if let Some(writer) = &state.writer {
            // Only after the view let go of the merged segments: files that a searcher holds open are not
            // removed.
            writer.sweep();
        }
    }
}

/// How long after the last commit the next one is due.
fn interval(state: &State, now: Instant) -> Duration {
    let age = now.saturating_duration_since(state.committed_at).as_secs().max(1);
    let is_little = state.documents_waiting < DOCUMENTS_PER_S_FEW * age;
    if is_little || state.applied - state.committed >= EPOCHS_WAITING_MAX {
        return COMMIT_INTERVAL_MIN;
    }
    let busy = now.saturating_duration_since(state.busy_since);
    (busy / 2).clamp(COMMIT_INTERVAL_MIN, COMMIT_INTERVAL_MAX)
}

/// The covered epoch never goes back, but to 0 where the index is made anew.
fn check_covered(state: &State) -> Result<(), Broken> {
    holds!(
        "search.covered",
        state.committed <= state.applied && state.settled <= state.applied,
        "epoch {}, settled up to {}, would be committed after {}",
        state.applied,
        state.settled,
        state.committed
    );
    Ok(())
}
