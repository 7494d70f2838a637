//! What keeps replicas whole: survey, census, repair, scrub, rebalance.

use serde::{Deserialize, Serialize};

/// What a background worker is doing. The command line, the Store page and the metrics show all workers alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// `scrub`, `repair`, `rebalance`, ...
    pub name: String,
    /// `idle`, `busy`, `paused: the node is busy`, `failed: ...`.
    pub state: String,
    /// Items done since the pass began.
    pub done: u64,
    /// Items of the whole pass, if known.
    pub total: Option<u64>,
    /// Bytes read since the start of the process.
    pub bytes: u64,
    /// Bad or missing things found since the start.
    pub found: u64,
    /// Of these, put right.
    pub repaired: u64,
    /// End of the last whole pass, milliseconds since 1970.
    pub last_pass_ms: Option<u64>,
    /// The last failure, empty if there was none.
    pub last_error: String,
}

/// Counts over the whole store: both directions, objects without files and files without objects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Census {
    /// When it ended, milliseconds since 1970.
    pub time_ms: u64,
    /// Number of the layout counted against.
    pub layout: u64,
    /// Live objects (newest version is no tombstone).
    pub objects: u64,
    /// Content bytes of these, once each.
    pub object_bytes: u64,
    /// Replicas that must be there: objects and tombstones times R.
    pub replicas_expected: u64,
    /// Of these, there and not known bad.
    pub replicas_good: u64,
    /// There but bad.
    pub replicas_bad: u64,
    /// Not there (or on a volume that cannot be reached: see `volumes_unreachable`).
    pub replicas_missing: u64,
    /// Good copies on volumes of no current partition: hand-offs and moves not finished, older versions.
    pub replicas_surplus: u64,
    /// Objects of which no good replica was found anywhere: lost unless a missing volume comes back.
    pub objects_lost: u64,
    /// Their keys, the first hundred.
    pub lost: Vec<String>,
    /// Tombstones.
    pub tombstones: u64,
    /// Files that are no replicas.
    pub strays: u64,
    /// Volumes that did not answer.
    pub volumes_unreachable: Vec<String>,
    /// Live replicas by volume.
    pub by_volume: Vec<(String, u64)>,
}

impl Census {
    /// Everything there, nothing bad, missing, lost or stray, every volume counted.
    pub fn is_whole(&self) -> bool {
        self.replicas_good == self.replicas_expected
            && self.replicas_bad + self.replicas_missing + self.objects_lost + self.strays == 0
            && self.volumes_unreachable.is_empty()
    }
}
