//! Statistics of a directory.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::DirectoryTier;
use super::index::Object;
use crate::counts::DirectoryEvents;
use crate::layout::ObjectInfo;

/// Contents and counters of a directory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DirectoryStats {
    /// Path of the directory.
    pub path: String,
    /// Its quota in bytes.
    pub quota_bytes: u64,
    /// Present capacity in bytes: less than the quota if the disk is full.
    pub capacity_bytes: u64,
    /// Bytes used on the disk.
    pub used_bytes: u64,
    /// Bytes of pinned blocks among them.
    pub pinned_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of objects with blocks.
    pub objects: u64,
    /// Bytes queued for writing.
    pub waiting_bytes: u64,
    /// Whether another process owns the directory and decides which blocks to evict.
    pub is_guest: bool,
    /// Why the disk is suspended, if it is.
    pub off: Option<String>,
    /// Measured microseconds per MiB read; `None` until there are enough measurements.
    pub read_us_per_mib: Option<u64>,
    /// Measured microseconds per MiB written.
    pub write_us_per_mib: Option<u64>,
    /// Counters since the process started.
    pub events: DirectoryEvents,
}

/// An object with blocks in the directory.
#[derive(Debug, Clone)]
pub(crate) struct IndexedObject {
    pub(crate) info: Arc<ObjectInfo>,
    pub(crate) bytes: u64,
    pub(crate) is_pinned: bool,
}

impl DirectoryTier {
    pub(crate) fn stats(&self) -> DirectoryStats {
        let off = self.device.off().map(str::to_owned);
        let state = self.state.lock();
        let whole = |us: Option<f64>| us.map(|us| us as u64);
        DirectoryStats {
            path: self.layout.root().display().to_string(),
            quota_bytes: self.quota,
            capacity_bytes: state.ring.capacity(),
            used_bytes: state.ring.used(),
            pinned_bytes: state.ring.pinned(),
            blocks: state.ring.len() as u64,
            objects: state.objects.len() as u64,
            waiting_bytes: state.waiting_bytes,
            is_guest: self.layout.is_guest(),
            off,
            read_us_per_mib: whole(self.device.reads.us_per_mib()),
            write_us_per_mib: whole(self.device.writes.us_per_mib()),
            events: self.counts.snapshot(),
        }
    }

    /// Returns the objects with blocks in the directory.
    pub(crate) fn objects(&self) -> Vec<IndexedObject> {
        let state = self.state.lock();
        let kept = |object: &Object| IndexedObject {
            info: object.info.clone(),
            bytes: object.bytes,
            is_pinned: object.is_pinned,
        };
        state.objects.values().map(kept).collect()
    }
}
