//! The index: opened, fed with epochs, committed, searched.
//!
//! Crash points, and why each is safe. A commit is tantivy's replacement of `meta.json` by rename; it
//! names the segments, their deletions and, as payload, the covered epoch:
//! - before the rename, whatever was written: the old `meta.json` names the old segments and the old
//!   epoch; files beyond them are swept at the next commit. The caller applies from the old epoch on.
//! - after the rename: the new segments and the new epoch hold together. An epoch that is applied
//!   again is recognised by its number and skipped.
//! - during a merge: the merged segment is named by a rename of the same kind, with the payload of the
//!   last commit, and holds what its parts held. A merge that outlives its writer within the process is
//!   shut out (`fence`).
//!
//! Epochs applied but not committed are lost by a crash and by a failure of the writer (full disk).
//! Both look alike to the caller: [`SearchIndex::covered_epoch`] says from where to apply again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock};
use tantivy::directory::MmapDirectory;
use tantivy::{Index, IndexReader, IndexSettings, ReloadPolicy, TantivyError};

use crate::document::{Change, Document};
use crate::panics::caught;
use crate::queue::{Budget, Queued};
use crate::schema::{self, Fields};
use crate::view::View;
use crate::writer::{Covered, Writer};

/// Commits are at least this far apart, so that a fast load does not pay for many small ones, and
/// an epoch can still be found within a second.
const COMMIT_INTERVAL: Duration = Duration::from_millis(500);

/// How long to wait for room in the queue before asking whether the writer is alive.
const PROBE_INTERVAL: Duration = Duration::from_millis(200);

/// How to open.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Memory for documents being indexed, over all threads; at least 15 MB a thread. As much again,
    /// at most, waits in the queue.
    pub writer_memory_bytes: usize,
    /// Indexing threads: 1 leaves the other core to the load.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            writer_memory_bytes: 64 << 20,
            threads: 1,
        }
    }
}

/// Why an index could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory could not be made or emptied.
    #[error("prepare search index {dir}: {source}")]
    Io {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// tantivy could not open what is there. The index can be removed: it is filled again from the views.
    #[error("open search index {dir}: {message}")]
    Index {
        /// The directory.
        dir: PathBuf,
        /// What tantivy said.
        message: String,
    },
}

impl OpenError {
    fn index(dir: &Path, error: &TantivyError) -> OpenError {
        OpenError::Index {
            dir: dir.to_owned(),
            message: error.to_string(),
        }
    }
}

/// Epochs could not be kept: those after `covered_epoch` are gone from the index and must be applied again.
#[derive(Debug, Clone, thiserror::Error)]
#[error("search index fell back to epoch {covered_epoch}: {message}")]
pub struct ApplyError {
    /// What the index covers now.
    pub covered_epoch: u64,
    /// What went wrong.
    pub message: String,
}

/// A search index in a directory; used from any number of threads.
pub struct SearchIndex {
    shared: Arc<Shared>,
    committer: Option<JoinHandle<()>>,
}

struct Shared {
    dir: PathBuf,
    /// For reading; each writer has one of its own.
    index: Index,
    fields: Fields,
    settings: Settings,
    budget: Arc<Budget>,
    reader: IndexReader,
    state: Mutex<State>,
    /// Something was applied, or it is time to stop.
    changed: Condvar,
    /// Replaced only under the lock of `state`, so that searcher and epoch belong together.
    view: RwLock<Arc<View>>,
}

struct State {
    /// `None` after a failure, until the next apply.
    writer: Option<Writer>,
    /// Newest epoch given to the writer; at least `committed`.
    applied: u64,
    /// Newest epoch on disk.
    committed: u64,
    committed_at: Instant,
    /// A failure nobody was told of yet.
    failure: Option<String>,
    stopping: bool,
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
            let epoch = covered_epoch(&index)?;
            let reader: IndexReader = index
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .try_into()?;
            let view = View::new(reader.searcher(), epoch, fields, None)?;
            Ok((writer, index, epoch, reader, view))
        });
        let (writer, index, epoch, reader, view) = opened.map_err(failed)?;
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
                committed: epoch,
                committed_at: Instant::now(),
                failure: None,
                stopping: false,
            }),
            changed: Condvar::new(),
            view: RwLock::new(Arc::new(view)),
        });
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

    /// Documents that searches see.
    pub fn documents(&self) -> u64 {
        self.shared.view().live.documents()
    }

    /// Applies an epoch: for each key its last change counts. Epochs come in ascending order; gaps are
    /// epochs without changes, or several given as one. One that is covered already is skipped.
    /// Searchable within a second, at once after [`SearchIndex::flush`].
    ///
    /// # Errors
    /// [`ApplyError`]: this epoch, and any other after the covered one, is to be applied again.
    pub fn apply(&self, epoch: u64, changes: impl IntoIterator<Item = Change>) -> Result<(), ApplyError> {
        self.shared.apply(epoch, &mut changes.into_iter())
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

    /// Documents on disk, those deleted but not yet purged included.
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
        state.committed = 0;
        self.shared.commit_now(&mut state)
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
            let _ = self.shared.commit(&mut state);
        }
        self.shared.changed.notify_all();
        if let Some(committer) = self.committer.take() {
            let _ = committer.join();
        }
    }
}

