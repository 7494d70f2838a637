//! The writing side of an open index: changes in, commits when due, searchers renewed.
//!
//! Invariants:
//! - `committed` <= `applied`; what lies between is lost if the writer fails, and is given again by the caller.
//! - Searcher, statistics and epoch of the view belong to the same commit.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use invariant::{Broken, holds};
use parking_lot::{Condvar, Mutex, RwLock};
use tantivy::{Index, IndexReader, TantivyError};

use crate::document::{Change, Document};
use crate::error::ApplyError;
use crate::queue::{Budget, Queued};
use crate::schema::Fields;
use crate::settings::Settings;
use crate::view::View;
use crate::writer::Writer;

/// Commits are at least this far apart, so that a fast load does not pay for many small ones, and
/// an epoch can still be found within a second.
const COMMIT_INTERVAL: Duration = Duration::from_millis(500);

/// How long to wait for room in the queue before asking whether the writer is alive.
const PROBE_INTERVAL: Duration = Duration::from_millis(200);

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
    /// Newest epoch on disk.
    pub(super) committed: u64,
    pub(super) committed_at: Instant,
    /// A failure nobody was told of yet.
    pub(super) failure: Option<String>,
    pub(super) stopping: bool,
}

impl Shared {
    pub(super) fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read())
    }

    pub(super) fn apply(
        &self,
        epoch: u64,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), ApplyError> {
        let mut state = self.state.lock();
        // First the failure: epochs before this one are gone, and applying this one would leave a gap.
        self.report(&mut state)?;
        if epoch <= state.applied {
            return Ok(());
        }
        for change in changes {
            if let Err(error) = self.change(&mut state, change) {
                return Err(self.fail(&mut state, error));
            }
        }
        state.applied = epoch;
        self.changed.notify_all();
        Ok(())
    }

    fn change(&self, state: &mut State, change: Change) -> tantivy::Result<()> {
        let writer = self.writer(state)?;
        match change {
            Change::Upsert(document) => {
                // tantivy has no upsert. A deletion holds for what was added before it, so the order of these
                // two matters.
                writer.delete(self.fields.key_term(&document.url_key));
                let queued = self.queued(writer, &document)?;
                writer.add(queued)?;
            }
            Change::Delete(url_key) => {
                writer.delete(self.fields.key_term(&url_key));
            }
        }
        Ok(())
    }

    /// The document, when there is room for it.
    fn queued(&self, writer: &Writer, document: &Document) -> tantivy::Result<Queued> {
        // 1 KiB for what a document has beside its texts: its row, its terms of filters, tantivy's own
        // fields.
        let bytes = document.text.len() + document.title.len() + document.url.len() + 1024;
        loop {
            if let Some(permit) = self.budget.acquire(bytes, PROBE_INTERVAL) {
                let document = self.fields.encode(document);
                return Ok(Queued {
                    document,
                    _permit: permit,
                });
            }
            // An indexing thread that failed (full disk) frees nothing until the writer is dropped, and
            // only an operation tells of it.
            writer.probe(self.fields.nobody())?;
        }
    }

    /// The writer, opened again at the last commit if it failed.
    pub(super) fn writer<'s>(&self, state: &'s mut State) -> tantivy::Result<&'s mut Writer> {
        match &mut state.writer {
            Some(writer) => Ok(writer),
            none => Ok(none.insert(Writer::open(&self.dir, &self.settings, self.fields.nobody())?)),
        }
    }

    /// Commits where something is not committed yet.
    pub(super) fn commit(&self, state: &mut State) -> Result<(), ApplyError> {
        if state.applied == state.committed {
            return Ok(());
        }
        self.commit_now(state)
    }

    pub(super) fn commit_now(&self, state: &mut State) -> Result<(), ApplyError> {
        let epoch = state.applied;
        if let Err(broken) = check_covered(state) {
            return Err(self.fail(state, TantivyError::InternalError(broken.to_string())));
        }
        let committed = self.writer(state).and_then(|writer| writer.commit(epoch));
        // Also after a failure: the next try waits for the interval too.
        state.committed_at = ambient::now();
        if let Err(error) = committed {
            return Err(self.fail(state, error));
        }
        state.committed = epoch;
        // The commit stands even if the searcher cannot be renewed now: the committer tries again.
        if let Err(error) = self.renew_view(state) {
            tracing::warn!(%error, epoch, "renew searcher");
        }
        Ok(())
    }

    /// Gives up what is not committed. After a broken invariant, too: its caller applies again from what is on disk.
    pub(super) fn fail(&self, state: &mut State, error: TantivyError) -> ApplyError {
        // What the writer has taken in cannot be told from what it lost: all of it is given up.
        state.writer = None;
        state.applied = state.committed;
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

    fn renew_view(&self, state: &State) -> tantivy::Result<()> {
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
        let view = View::new(searcher, state.committed, self.fields, Some(&before))?;
        *self.view.write() = Arc::new(view);
        Ok(())
    }

    /// The committer thread: commits when due, and follows merges.
    pub(super) fn commit_when_due(&self) {
        let mut state = self.state.lock();
        while !state.stopping {
            if state.applied == state.committed {
                // Nothing tells of the end of a merge, so it is looked for when there is nothing else to do.
                let idle = self.changed.wait_for(&mut state, Duration::from_secs(2));
                if idle.timed_out() && !state.stopping {
                    self.follow_merges(&mut state);
                }
                continue;
            }
            let due = state.committed_at + COMMIT_INTERVAL;
            if ambient::now() < due {
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

/// The covered epoch never goes back, but to 0 where the index is made anew.
fn check_covered(state: &State) -> Result<(), Broken> {
    holds!(
        "search.covered",
        state.committed <= state.applied,
        "epoch {} would be committed after {}",
        state.applied,
        state.committed
    );
    Ok(())
}
