//! The index: opened, fed with epochs, committed, searched.
//!
//! Crash points, and why each is safe. A commit is tantivy's replacement of `meta.json` by rename; it
//! names the segments, their deletions and, as payload, the covered epoch and the end of the log of in-link buckets,
//! which was synced before:
//! - before the rename, whatever was written: the old `meta.json` names the old segments, the old end of the log and
//!   the old epoch; files beyond them are swept at the next commit, the log is cut. The caller applies from the
//!   old epoch on.
//! - after the rename: the new segments, the new end and the new epoch hold together. An epoch that is applied
//!   again is recognised by its number and skipped.
//! - during a merge: the merged segment is named by a rename of the same kind, with the payload of the
//!   last commit, and holds what its parts held. A merge that outlives its writer within the process is
//!   shut out (`fence`).
//!
//! Epochs applied but not committed are lost by a crash and by a failure of the writer (full disk).
//! Both look alike to the caller: [`SearchIndex::covered_epoch`] says from where to apply again.

mod apply;
mod prepare;
mod purge;
mod shared;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex, RwLock};
use prepare::prepare;
pub use purge::Searches;
use shared::{Shared, State};
use tantivy::{Index, IndexReader, ReloadPolicy};

use crate::buckets::{Buckets, Told};
use crate::document::Change;
use crate::error::{ApplyError, OpenError};
use crate::panics::caught;
use crate::queue::Budget;
use crate::schema;
use crate::settings::Settings;
use crate::view::View;
use crate::writer::{Covered, Writer};

/// A search index in a directory; used from any number of threads.
pub struct SearchIndex {
    shared: Arc<Shared>,
    committer: Option<JoinHandle<()>>,
}

impl SearchIndex {
    /// Opens the index in `dir`; creates it, or builds it anew where it is of another format, in which
    /// case [`SearchIndex::covered_epoch`] is 0.
    ///
    /// # Errors
    /// [`OpenError`]; also where another process holds the index.
    pub fn open(dir: &Path, settings: Settings) -> Result<SearchIndex, OpenError> {
        let failed = |error| OpenError::index(dir, &error);
        prepare(dir)?;
        let (_, fields) = schema::schema();
        let opened = caught(|| {
            // First the writer: what is read then cannot change any more.
            let writer = Writer::open(dir, &settings, fields.nobody())?;
            let index = schema::with_tokenizer(Index::open_in_dir(dir)?);
            let covered = Covered::by(&index)?;
            let reader: IndexReader = index
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .try_into()?;
            let buckets = Buckets::of_log(&reader.searcher(), dir, covered.buckets)?;
            let view = View::new(reader.searcher(), covered.epoch, fields, None, buckets)?;
            Ok((writer, index, covered, reader, view))
        });
        let (writer, index, covered, reader, view) = opened.map_err(failed)?;
        let (epoch, now) = (covered.epoch, system::now());
        let budget = Budget::new(settings.writer_memory_bytes);
        let shared = Arc::new(Shared {
            dir: dir.to_owned(),
            index,
            fields,
            settings,
            budget,
            reader,
            state: Mutex::new(State {
                writer: Some(writer),
                applied: epoch,
                settled: covered.settled,
                committed: epoch,
                committed_settled: covered.settled,
                committed_at: now,
                busy_since: now,
                applied_at: now,
                documents_waiting: 0,
                told: Told::default(),
                unseen: Told::default(),
                log: covered.buckets,
                view_follows: true,
                failure: None,
                stopping: false,
            }),
            changed: Condvar::new(),
            view: RwLock::new(Arc::new(view)),
        });
        // One of a commit that did not come about, or that is older.
        shared.remove_other_logs(&shared.state.lock());
        let committer = {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name("search-commit".into())
                .spawn(move || shared.commit_when_due())
                .map_err(|source| OpenError::Io {
                    dir: dir.to_owned(),
                    source,
                })?
        };
        Ok(SearchIndex {
            shared,
            committer: Some(committer),
        })
    }

    /// Epoch that searches see; all of it, and nothing later. 0 for a new index.
    pub fn covered_epoch(&self) -> u64 {
        self.shared.view().epoch
    }

    /// Current documents that searches see.
    pub fn documents(&self) -> u64 {
        self.shared.view().live.documents()
    }

    /// Applies an epoch: for each key its last change counts. Epochs come in ascending order; gaps are
    /// epochs without changes, or several given as one. One that is covered already is skipped.
    /// Searchable within a second, where many follow one another within 20, at once after [`SearchIndex::flush`].
    ///
    /// # Errors
    /// [`ApplyError`]: this epoch, and any other after the covered one, is to be applied again.
    pub fn apply(&self, epoch: u64, changes: impl IntoIterator<Item = Change>) -> Result<(), ApplyError> {
        self.shared.apply(None, epoch, true, &mut changes.into_iter())
    }

