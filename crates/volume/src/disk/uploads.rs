//! The table of uploads in progress. It does not access files.
//!
//! An upload is registered from its first byte until it is committed, aborted, or idle for an hour.
//! An upload prepared for a write does not expire, because its decider may count on it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use store_protocol::{BlockTable, Key, Meta, Pending, Purpose, UploadId, Version};

use crate::io::DiskFile;

/// An upload is discarded after this long without activity. Clients time out within minutes.
const IDLE_MAX: Duration = Duration::from_secs(60 * 60);

/// Number of finished uploads remembered for callers that retry because an answer was lost. Callers
/// retry within seconds, and at a thousand writes per second these entries last for four. If one
/// were forgotten too early, a successful commit would be reported as missing. Each costs 16 bytes.
const COMMITTED_KEPT: usize = 4096;

/// The uploads of a volume.
#[derive(Default)]
pub(super) struct Uploads(Mutex<UploadTable>);

#[derive(Default)]
struct UploadTable {
    uploads: BTreeMap<UploadId, Upload>,
    /// Uploads prepared for a write and not committed yet, including those being committed.
    pending: BTreeMap<(Key, UploadId), Meta>,
    committed: VecDeque<UploadId>,
}

struct Upload {
    progress: Progress,
    touched: Instant,
}

impl UploadTable {
    /// Ends an upload that was committed or superseded by a later one: only its id is kept.
    fn end(&mut self, upload: UploadId) {
        self.uploads.remove(&upload);
        self.pending.retain(|(_, pending), _| *pending != upload);
        self.committed.push_back(upload);
        if self.committed.len() > COMMITTED_KEPT {
            self.committed.pop_front();
        }
        debug_assert!(
            self.pending
                .keys()
                .all(|(_, pending)| self.uploads.contains_key(pending)),
            "versions of ended uploads are still pending: {:?}",
            self.pending.keys()
        );
    }
}

impl Upload {
    fn is_prepared(&self) -> bool {
        matches!(self.progress, Progress::Prepared(_))
    }
}

/// The progress of an upload.
pub(super) enum Progress {
    /// Content is being received, or the file is being completed or moved.
    Busy,
    Received(Received),
    Prepared(Prepared),
}

/// Fully received content.
pub(super) struct Received {
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) table: BlockTable,
    pub(super) size: u64,
    pub(super) blake3: [u8; 32],
}

/// A whole replica under a temporary name, synced.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) meta: Meta,
    pub(super) file_bytes: u64,
    pub(super) purpose: Purpose,
}

impl Uploads {
    /// Returns the present number of uploads.
    pub(super) fn count(&self) -> u64 {
        self.0.lock().uploads.len() as u64
    }

    pub(super) fn set(&self, upload: UploadId, progress: Progress) {
        let touched = system::now();
        let mut known = self.0.lock();
        if let Progress::Prepared(Prepared {
            meta,
            purpose: Purpose::Write,
            ..
        }) = &progress
        {
            known.pending.insert((meta.key.clone(), upload), meta.clone());
        }
        known.uploads.insert(upload, Upload { progress, touched });
    }

    /// Returns the newest version of a key that is prepared for a write.
    pub(super) fn pending(&self, key: &Key) -> Option<Pending> {
        let known = self.0.lock();
        let of_key = known
            .pending
            .range((key.clone(), UploadId(0))..=(key.clone(), UploadId(u128::MAX)));
        let (newest, meta) = of_key.max_by_key(|(_, meta)| meta.version)?;
        Some(Pending {
            upload: newest.1,
            meta: meta.clone(),
        })
    }

    /// Removes and returns the prepared uploads of a key that are older than a committed version.
    /// They count as committed from then on: a late commit of one returns `Ok`, as if the two had
    /// come in order. An upload that is being committed stays, and detects itself that it is too
    /// old.
    pub(super) fn supersede(&self, key: &Key, version: Version) -> Vec<UploadId> {
        let mut known = self.0.lock();
        let of_key = known
            .pending
            .range((key.clone(), UploadId(0))..=(key.clone(), UploadId(u128::MAX)));
        let older = of_key.filter(|(_, meta)| meta.version < version);
        let mut uploads: Vec<_> = older.map(|((_, upload), _)| *upload).collect();
        uploads.retain(|upload| known.uploads.get(upload).is_some_and(Upload::is_prepared));
        for upload in &uploads {
            known.end(*upload);
        }
        uploads
    }

    /// Returns the keys with this prefix that have pending uploads.
    pub(super) fn unsettled(&self, prefix: &str) -> Vec<Key> {
        let known = self.0.lock();
        let keys = known.pending.keys().map(|(key, _)| key);
        let mut keys: Vec<_> = keys
            .filter(|key| key.as_str().starts_with(prefix))
            .cloned()
            .collect();
        // Keys are sorted, so equal ones are adjacent.
        keys.dedup();
        keys
    }

    /// Reserves an upload id; returns false if it is taken.
    pub(super) fn reserve(&self, upload: UploadId) -> bool {
        let mut known = self.0.lock();
        if known.uploads.contains_key(&upload) {
            return false;
        }
        let (progress, touched) = (Progress::Busy, system::now());
        known.uploads.insert(upload, Upload { progress, touched });
        true
    }

    /// Takes the progress of an upload and leaves it busy.
    pub(super) fn take(&self, upload: UploadId) -> Option<Progress> {
        let mut known = self.0.lock();
        let entry = known.uploads.get_mut(&upload)?;
        entry.touched = system::now();
        Some(std::mem::replace(&mut entry.progress, Progress::Busy))
    }

    /// Returns the length of the content of a received upload, in bytes.
    pub(super) fn size(&self, upload: UploadId) -> Option<u64> {
        match &self.0.lock().uploads.get(&upload)?.progress {
            Progress::Busy => None,
            Progress::Received(received) => Some(received.size),
            Progress::Prepared(prepared) => Some(prepared.meta.size),
        }
    }

    /// Records activity of an upload.
    pub(super) fn touch(&self, upload: UploadId) {
        if let Some(entry) = self.0.lock().uploads.get_mut(&upload) {
            entry.touched = system::now();
        }
    }

    pub(super) fn forget(&self, upload: UploadId) {
        let mut known = self.0.lock();
        known.uploads.remove(&upload);
        known.pending.retain(|(_, pending), _| *pending != upload);
    }

    /// Removes a committed upload; its id is remembered.
    pub(super) fn committed(&self, upload: UploadId) {
        self.0.lock().end(upload);
    }

    /// Returns whether an upload was committed recently.
    pub(super) fn was_committed(&self, upload: UploadId) -> bool {
        self.0.lock().committed.contains(&upload)
    }

    /// Returns the uploads that no thread works on and that had no activity for [`IDLE_MAX`].
    pub(super) fn idle(&self, now: Instant) -> Vec<UploadId> {
        let known = self.0.lock();
        let is_ours = |progress: &Progress| match progress {
            Progress::Busy => false,
            Progress::Received(_) => true,
            Progress::Prepared(prepared) => prepared.purpose == Purpose::Copy,
        };
        let idle = |entry: &Upload| {
            is_ours(&entry.progress) && now.saturating_duration_since(entry.touched) >= IDLE_MAX
        };
        let found = known.uploads.iter().filter(|(_, entry)| idle(entry));
        found.map(|(upload, _)| *upload).collect()
    }
}
