//! The writing side of an open index: applies changes, commits when due, renews the view.
//!
//! Invariants:
//! - `settled` <= `applied`, in each commit as well.
//! - `committed` <= `applied`. Epochs in between are lost if the writer fails; the caller applies
//!   them again.
//! - Searcher, statistics and epoch of the view belong to the same commit.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock};
use system::{Broken, holds};
use tantivy::{Index, IndexReader, TantivyError};

use crate::documents::bucket_log::{self, Appender, LogEnd};
use crate::documents::buckets::{BucketChanges, Buckets};
use crate::documents::schema::{self, Fields};
use crate::error::ApplyError;
use crate::index::crash;
use crate::index::queue::Budget;
use crate::index::view::View;
use crate::index::writer::{CommitPayload, Writer};
use crate::settings::Settings;

/// Minimum time between commits. The first epochs are searchable within a second.
const COMMIT_INTERVAL_MIN: Duration = Duration::from_millis(500);

/// While many documents are applied without a pause, the interval between commits is half the time
/// since the pause, up to this. Each commit ends a segment, and small segments are merged
/// repeatedly.
const COMMIT_INTERVAL_MAX: Duration = Duration::from_secs(20);

/// At a lower rate than this, there is time for a commit at the minimum interval.
const DOCUMENTS_PER_S_FEW: u64 = 100;

/// With this many epochs waiting, a commit is due soon, because the caller keeps the changes of
/// only some 1,000 epochs.
const EPOCHS_WAITING_MAX: u64 = 256;

/// State shared by the users of an index and its committer thread.
pub(super) struct Shared {
    pub(super) dir: PathBuf,
    /// For reading. Each writer has its own.
    pub(super) index: Index,
    pub(super) fields: Fields,
    pub(super) settings: Settings,
    pub(super) budget: Arc<Budget>,
    pub(super) reader: IndexReader,
    /// Documents given to the writer, over all commits.
    pub(super) added: AtomicU64,
    pub(super) state: Mutex<State>,
    /// Notified after epochs were applied, and to stop the committer.
    pub(super) changed: Condvar,
    /// Replaced only under the lock of `state`, so that searcher and epoch belong together.
    pub(super) view: RwLock<Arc<View>>,
}

/// State of the writing side.
pub(super) struct State {
    /// `None` after a failure, until the next apply.
    pub(super) writer: Option<Writer>,
    /// Newest epoch given to the writer; at least `committed`.
    pub(super) applied: u64,
    /// Newest epoch up to which no change is missing; at most `applied`.
    pub(super) settled: u64,
    /// Newest epoch on disk.
    pub(super) committed: u64,
    /// Value of `settled` in the last commit.
    pub(super) committed_settled: u64,
    pub(super) committed_at: Instant,
    /// Start of the current run of epochs without a pause.
    pub(super) busy_since: Instant,
    /// Time of the last apply.
    pub(super) applied_at: Instant,
    /// Documents written since the last commit.
    pub(super) documents_waiting: u64,
    /// Buckets changed since the last commit.
    pub(super) bucket_changes: BucketChanges,
    /// Buckets that are committed but not yet in the view.
    pub(super) unpublished_buckets: BucketChanges,
    /// The log of buckets as of the last commit.
    pub(super) log: LogEnd,
    /// Whether the view's buckets and `unpublished_buckets` together are those of the last commit.
    /// If not, buckets are read from the log.
    pub(super) view_follows: bool,
    /// A failure that has not been reported yet.
    pub(super) failure: Option<String>,
    pub(super) stopping: bool,
}

impl State {
    /// Returns whether there are uncommitted epochs.
    fn is_waiting(&self) -> bool {
        (self.applied, self.settled) != (self.committed, self.committed_settled)
    }
}

