//! The one who writes: documents in, commits out.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tantivy::directory::MmapDirectory;
use tantivy::directory::error::LockError;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, UserOperation};
use tantivy::query::AllQuery;
use tantivy::{Index, IndexWriter, TantivyError, Term};

use crate::bucket_log::LogEnd;
use crate::crash;
use crate::fence::{Fence, Fenced};
use crate::keys::Keys;
use crate::queue::Queued;
use crate::schema;
use crate::settings::Settings;

/// Share of deleted documents in a segment beyond which it is rewritten without them.
const DELETED_RATIO_MAX: f32 = 0.2;

/// tantivy's own lower bound for a thread.
const THREAD_MEMORY_BYTES_MIN: usize = 15_000_000;

/// How long the index's lock is waited for: a process that was forked from this one holds the lock of an index that
/// was closed meanwhile, until it executes its own program.
const LOCK_TIME_MAX: Duration = Duration::from_secs(1);

/// Time between two tries.
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// The payload of a commit.
#[derive(Serialize, Deserialize)]
pub(crate) struct Covered {
    pub(crate) format: u32,
    pub(crate) epoch: u64,
    /// Up to here nothing is owed; at most `epoch`.
    pub(crate) settled: u64,
    /// The log of in-link buckets as of this epoch.
    #[serde(default)]
    pub(crate) buckets: LogEnd,
}

impl Covered {
    /// Of the last commit; of an empty index before the first.
    pub(crate) fn by(index: &Index) -> tantivy::Result<Covered> {
        let payload = index.load_metas()?.payload;
        let covered = payload.and_then(|text| serde_json::from_str(&text).ok());
        Ok(covered.unwrap_or(Covered {
            format: schema::FORMAT,
            epoch: 0,
            settled: 0,
            buckets: LogEnd::default(),
        }))
    }
}

/// tantivy's writer behind a fence.
pub(crate) struct Writer {
    /// Dropped before `writer`: closed before the writer is let go.
    fence: Fence,
    writer: IndexWriter<Queued>,
}

impl Writer {
    /// Opens at the last commit. There must be an index, and no document with the term `nobody`.
    pub(crate) fn open(dir: &Path, settings: &Settings, nobody: Term) -> tantivy::Result<Writer> {
        let (directory, fence) = Fenced::new(MmapDirectory::open(dir)?);
        let index = schema::with_tokenizer(Index::open(directory)?);
        let threads = settings.threads.clamp(1, 8);
        let memory = (settings.writer_memory_bytes / threads).max(THREAD_MEMORY_BYTES_MIN);
        let options = IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread(memory)
            // One merge at a time: a second would take a core from the load.
            .num_merge_threads(1)
            .build();
        let deadline = system::now() + LOCK_TIME_MAX;
        let writer: IndexWriter<Queued> = loop {
            match index.writer_with_options(options.clone()) {
                Err(TantivyError::LockFailure(LockError::LockBusy, _)) if system::now() < deadline => {
                    system::pause(LOCK_INTERVAL);
                }
                opened => break opened?,
            }
        };
        let mut policy = LogMergePolicy::default();
        // By default deleted documents never cause a merge and so are never purged from a large segment.
        policy.set_del_docs_ratio_before_merge(DELETED_RATIO_MAX);
        writer.set_merge_policy(Box::new(policy));
        // A file of deletions is named by segment and operation number, and numbers begin again at the
        // last commit: one left by a process killed in a commit would stand in the way of the next.
        writer.garbage_collect_files().wait()?;
        // The first operation has the number of the last commit. A merge that begins before the next
        // commit takes segments with deletions of that number for up to date and others not, and goes on
        // as if the operation were done with for all: a document would come back. So the first deletes
        // nothing.
        writer.delete_term(nobody);
        Ok(Writer { fence, writer })
    }

    /// Deletes the documents of keys that were added before.
    pub(crate) fn delete(&self, keys: Keys) -> tantivy::Result<()> {
        self.writer.delete_query(Box::new(keys)).map(drop)
    }

    pub(crate) fn add(&self, document: Queued) -> tantivy::Result<()> {
        self.writer.add_document(document).map(drop)
    }

    /// Whether the indexing threads live: only an operation tells.
    pub(crate) fn probe(&self, nobody: Term) -> tantivy::Result<()> {
        self.writer.run([UserOperation::Delete(nobody)]).map(drop)
    }

    pub(crate) fn delete_all(&self) -> tantivy::Result<()> {
        self.writer.delete_all_documents().map(drop)
    }

    /// Deletes each document that was added before; unlike [`Writer::delete_all`], segments of the last commit stay whole until the
    /// next one, so that documents may follow for as long as they take.
    pub(crate) fn delete_each(&self) -> tantivy::Result<()> {
        self.writer.delete_query(Box::new(AllQuery)).map(drop)
    }

    /// Makes everything before durable, together with what it covers: the log of buckets is durable already.
    pub(crate) fn commit(&mut self, covered: &Covered) -> tantivy::Result<()> {
        // The epoch travels in the commit's own payload, so that no crash can part the two.
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

    /// Removes files that no commit names.
    pub(crate) fn sweep(&self) {
        // Not waited for: what is left over is found again by the next sweep.
        drop(self.writer.garbage_collect_files());
    }

    /// Waits until no merge is running or due, and ends.
    pub(crate) fn wait_for_merges(self) -> tantivy::Result<()> {
        let Writer { fence, writer } = self;
        let waited = writer.wait_merging_threads();
        // After the merges, which must still name their segments.
        drop(fence);
        waited
    }
}
