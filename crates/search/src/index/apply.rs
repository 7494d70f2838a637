//! Applies epochs: documents go to the writer in batches, buckets to the log.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::shared::{Shared, State};
use crate::documents::document::{Change, Document, PastToDelete};
use crate::documents::hash::hash;
use crate::documents::keys::{DeleteQuery, KeyDocuments};
use crate::error::ApplyError;
use crate::index::queue::QueuedDocument;

/// How long to wait for room in the queue before checking that the writer is alive.
const PROBE_INTERVAL: Duration = Duration::from_millis(200);

/// Epochs further apart than this belong to different loads, or to a slow one.
const PAUSE_MIN: Duration = Duration::from_secs(5);

/// Documents in a batch. Each batch's deletions scan all hashes of the index once, so batches are
/// large.
const DOCUMENTS_MAX: usize = 16_384;

/// Size of a batch in bytes.
const BYTES_MAX: usize = 8 << 20;

/// Changes that are written together: replaced documents are deleted first, then documents are
/// added. No key occurs twice, so the order of the changes does not matter.
#[derive(Default)]
struct Batch {
    deleted: FxHashMap<u64, KeyDocuments>,
    added: Vec<Document>,
    /// Hashes of the keys of both.
    hashes: FxHashSet<u64>,
    bytes: usize,
}

impl Batch {
    /// Returns whether a change of a key with this hash must wait for the next batch.
    fn is_full_for(&self, hash: u64) -> bool {
        self.hashes.len() >= DOCUMENTS_MAX || self.bytes >= BYTES_MAX || self.hashes.contains(&hash)
    }

    /// Deletes the current document of a key.
    fn delete(&mut self, hash: u64, url_key: String) {
        self.deleted(hash, url_key).current = true;
    }

    /// Deletes past documents of a key.
    fn delete_past(&mut self, hash: u64, url_key: String, gone: PastToDelete) {
        self.deleted(hash, url_key).past = gone;
    }

    fn deleted(&mut self, hash: u64, url_key: String) -> &mut KeyDocuments {
        self.hashes.insert(hash);
        let bytes = &mut self.bytes;
        self.deleted.entry(hash).or_insert_with(|| {
            *bytes += url_key.len();
            KeyDocuments {
                url_key,
                current: false,
                past: PastToDelete::Since(Vec::new()),
            }
        })
    }

    fn add(&mut self, hash: u64, document: Document) {
        self.bytes += bytes_of(&document);
        self.hashes.insert(hash);
        self.added.push(document);
    }
}

/// The known state of the index before an epoch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PriorState {
    /// Exactly the state that the changes follow: no inserted key has a document.
    Exact,
    /// Like `Exact`, and empty.
    Empty,
    /// Some of these changes may already be in the index.
    Unknown,
}

impl Shared {
    /// Applies an epoch. `since` is the epoch that the changes follow, if known. `is_whole` says
    /// that no changes are missing.
    pub(super) fn apply(
        &self,
        since: Option<u64>,
        epoch: u64,
        is_whole: bool,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), ApplyError> {
        let mut state = self.state.lock();
        // Report a failure first: epochs before this one are lost, and applying this one would
        // leave a gap.
        self.report(&mut state)?;
        // Must come before the epochs are compared: opening the writer may find that a commit
        // succeeded after all.
        if let Err(error) = self.writer(&mut state).map(drop) {
            return Err(self.fail(&mut state, error));
        }
        let settles = is_whole && epoch == state.applied && state.settled < epoch;
        if epoch <= state.applied && !settles {
            return Ok(());
        }
        let before = match since {
            Some(since) if since != state.applied => PriorState::Unknown,
            Some(0) => PriorState::Empty,
            Some(_) => PriorState::Exact,
            None => PriorState::Unknown,
        };
        if let Err(error) = self.write_all(&mut state, before, changes) {
            return Err(self.fail(&mut state, error));
        }
        let now = system::now();
        if now.saturating_duration_since(state.applied_at) > PAUSE_MIN {
            state.busy_since = now;
        }
        state.applied_at = now;
        state.applied = epoch;
        if is_whole {
            state.settled = epoch;
        }
        self.changed.notify_all();
        Ok(())
    }

