//! How a volume is doing.

use placement::VolumeId;
use serde::{Deserialize, Serialize};

/// How a volume is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeStatus {
    /// Its name.
    pub id: VolumeId,
    /// Directory on its node.
    pub path: String,
    /// In service or not.
    pub state: VolumeState,
    /// Size of its file system.
    pub capacity_bytes: u64,
    /// Room for content on its file system: what is free, less a reserve.
    pub free_bytes: u64,
    /// Live replicas held.
    pub replicas: u64,
    /// Bytes of content in them.
    pub replica_bytes: u64,
    /// Tombstones held.
    pub tombstones: u64,
    /// Replicas marked bad.
    pub bad: u64,
    /// Uploads under way at this moment.
    #[serde(rename = "staged")]
    pub uploads: u64,
}

/// Whether a volume takes part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeState {
    /// Reads and writes.
    InService,
    /// It was found empty and has started again; "not found" means "not known" until repair has been through
    /// all of it.
    Rebuilding,
    /// Neither read nor written, with the reason: a failed sync, an unreadable directory.
    Out(String),
}
