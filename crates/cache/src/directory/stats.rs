//! What a directory tells of itself.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::DirectoryTier;
use super::index::Object;
use crate::counts::DirectoryEvents;
use crate::layout::ObjectInfo;

/// What a directory has, and what it has done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DirectoryStats {
    /// Where it is.
    pub path: String,
    /// Bytes it may use.
    pub quota_bytes: u64,
    /// Bytes it may use now: fewer than the quota if the disk is full.
    pub capacity_bytes: u64,
    /// Bytes it uses on the disk.
    pub used_bytes: u64,
    /// Of these, what is pinned.
    pub pinned_bytes: u64,
    /// Blocks that are there.
    pub blocks: u64,
    /// Objects of which blocks are there.
    pub objects: u64,
    /// Bytes that wait to be written.
    pub waiting_bytes: u64,
    /// Whether another process writes here, so that this one only reads.
    pub is_guest: bool,
    /// Why the disk is left alone now, if it is.
    pub off: Option<String>,
    /// Microseconds for a MiB, as measured; `None` until enough was.
    pub read_us_per_mib: Option<u64>,
    /// The same for writes.
    pub write_us_per_mib: Option<u64>,
    /// What happened.
    pub events: DirectoryEvents,
}

/// An object of which something is kept.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
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
            events: self.counts.shown(),
        }
    }

    /// Objects of which something is here.
    pub(crate) fn objects(&self) -> Vec<Kept> {
        let state = self.state.lock();
        let kept = |object: &Object| Kept {
            info: object.info.clone(),
            bytes: object.bytes,
            is_pinned: object.is_pinned,
        };
        state.objects.values().map(kept).collect()
    }
}
