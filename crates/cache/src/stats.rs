//! Statistics of a tier.

use serde::{Deserialize, Serialize};

use crate::counts::UserStats;
use crate::directory::DirectoryStats;
use crate::ghost::Advice;
use crate::memory::MemoryStats;

/// All statistics of a tier.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stats {
    /// Seconds for which a store's answer about an object is trusted.
    pub revalidate_seconds: u64,
    /// The memory tier.
    pub memory: MemoryStats,
    /// The disk tier, fastest directory first.
    pub directories: Vec<DirectoryStats>,
    /// How much each user has read, and from where.
    pub users: Vec<UserRow>,
    /// Measured speeds of the stores.
    pub stores: Vec<StoreRow>,
    /// Prefixes pinned by command.
    pub pins: Vec<String>,
}

/// The reads of one user.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UserRow {
    /// Name of the user.
    pub user: String,
    /// Counters of its reads.
    #[serde(flatten)]
    pub stats: UserStats,
}

impl UserRow {
    /// Returns the share of bytes that were not fetched from the store for this reader; `None` if
    /// no bytes were read.
    pub fn hit_rate(&self) -> Option<f64> {
        let UserStats {
            memory_bytes,
            disk_bytes,
            joined_bytes,
            fetched_bytes,
            ..
        } = self.stats;
        let hits = memory_bytes + disk_bytes + joined_bytes;
        let all = hits + fetched_bytes;
        (all > 0).then(|| hits as f64 / all as f64)
    }
}

/// The measured speed of a store.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoreRow {
    /// Address of the store.
    pub root: String,
    /// Microseconds per MiB; `None` until there are enough measurements.
    pub us_per_mib: Option<u64>,
}

/// Statistics of a program, as stored in a directory.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProgramStats {
    /// Name of the program.
    pub program: String,
    /// When they were written, in milliseconds since 1970.
    pub at_ms: u64,
    /// Statistics of its tier.
    pub stats: Stats,
    /// Estimates for other cache sizes.
    pub advice: Vec<Advice>,
}
