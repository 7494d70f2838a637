//! The index: opened, fed with epochs, committed, searched.
//!
//! A commit is tantivy's replacement of `meta.json` by rename. It names the segments, their
//! deletions and, as payload, the covered epoch and the end of the log of in-link buckets, which
//! has been synced before. It is safe to crash at any point:
//! - Before the rename, the old `meta.json` names the old segments, log end and epoch. Other files
//!   are removed and the log is truncated at the next commit. The caller applies from the old epoch
//!   on.
//! - After the rename, the new segments, log end and epoch are valid together. An epoch applied
//!   again is recognised by its number and skipped.
//! - During a merge, the merged segment is published by the same kind of rename, with the payload
//!   of the last commit. A merge that outlives its writer within the process is shut out (`fence`).
//!
//! Epochs applied but not committed are lost by a crash or a failed write (full disk). In both
//! cases [`SearchIndex::covered_epoch`] says from where to apply again.
//!
//! This module writes `documents`, and makes a [`view::View`] of each commit for searching. It does
//! not know queries and answers.

mod apply;
pub(crate) mod check;
mod compact;
pub(crate) mod crash;
mod fence;
mod prepare;
mod purge;
mod queue;
mod shared;
pub(crate) mod view;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex, RwLock};
use prepare::prepare;
pub use purge::ActiveSearches;
use shared::{Shared, State};
use tantivy::{Index, IndexReader, ReloadPolicy};
use vectors::Vectors;

use crate::documents::buckets::{BucketChanges, Buckets};
use crate::documents::document::Change;
use crate::documents::schema;
use crate::error::{ApplyError, OpenError};
use crate::index::queue::Budget;
use crate::index::view::View;
use crate::index::writer::{CommitPayload, Writer};
use crate::panics::catch_panics;
use crate::settings::Settings;

/// A search index in a directory. It can be used from any number of threads.
pub struct SearchIndex {
    shared: Arc<Shared>,
    committer: Option<JoinHandle<()>>,
}