    /// As [`SearchIndex::apply`], where the changes are all that was done after the epoch `since`. If that is the epoch
    /// that was applied last, no document is looked for where one is inserted; else inserts are upserts.
    ///
    /// # Errors
    /// [`ApplyError`], as for [`SearchIndex::apply`].
    pub fn apply_after(
        &self,
        since: u64,
        epoch: u64,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<(), ApplyError> {
        self.shared
            .apply(Some(since), epoch, true, &mut changes.into_iter())
    }

    /// As [`SearchIndex::apply_after`], but the caller owes some of the changes: searches see those documents as they
    /// were, and [`SearchIndex::settled_epoch`] stays what it was, also over a crash. With the next epoch that is
    /// applied as a whole, which may be the same one, all that is owed must come.
    ///
    /// # Errors
    /// [`ApplyError`], as for [`SearchIndex::apply`].
    pub fn apply_part(
        &self,
        since: u64,
        epoch: u64,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<(), ApplyError> {
        self.shared
            .apply(Some(since), epoch, false, &mut changes.into_iter())
    }

    /// Newest epoch on disk up to which no change is owed; at most [`SearchIndex::covered_epoch`], unless the view
    /// could not be renewed.
    pub fn settled_epoch(&self) -> u64 {
        self.shared.state.lock().committed_settled
    }

    /// Commits what was applied and makes it searchable; gives the covered epoch.
    ///
    /// # Errors
    /// [`ApplyError`], as for [`SearchIndex::apply`].
    pub fn flush(&self) -> Result<u64, ApplyError> {
        let mut state = self.shared.state.lock();
        self.shared.report(&mut state)?;
        self.shared.commit(&mut state)?;
        Ok(state.committed)
    }

    /// Documents on disk, past ones and those deleted but not yet purged included.
    pub fn documents_on_disk(&self) -> u64 {
        let view = self.shared.view();
        let segments = view.searcher.segment_readers().iter();
        segments.map(|segment| u64::from(segment.max_doc())).sum()
    }

    /// Commits, waits until no merge is running or due, and lets searches see the outcome.
    ///
    /// # Errors
    /// [`ApplyError`], as for [`SearchIndex::apply`].
    pub fn wait_for_merges(&self) -> Result<(), ApplyError> {
        let mut state = self.shared.state.lock();
        self.shared.report(&mut state)?;
        self.shared.commit(&mut state)?;
        let waited = match state.writer.take() {
            Some(writer) => writer.wait_for_merges(),
            None => Ok(()),
        };
        if let Err(error) = waited {
            return Err(self.shared.fail(&mut state, error));
        }
        self.shared.follow_merges(&mut state);
        Ok(())
    }

    /// Removes every document and sets the covered epoch to 0: the index is to be filled anew.
    ///
    /// # Errors
    /// [`ApplyError`] where that could not be written.
    pub fn clear(&self) -> Result<(), ApplyError> {
        let mut state = self.shared.state.lock();
        // A failure that nobody was told of is about documents that go now.
        state.failure = None;
        // What waits in the queue goes with the writer.
        state.writer = None;
        let cleared = self
            .shared
            .writer(&mut state)
            .and_then(|writer| writer.delete_all());
        if let Err(error) = cleared {
            return Err(self.shared.fail(&mut state, error));
        }
        state.applied = 0;
        state.settled = 0;
        state.committed = 0;
        state.committed_settled = 0;
        state.told.clear();
        state.unseen.clear();
        state.log = state.log.next();
        // Should the view not be renewed now, its buckets would be those of documents that are gone.
        state.view_follows = false;
        self.shared.commit_now(&mut state)?;
        self.shared.remove_other_logs(&state);
        Ok(())
    }

    /// Makes the index anew of `pages`, what is inserted of each key at `epoch`, which is not before the covered one. Searches see
    /// what was there before until all of it is replaced in one commit; a process that is killed meanwhile leaves
    /// that.
    ///
    /// # Errors
    /// [`ApplyError`], or whatever error comes instead of a page: nothing has changed then.
    pub fn replace_all<E: From<ApplyError>>(
        &self,
        epoch: u64,
        pages: impl Iterator<Item = Result<Change, E>>,
    ) -> Result<(), E> {
        let mut failure = None;
        let mut pages = pages.map_while(|page| page.map_err(|error| failure = Some(error)).ok());
        let mut state = self.shared.state.lock();
        // What was applied is committed first: if this fails, it must not be lost with it.
        self.shared.report(&mut state)?;
        self.shared.commit(&mut state)?;
        let log = state.log;
        let replaced = self.shared.replace_all(&mut state, &mut pages);
        drop(pages);
        let outcome = match (failure, replaced) {
            (Some(failure), _) => {
                self.shared.give_up(&mut state);
                Err(failure)
            }
            (None, Err(error)) => Err(error.into()),
            (None, Ok(())) => {
                state.applied = epoch;
                state.settled = epoch;
                self.shared.commit_now(&mut state).map_err(E::from)
            }
        };
        if outcome.is_err() {
            // The log of the last commit, if this one has not come about; opening the writer again finds out.
            state.log = log;
        } else {
            self.shared.remove_other_logs(&state);
        }
        outcome
    }

    /// What searches see now.
    pub fn searches(&self) -> Searches {
        Searches::of(&self.shared.view())
    }

    /// Commits, waits until no merge is running or due, lets searches see the outcome, and removes every file that the commit does
    /// not name. After [`SearchIndex::replace_all`] no file holds what was there before.
    ///
    /// # Errors
    /// [`ApplyError`], as for [`SearchIndex::apply`], and where a file cannot be removed.
    pub fn purge(&self) -> Result<(), ApplyError> {
        self.wait_for_merges()?;
        self.shared.remove_unnamed(&mut self.shared.state.lock())
    }

    pub(crate) fn view(&self) -> Arc<View> {
        self.shared.view()
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.shared.dir
    }
}

impl Drop for SearchIndex {
    /// Commits what was applied; if that fails, it is as if the process had ended without.
    fn drop(&mut self) {
        {
            let mut state = self.shared.state.lock();
            state.stopping = true;
            // Nobody is left to tell: the next opening finds the epoch on disk and its user applies from
            // there.
            let _ = self.shared.commit(&mut state);
        }
        self.shared.changed.notify_all();
        if let Some(committer) = self.committer.take() {
            let _ = committer.join();
        }
    }
}
