//! What a background worker of a node says of itself.

use serde::{Deserialize, Serialize};

/// What a background worker is doing. The command line, the Store page and the metrics show all workers alike.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// `scrub NODE/VOLUME`, `repair`, `rebalance`, ...
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
