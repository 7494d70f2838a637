//! The writer of the index: adds documents and commits them.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tantivy::directory::MmapDirectory;
use tantivy::directory::error::LockError;
use tantivy::index::SegmentId;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, UserOperation};
use tantivy::query::AllQuery;
use tantivy::{Index, IndexWriter, TantivyError, Term};

use crate::documents::bucket_log::LogEnd;
use crate::documents::keys::DeleteQuery;
use crate::documents::schema;
use crate::index::crash;
use crate::index::fence::{FencedDirectory, WriteFence};
use crate::index::queue::QueuedDocument;
use crate::settings::Settings;

/// Fraction of deleted documents above which a segment is rewritten without them.
const DELETED_RATIO_MAX: f32 = 0.2;

/// tantivy's own minimum per thread.
const THREAD_MEMORY_BYTES_MIN: usize = 15_000_000;

/// How long to wait for the index's lock. A process forked from this one keeps the lock of an index
/// that was closed in the meantime, until it executes its own program.
const LOCK_TIME_MAX: Duration = Duration::from_secs(1);

/// Interval between attempts.
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// The payload of a commit.
#[derive(Serialize, Deserialize)]
pub(crate) struct CommitPayload {
    pub(crate) format: u32,
    pub(crate) epoch: u64,
    /// Epoch up to which no change is missing; at most `epoch`.
    pub(crate) settled: u64,
    /// The log of in-link buckets as of this epoch.
    #[serde(default)]
    pub(crate) buckets: LogEnd,
}

impl CommitPayload {
    /// Reads the payload of the last commit. Before the first commit, returns that of an empty
    /// index.
    pub(crate) fn read(index: &Index) -> tantivy::Result<CommitPayload> {
        let payload = index.load_metas()?.payload;
        let covered = payload.and_then(|text| serde_json::from_str(&text).ok());
        Ok(covered.unwrap_or(CommitPayload {
            format: schema::FORMAT,
            epoch: 0,
            settled: 0,
            buckets: LogEnd::default(),
        }))
    }
}

/// tantivy's writer behind a fence.
pub(crate) struct Writer {
    /// Declared before `writer`, so that it is dropped, and the directory closed, first.
    fence: WriteFence,
    writer: IndexWriter<QueuedDocument>,
}

impl Writer {
    /// Opens a writer at the last commit. The index must exist, and no document may have the term
    /// `absent_term`.
    pub(crate) fn open(dir: &Path, settings: &Settings, absent_term: Term) -> tantivy::Result<Writer> {
        let (directory, fence) = FencedDirectory::new(MmapDirectory::open(dir)?);
        let index = schema::with_tokenizer(Index::open(directory)?);
        let threads = settings.threads.clamp(1, 8);
        let memory = (settings.writer_memory_bytes / threads).max(THREAD_MEMORY_BYTES_MIN);
        let options = IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread(memory)
            // A second merge thread would take a core from the loader.
            .num_merge_threads(1)
            .build();
        let deadline = system::now() + LOCK_TIME_MAX;
        let writer: IndexWriter<QueuedDocument> = loop {
            match index.writer_with_options(options.clone()) {
                Err(TantivyError::LockFailure(LockError::LockBusy, _)) if system::now() < deadline => {
                    system::pause(LOCK_INTERVAL);
                }
                opened => break opened?,
            }
        };
        let mut policy = LogMergePolicy::default();
        // By default deleted documents never cause a merge, so they are never purged from a large
        // segment.
        policy.set_del_docs_ratio_before_merge(DELETED_RATIO_MAX);
        writer.set_merge_policy(Box::new(policy));
        // A file of deletions is named by segment and operation number, and numbers restart at the
        // last commit. A file left by a process that was killed in a commit would block the next
        // commit.
        writer.garbage_collect_files().wait()?;
        // The first operation has the number of the last commit. A merge that begins before the
        // next commit treats deletions with that number as applied to all its segments, although
        // some lack them, and a deleted document would reappear. So the first operation deletes
        // nothing.
        writer.delete_term(absent_term);
        Ok(Writer { fence, writer })
    }

    /// Deletes the documents of keys that were added before.
    pub(crate) fn delete(&self, keys: DeleteQuery) -> tantivy::Result<()> {
        self.writer.delete_query(Box::new(keys)).map(drop)
    }

    pub(crate) fn add(&self, document: QueuedDocument) -> tantivy::Result<()> {
        self.writer.add_document(document).map(drop)
    }

    /// Returns an error if the indexing threads have failed, which only an operation reports.
    pub(crate) fn probe(&self, absent_term: Term) -> tantivy::Result<()> {
        self.writer.run([UserOperation::Delete(absent_term)]).map(drop)
    }

    pub(crate) fn delete_all(&self) -> tantivy::Result<()> {
        self.writer.delete_all_documents().map(drop)
    }

    /// Deletes each document added before. Unlike [`Writer::delete_all`], it keeps the segments of
    /// the last commit until the next one, so adding the new documents may take any time.
    pub(crate) fn delete_each(&self) -> tantivy::Result<()> {
        self.writer.delete_query(Box::new(AllQuery)).map(drop)
    }

    /// Makes all changes durable together with their epoch. The log of buckets must be durable
    /// already.
    pub(crate) fn commit(&mut self, covered: &CommitPayload) -> tantivy::Result<()> {
        // The epoch is part of the commit's payload, so that no crash can separate the two.
        let payload =
            serde_json::to_string(covered).map_err(|error| TantivyError::InternalError(error.to_string()))?;
        crash::point("search.before_prepare");
        let mut prepared = self.writer.prepare_commit()?;
        prepared.set_payload(&payload);
        crash::point("search.before_commit");
        prepared.commit()?;
        crash::point("search.after_commit");
        Ok(())
    }

    /// Merges segments of the last commit into one, without their deleted documents. The caller has
    /// waited for other merges.
    pub(crate) fn merge(&mut self, segments: &[SegmentId]) -> tantivy::Result<()> {
        self.writer.merge(segments).wait().map(drop)
    }

    /// Removes files that no commit refers to.
    pub(crate) fn sweep(&self) {
        // Does not wait: the next sweep finds the rest.
        drop(self.writer.garbage_collect_files());
    }

    /// Waits until no merge is running or due, and closes the writer.
    pub(crate) fn wait_for_merges(self) -> tantivy::Result<()> {
        let Writer { fence, writer } = self;
        let waited = writer.wait_merging_threads();
        // Must come after the merges, which still publish their segments.
        drop(fence);
        waited
    }
}
