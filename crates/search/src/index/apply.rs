//! Applies epochs: documents go to the writer in batches, buckets to the log.

use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::shared::{Shared, State};
use crate::document::{Change, Document, Gone};
use crate::error::ApplyError;
use crate::keys::{self, Keys, OfKey};
use crate::queue::Queued;

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
struct Portion {
    deleted: FxHashMap<u64, OfKey>,
    added: Vec<Document>,
    /// Hashes of the keys of both.
    hashes: FxHashSet<u64>,
    bytes: usize,
}

impl Portion {
    /// Returns whether a change of a key with this hash must wait for the next batch.
    fn is_full_for(&self, hash: u64) -> bool {
        self.hashes.len() >= DOCUMENTS_MAX || self.bytes >= BYTES_MAX || self.hashes.contains(&hash)
    }

    /// Deletes the current document of a key.
    fn delete(&mut self, hash: u64, url_key: String) {
        self.deleted(hash, url_key).current = true;
    }

    /// Deletes past documents of a key.
    fn delete_past(&mut self, hash: u64, url_key: String, gone: Gone) {
        self.deleted(hash, url_key).past = gone;
    }

    fn deleted(&mut self, hash: u64, url_key: String) -> &mut OfKey {
        self.hashes.insert(hash);
        let bytes = &mut self.bytes;
        self.deleted.entry(hash).or_insert_with(|| {
            *bytes += url_key.len();
            OfKey {
                url_key,
                current: false,
                past: Gone::Since(Vec::new()),
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
enum Before {
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
            Some(since) if since != state.applied => Before::Unknown,
            Some(0) => Before::Empty,
            Some(_) => Before::Exact,
            None => Before::Unknown,
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
            state.told.clear();
            state.unseen.clear();
            state.log = state.log.next();
            state.view_follows = false;
            self.write_all(state, Before::Empty, pages)
        });
        written.map_err(|error| self.fail(state, error))
    }

    fn write_all(
        &self,
        state: &mut State,
        before: Before,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> tantivy::Result<()> {
        let mut portion = Portion::default();
        for change in changes {
            let hash = keys::hash(change.url_key());
            if portion.is_full_for(hash) {
                self.write(state, std::mem::take(&mut portion))?;
            }
            let change = match change {
                Change::Past {
                    url_key,
                    current,
                    gone,
                    put,
                } => {
                    if before != Before::Empty || state.documents_waiting > 0 {
                        portion.delete_past(hash, url_key, replaced(gone, &put));
                    }
                    for document in put {
                        portion.add(hash, document);
                    }
                    *current
                }
                change => change,
            };
            match change {
                Change::Insert(document) if before != Before::Unknown => {
                    // A page without in-links needs no bucket, unless an earlier page of this key
                    // had one.
                    if document.inlink_bucket > 0 || state.told.contains_key(&hash) {
                        state.told.insert(hash, document.inlink_bucket);
                    }
                    portion.add(hash, *document);
                }
                Change::Insert(document) | Change::Upsert(document) => {
                    state.told.insert(hash, document.inlink_bucket);
                    portion.delete(hash, document.url_key.clone());
                    portion.add(hash, *document);
                }
                // Changes from the beginning of history also delete keys that have no page.
                Change::Delete(_) if before == Before::Empty && state.documents_waiting == 0 => {}
                Change::Delete(url_key) => {
                    state.told.insert(hash, 0);
                    portion.delete(hash, url_key);
                }
                Change::Bucket(_, bucket) => {
                    state.told.insert(hash, bucket);
                }
                // A `Past` change never contains another one.
                Change::Past { .. } => {}
            }
        }
        self.write(state, portion)
    }

    fn write(&self, state: &mut State, portion: Portion) -> tantivy::Result<()> {
        state.documents_waiting += portion.hashes.len() as u64;
        let writer = self.writer(state)?;
        if !portion.deleted.is_empty() {
            // tantivy has no upsert. A deletion applies to documents added before it, so it must
            // precede the addition.
            writer.delete(Keys::new(portion.deleted))?;
        }
        for document in portion.added {
            let queued = self.queued(writer, &document)?;
            writer.add(queued)?;
        }
        Ok(())
    }

    /// Encodes the document once there is room for it in the queue.
    fn queued(&self, writer: &crate::writer::Writer, document: &Document) -> tantivy::Result<Queued> {
        let bytes = bytes_of(document);
        loop {
            if let Some(permit) = self.budget.acquire(bytes, PROBE_INTERVAL) {
                let document = self.fields.encode(document);
                return Ok(Queued {
                    document,
                    _permit: permit,
                });
            }
            // An indexing thread that failed (full disk) frees no room until the writer is dropped,
            // and only an operation reports the failure.
            writer.probe(self.fields.nobody())?;
        }
    }
}

/// Returns the past versions to delete if some are deleted and others are put in place.
fn replaced(gone: Gone, put: &[Document]) -> Gone {
    match gone {
        Gone::All => Gone::All,
        Gone::Since(mut times) => {
            times.extend(put.iter().map(|document| document.version.since_ms));
            Gone::Since(times)
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