impl SearchIndex {
    /// Opens the index in `dir`. Creates a missing index, and replaces one of another format by an
    /// empty one. In both cases [`SearchIndex::covered_epoch`] is 0.
    ///
    /// # Errors
    /// [`OpenError`], also if another process has the index open.
    pub fn open(dir: &Path, settings: Settings) -> Result<SearchIndex, OpenError> {
        let failed = |error| OpenError::index(dir, &error);
        prepare(dir)?;
        let (_, fields) = schema::schema();
        let opened = catch_panics(|| {
            // The writer is opened first, so that the index cannot change while it is read.
            let writer = Writer::open(dir, &settings, fields.absent_term())?;
            let index = schema::with_tokenizer(Index::open_in_dir(dir)?);
            let covered = CommitPayload::read(&index)?;
            let reader: IndexReader = index
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .try_into()?;
            let buckets = Buckets::from_log(&reader.searcher(), dir, covered.buckets)?;
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
            added: AtomicU64::new(0),
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
                bucket_changes: BucketChanges::default(),
                unpublished_buckets: BucketChanges::default(),
                log: covered.buckets,
                view_follows: true,
                failure: None,
                stopping: false,
            }),
            changed: Condvar::new(),
            view: RwLock::new(Arc::new(view)),
        });
        // A log that was never committed, or one that is older.
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

    /// Returns the epoch that searches see: all of its changes and none later. 0 for a new index.
    pub fn covered_epoch(&self) -> u64 {
        self.shared.view().epoch
    }

    /// Returns the number of current documents that searches see.
    pub fn documents(&self) -> u64 {
        self.shared.view().live.documents()
    }

    /// Applies an epoch; for each key its last change counts. Epochs are applied in ascending
    /// order. A gap stands for epochs without changes, or for several given as one. An epoch that
    /// is already covered is skipped. Its changes are searchable within a second, within 20 seconds
    /// if many epochs follow each other, and at once after [`SearchIndex::flush`].
    ///
    /// # Errors
    /// [`ApplyError`]: this epoch and all others after the covered one must be applied again.
    pub fn apply(&self, epoch: u64, changes: impl IntoIterator<Item = Change>) -> Result<(), ApplyError> {
        self.shared.apply(None, epoch, true, &mut changes.into_iter())
    }

    /// Like [`SearchIndex::apply`], for the complete changes after the epoch `since`. If `since` is
    /// the epoch applied last, inserts do not search for an old document. Otherwise inserts are
    /// treated as upserts.
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

    /// Like [`SearchIndex::apply_after`], but some of the changes are still missing. Searches see
    /// the old state of the documents that the missing changes concern, and
    /// [`SearchIndex::settled_epoch`] does not advance, not even after a crash. All missing changes
    /// must come with the next epoch that is applied completely, which may be the same one.
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

    /// Returns the newest epoch on disk up to which no change is missing. At most
    /// [`SearchIndex::covered_epoch`], unless the view could not be renewed.
    pub fn settled_epoch(&self) -> u64 {
        self.shared.state.lock().committed_settled
    }

    /// Commits all applied epochs and makes them searchable. Returns the covered epoch.
    ///
    /// # Errors
    /// [`ApplyError`], as for [`SearchIndex::apply`].
    pub fn flush(&self) -> Result<u64, ApplyError> {
        let mut state = self.shared.state.lock();
        self.shared.report(&mut state)?;
        self.shared.commit(&mut state)?;
        Ok(state.committed)
    }

    /// Returns the number of documents on disk, including past versions and documents that are
    /// deleted but not yet purged.
    pub fn documents_on_disk(&self) -> u64 {
        let view = self.shared.view();
        let segments = view.searcher.segment_readers().iter();
        segments.map(|segment| u64::from(segment.max_doc())).sum()
    }

    /// Returns the number of documents on disk that are deleted but not yet purged.
    pub fn documents_deleted(&self) -> u64 {
        let view = self.shared.view();
        let segments = view.searcher.segment_readers().iter();
        segments
            .map(|segment| u64::from(segment.num_deleted_docs()))
            .sum()
    }

    /// Returns how many documents have been indexed since the index was opened. A document that is
    /// indexed again counts again.
    pub fn documents_added(&self) -> u64 {
        self.shared.added.load(Relaxed)
    }

    /// Commits, and merges segments until at most this percentage of the documents on disk is
    /// deleted. Also waits for merges that are due, if there are many segments.
    ///
    /// # Errors
    /// [`ApplyError`], as for [`SearchIndex::apply`].
    pub fn compact(&self, deleted_percent_max: u64) -> Result<(), ApplyError> {
        let mut state = self.shared.state.lock();
        self.shared.report(&mut state)?;
        self.shared.commit(&mut state)?;
        self.shared.compact(&mut state, deleted_percent_max)
    }

    /// Commits, waits until no merge is running or due, and makes the outcome searchable.
    ///
    /// # Errors
    /// [`ApplyError`], as for [`SearchIndex::apply`].
    pub fn wait_for_merges(&self) -> Result<(), ApplyError> {
        let mut state = self.shared.state.lock();
        self.shared.report(&mut state)?;
        self.shared.commit(&mut state)?;
        self.shared.wait_for_merges(&mut state)
    }

    /// Removes every document and sets the covered epoch to 0, so that the index can be filled
    /// again.
    ///
    /// # Errors
    /// [`ApplyError`] if the change could not be written.
    pub fn clear(&self) -> Result<(), ApplyError> {
        let mut state = self.shared.state.lock();
        // An unreported failure concerns documents that are removed now.
        state.failure = None;
        // Documents in the queue are dropped with the writer.
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
        state.bucket_changes.clear();
        state.unpublished_buckets.clear();
        state.log = state.log.next();
        // If the view cannot be renewed now, its buckets are those of removed documents.
        state.view_follows = false;
        self.shared.commit_now(&mut state)?;
        self.shared.remove_other_logs(&state);
        Ok(())
    }

    /// Rebuilds the index from `pages`, one insert for each key as of `epoch`, which must not
    /// precede the covered epoch. Searches see the old documents until one commit replaces all of
    /// them. If the process is killed in between, the old documents stay.
    ///
    /// # Errors
    /// [`ApplyError`], or the error that `pages` yields. Nothing has changed then.
    pub fn replace_all<E: From<ApplyError>>(
        &self,
        epoch: u64,
        pages: impl Iterator<Item = Result<Change, E>>,
    ) -> Result<(), E> {
        let mut failure = None;
        let mut pages = pages.map_while(|page| page.map_err(|error| failure = Some(error)).ok());
        let mut state = self.shared.state.lock();
        // Commit applied epochs first, so that they are not lost if the rebuild fails.
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
            // Without a commit, the log of the last commit stays valid. Opening the writer again
            // finds out whether there was one.
            state.log = log;
        } else {
            self.shared.remove_other_logs(&state);
        }
        outcome
    }

    /// Returns a handle on the running searches.
    pub fn searches(&self) -> ActiveSearches {
        ActiveSearches::of(&self.shared.view())
    }

    /// Commits, waits until no merge is running or due, makes the outcome searchable, and removes
    /// every file that the commit does not refer to. After [`SearchIndex::replace_all`] no file
    /// holds the old documents.
    ///
    /// # Errors
    /// [`ApplyError`], as for [`SearchIndex::apply`], or if a file cannot be removed.
    pub fn purge(&self) -> Result<(), ApplyError> {
        self.wait_for_merges()?;
        self.shared.remove_unnamed(&mut self.shared.state.lock())
    }

    pub(crate) fn view(&self) -> Arc<View> {
        self.shared.view()
    }

    pub(crate) fn vectors(&self) -> Option<&Vectors> {
        self.shared.settings.vectors.as_deref()
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.shared.dir
    }
}

impl Drop for SearchIndex {
    /// Commits all applied epochs. If that fails, it is as if the process had been killed.
    fn drop(&mut self) {
        {
            let mut state = self.shared.state.lock();
            state.stopping = true;
            // The error cannot be reported. The next opening finds the covered epoch on disk, and
            // the caller applies again from there.
            let _ = self.shared.commit(&mut state);
        }
        self.shared.changed.notify_all();
        if let Some(committer) = self.committer.take() {
            let _ = committer.join();
        }
    }
}
