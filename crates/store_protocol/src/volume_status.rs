//! The status of a volume.

use placement::VolumeId;
use serde::{Deserialize, Serialize};

/// The status of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeStatus {
    /// Its name.
    pub id: VolumeId,
    /// Directory on its node.
    pub path: String,
    /// Its state.
    pub state: VolumeState,
    /// Size of its file system.
    pub capacity_bytes: u64,
    /// Space for content on its file system: the free space less a reserve.
    pub free_bytes: u64,
    /// Live replicas held.
    pub replicas: u64,
    /// Bytes of content in these replicas.
    pub replica_bytes: u64,
    /// Tombstones held.
    pub tombstones: u64,
    /// Replicas marked bad.
    pub bad: u64,
    /// Uploads in progress.
    #[serde(rename = "staged")]
    pub uploads: u64,
}

/// The state of service of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeState {
    /// In service for reads and writes.
    InService,
    /// The volume was found empty and has started again. "Not found" means "not known" until repair
    /// has processed all of it.
    Rebuilding,
    /// Neither read nor written, with the reason: a failed sync, an unreadable directory.
    Out(String),
}