impl Shared {
    pub(super) fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read())
    }

    /// Returns the writer. After a failure it is opened again at the last commit.
    pub(super) fn writer<'s>(&self, state: &'s mut State) -> tantivy::Result<&'s mut Writer> {
        if state.writer.is_none() {
            let writer = Writer::open(&self.dir, &self.settings, self.fields.absent_term())?;
            let covered = CommitPayload::read(&self.index)?;
            if (covered.epoch, covered.settled, covered.buckets)
                != (state.committed, state.committed_settled, state.log)
            {
                // The commit succeeded, and its error came from something after it. Its changes
                // must not be inserted again.
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

    /// Commits if there are uncommitted epochs.
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
        // Also after a failure, so that the next attempt waits for the interval too.
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
        state.unpublished_buckets.extend(state.bucket_changes.drain());
        if is_other_file {
            self.remove_other_logs(state);
        }
        // The commit is valid even if the searcher cannot be renewed now. The committer tries
        // again.
        if let Err(error) = self.renew_view(state) {
            tracing::warn!(%error, epoch, "cannot reload the searcher");
        }
        Ok(())
    }

    /// Commits. Writes the log first, because a commit must refer only to data on disk.
    fn commit_with_buckets(&self, state: &mut State) -> tantivy::Result<LogEnd> {
        // Opened before the log is written: opening may find that a longer log was committed.
        self.writer(state)?;
        crash::point("search.before_buckets");
        let log = self.write_log(state)?;
        let covered = CommitPayload {
            format: schema::FORMAT,
            epoch: state.applied,
            settled: state.settled,
            buckets: log,
        };
        self.writer(state)?.commit(&covered)?;
        Ok(log)
    }

    fn write_log(&self, state: &State) -> tantivy::Result<LogEnd> {
        let is_view_current = state.view_follows && state.unpublished_buckets.is_empty();
        let anew = state.log.has_grown() && is_view_current;
        if state.bucket_changes.is_empty() && !anew {
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
        for (&hash, &bucket) in &state.bucket_changes {
            appender.push(hash, bucket)?;
        }
        let end = appender.finish()?;
        Ok(if anew { end.made() } else { end })
    }

    pub(super) fn remove_other_logs(&self, state: &State) {
        if let Err(error) = bucket_log::remove_others(&self.dir, state.log) {
            // It is found again when the index is opened next.
            tracing::warn!(%error, "cannot remove an old log of in-link buckets");
        }
    }

    /// Discards uncommitted changes without reporting an error.
    pub(super) fn give_up(&self, state: &mut State) {
        state.writer = None;
        state.applied = state.committed;
        state.settled = state.committed_settled;
        state.bucket_changes.clear();
        state.documents_waiting = 0;
    }

    /// Discards uncommitted changes and returns the error for the caller, who applies again from
    /// the last commit. Also used after a broken invariant.
    pub(super) fn fail(&self, state: &mut State, error: TantivyError) -> ApplyError {
        // It is unknown which documents the writer lost, so all of them are discarded.
        self.give_up(state);
        ApplyError {
            covered_epoch: state.committed,
            message: error.to_string(),
        }
    }

    /// Returns the failure of a background commit, if any.
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
        // The lock of `state` is held, so no commit can come between the reload and
        // `state.committed`.
        self.reader.reload()?;
        let before = self.view();
        let searcher = self.reader.searcher();
        debug_assert!(
            state.committed <= state.applied,
            "epoch {} is on disk, but only {} was applied",
            state.committed,
            state.applied
        );
        let buckets = if state.view_follows {
            before
                .buckets
                .updated(&before.searcher, &searcher, &state.unpublished_buckets)?
        } else {
            Buckets::from_log(&searcher, &self.dir, state.log)?
        };
        let view = View::new(searcher, state.committed, self.fields, Some(&before), buckets)?;
        *self.view.write() = Arc::new(view);
        state.view_follows = true;
        state.unpublished_buckets.clear();
        Ok(())
    }

    /// The committer thread: commits when due, and picks up merged segments.
    pub(super) fn commit_when_due(&self) {
        let mut state = self.state.lock();
        while !state.stopping {
            if !state.is_waiting() {
                // The end of a merge is not signalled, so check for it while idle.
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
                tracing::warn!(%error, "cannot commit the search index");
                state.failure = Some(error.message);
            }
        }
    }

    /// Renews the view if segments were merged since the last commit, and removes the old files.
    pub(super) fn follow_merges(&self, state: &mut State) {
        // The epoch differs if the searcher could not be renewed after the last commit.
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
            tracing::warn!(%error, "cannot reload the searcher after a merge");
        }
        if let Some(writer) = &state.writer {
            // Must come after the view has released the merged segments, because files that a
            // searcher has open are not removed.
            writer.sweep();
        }
    }
}

/// Returns how long after the last commit the next one is due.
fn interval(state: &State, now: Instant) -> Duration {
    let age = now.saturating_duration_since(state.committed_at).as_secs().max(1);
    let is_little = state.documents_waiting < DOCUMENTS_PER_S_FEW * age;
    if is_little || state.applied - state.committed >= EPOCHS_WAITING_MAX {
        return COMMIT_INTERVAL_MIN;
    }
    let busy = now.saturating_duration_since(state.busy_since);
    (busy / 2).clamp(COMMIT_INTERVAL_MIN, COMMIT_INTERVAL_MAX)
}

/// Checks that the epochs to commit are consistent. The covered epoch never decreases, except to 0
/// when the index is rebuilt.
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