impl Shared {
    fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read())
    }

    fn apply(&self, epoch: u64, changes: &mut dyn Iterator<Item = Change>) -> Result<(), ApplyError> {
        let mut state = self.state.lock();
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
    fn writer<'s>(&self, state: &'s mut State) -> tantivy::Result<&'s mut Writer> {
        match &mut state.writer {
            Some(writer) => Ok(writer),
            none => Ok(none.insert(Writer::open(&self.dir, &self.settings, self.fields.nobody())?)),
        }
    }

    /// Commits where something is not committed yet.
    fn commit(&self, state: &mut State) -> Result<(), ApplyError> {
        if state.applied == state.committed {
            return Ok(());
        }
        self.commit_now(state)
    }

    fn commit_now(&self, state: &mut State) -> Result<(), ApplyError> {
        let epoch = state.applied;
        let committed = self.writer(state).and_then(|writer| writer.commit(epoch));
        state.committed_at = Instant::now();
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

    /// Gives up what is not committed.
    fn fail(&self, state: &mut State, error: TantivyError) -> ApplyError {
        state.writer = None;
        state.applied = state.committed;
        ApplyError {
            covered_epoch: state.committed,
            message: error.to_string(),
        }
    }

    /// Tells of a failure in the background.
    fn report(&self, state: &mut State) -> Result<(), ApplyError> {
        match state.failure.take() {
            Some(message) => Err(ApplyError {
                covered_epoch: state.committed,
                message,
            }),
            None => Ok(()),
        }
    }

    fn renew_view(&self, state: &State) -> tantivy::Result<()> {
        self.reader.reload()?;
        let before = self.view();
        let searcher = self.reader.searcher();
        let view = View::new(searcher, state.committed, self.fields, Some(&before))?;
        *self.view.write() = Arc::new(view);
        Ok(())
    }

    /// The committer thread: commits when due, and follows merges.
    fn commit_when_due(&self) {
        let mut state = self.state.lock();
        while !state.stopping {
            if state.applied == state.committed {
                let idle = self.changed.wait_for(&mut state, Duration::from_secs(2));
                if idle.timed_out() && !state.stopping {
                    self.follow_merges(&mut state);
                }
                continue;
            }
            let due = state.committed_at + COMMIT_INTERVAL;
            if Instant::now() < due {
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
    fn follow_merges(&self, state: &mut State) {
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
            writer.sweep();
        }
    }
}

/// Makes sure that there is an index of this format.
fn prepare(dir: &Path) -> Result<(), OpenError> {
    let io = |source| OpenError::Io {
        dir: dir.to_owned(),
        source,
    };
    let failed = |error| OpenError::index(dir, &error);
    std::fs::create_dir_all(dir).map_err(io)?;
    let directory = MmapDirectory::open(dir).map_err(|error| failed(error.into()))?;
    if Index::exists(&directory).map_err(|error| failed(error.into()))? {
        if is_current(&Index::open(directory).map_err(failed)?).map_err(failed)? {
            return Ok(());
        }
        tracing::warn!(dir = %dir.display(), "search index of another format: built anew");
        std::fs::remove_dir_all(dir).map_err(io)?;
        std::fs::create_dir_all(dir).map_err(io)?;
    }
    let directory = MmapDirectory::open(dir).map_err(|error| failed(error.into()))?;
    let settings = IndexSettings {
        // One thread less beside the loader; rows are small.
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    };
    let (wanted, _) = schema::schema();
    Index::create(directory, wanted, settings).map_err(failed)?;
    Ok(())
}

fn is_current(index: &Index) -> tantivy::Result<bool> {
    let (wanted, _) = schema::schema();
    let payload = index.load_metas()?.payload;
    // Without a payload it was made but never committed to.
    let format = payload.map_or(Some(schema::FORMAT), |text| {
        let covered = serde_json::from_str::<Covered>(&text).ok();
        covered.map(|covered| covered.format)
    });
    Ok(format == Some(schema::FORMAT) && index.schema() == wanted)
}

/// The epoch of the last commit; 0 before the first.
fn covered_epoch(index: &Index) -> tantivy::Result<u64> {
    let payload = index.load_metas()?.payload;
    let covered = payload.and_then(|text| serde_json::from_str::<Covered>(&text).ok());
    Ok(covered.map_or(0, |covered| covered.epoch))
}
