//! The scrub: every replica of a volume re-read against its digests, in order, a little at a time.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Progress;
use crate::cluster::View;
use crate::key::{Key, Partition};
use crate::volume::VolumeId;

/// How far the scrub of a volume has come. Kept on disk, so that a pass goes on after a restart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubState {
    /// When the running or last pass began, milliseconds since 1970; `None` before the first.
    pub started_ms: Option<u64>,
    /// The partition being read; `None` when no pass is running.
    pub partition: Option<Partition>,
    /// The last key verified in it; `None` at its beginning.
    pub after: Option<Key>,
    /// Replicas verified in this pass.
    pub replicas: u64,
    /// Bytes read in this pass.
    pub bytes: u64,
    /// Bad or missing ones found in this pass.
    pub found: u64,
    /// End of the last whole pass.
    pub last_pass_ms: Option<u64>,
}

/// Keeps the scrub states of a node's volumes, one small file each, in a directory of the node's own.
#[derive(Debug, Clone)]
pub struct ScrubFiles {
    dir: PathBuf,
}

impl ScrubFiles {
    /// States in this directory; it is made when first needed.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

/// What a scrub on request found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubReport {
    /// Replicas verified.
    pub replicas: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Bad ones found (now marked, so that a repair replaces them).
    pub bad: u64,
    /// Missing ones found.
    pub missing: u64,
    /// Their volumes, keys and reasons, the first hundred.
    pub details: Vec<String>,
    /// Volumes that could not be read to the end.
    pub volumes_failed: Vec<String>,
}

/// Verifies every replica of the volumes named (of all if none is), at most `bytes_per_s` on each.
pub async fn scrub_all(
    view: &View,
    volumes: &[VolumeId],
    bytes_per_s: Option<u64>,
    progress: &(dyn Fn(Progress) + Sync),
) -> ScrubReport {
    let _ = (view, volumes, bytes_per_s, progress);
    todo!()
}