    /// Replaces all documents with those of `pages`, to be committed together.
    pub(super) fn replace_all(
        &self,
        state: &mut State,
        pages: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), ApplyError> {
        let replaced = self.writer(state).and_then(|writer| writer.delete_each());
        let written = replaced.and_then(|()| {
            // Buckets start in a new log, which the commit refers to.
            state.bucket_changes.clear();
            state.unpublished_buckets.clear();
            state.log = state.log.next();
            state.view_follows = false;
            self.write_all(state, PriorState::Empty, pages)
        });
        written.map_err(|error| self.fail(state, error))
    }

    fn write_all(
        &self,
        state: &mut State,
        before: PriorState,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> tantivy::Result<()> {
        let mut batch = Batch::default();
        for change in changes {
            let hash = hash(change.url_key());
            if batch.is_full_for(hash) {
                self.write(state, std::mem::take(&mut batch))?;
            }
            let change = match change {
                Change::Past {
                    url_key,
                    current,
                    past_to_delete: gone,
                    put,
                } => {
                    if before != PriorState::Empty || state.documents_waiting > 0 {
                        batch.delete_past(hash, url_key, replaced(gone, &put));
                    }
                    for document in put {
                        batch.add(hash, document);
                    }
                    *current
                }
                change => change,
            };
            match change {
                Change::Insert(document) if before != PriorState::Unknown => {
                    // A page without in-links needs no bucket, unless an earlier page of this key
                    // had one.
                    if document.inlink_bucket > 0 || state.bucket_changes.contains_key(&hash) {
                        state.bucket_changes.insert(hash, document.inlink_bucket);
                    }
                    batch.add(hash, *document);
                }
                Change::Insert(document) | Change::Upsert(document) => {
                    state.bucket_changes.insert(hash, document.inlink_bucket);
                    batch.delete(hash, document.url_key.clone());
                    batch.add(hash, *document);
                }
                // Changes from the beginning of history also delete keys that have no page.
                Change::Delete(_) if before == PriorState::Empty && state.documents_waiting == 0 => {}
                Change::Delete(url_key) => {
                    state.bucket_changes.insert(hash, 0);
                    batch.delete(hash, url_key);
                }
                // An empty index has no bucket that this could replace.
                Change::Bucket(_, 0)
                    if before == PriorState::Empty && !state.bucket_changes.contains_key(&hash) => {}
                Change::Bucket(_, bucket) => {
                    state.bucket_changes.insert(hash, bucket);
                }
                // A `Past` change never contains another one.
                Change::Past { .. } => {}
            }
        }
        self.write(state, batch)
    }

    fn write(&self, state: &mut State, batch: Batch) -> tantivy::Result<()> {
        state.documents_waiting += batch.hashes.len() as u64;
        self.added.fetch_add(batch.added.len() as u64, Relaxed);
        let writer = self.writer(state)?;
        if !batch.deleted.is_empty() {
            // tantivy has no upsert. A deletion applies to documents added before it, so it must
            // precede the addition.
            writer.delete(DeleteQuery::new(batch.deleted))?;
        }
        for document in batch.added {
            let queued = self.queued(writer, &document)?;
            writer.add(queued)?;
        }
        Ok(())
    }

    /// Encodes the document once there is room for it in the queue.
    fn queued(
        &self,
        writer: &crate::index::writer::Writer,
        document: &Document,
    ) -> tantivy::Result<QueuedDocument> {
        let bytes = bytes_of(document);
        loop {
            if let Some(permit) = self.budget.acquire(bytes, PROBE_INTERVAL) {
                let document = self.fields.encode(document);
                return Ok(QueuedDocument {
                    document,
                    _permit: permit,
                });
            }
            // An indexing thread that failed (full disk) frees no room until the writer is dropped,
            // and only an operation reports the failure.
            writer.probe(self.fields.absent_term())?;
        }
    }
}

/// Returns the past versions to delete if some are deleted and others are put in place.
fn replaced(gone: PastToDelete, put: &[Document]) -> PastToDelete {
    match gone {
        PastToDelete::All => PastToDelete::All,
        PastToDelete::Since(mut times) => {
            times.extend(put.iter().map(|document| document.version.since_ms));
            PastToDelete::Since(times)
        }
    }
}

/// Estimates the memory of a document: its texts, and 1 KiB for its row, its filter terms and
/// tantivy's own fields.
fn bytes_of(document: &Document) -> usize {
    let anchors = document.anchors.iter();
    let anchors = anchors.map(|anchor| anchor.text.len() * usize::from(anchor.weight));
    document.text.len() + document.title.len() + document.url.len() + anchors.sum::<usize>() + 1024
}
