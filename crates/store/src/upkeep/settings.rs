//! Settings of replica upkeep. Every value has a default that suits a laptop and a server, with its
//! reason.

use std::time::Duration;

/// 30 days between full reads of the store. Bit rot in one copy is found long before it is likely
/// to affect the other, and even a 10 TB disk needs only 4 MB/s for it.
const SCRUB_EVERY: Duration = Duration::from_hours(30 * 24);

/// 32 MiB/s: a quarter of the sequential read speed of one plain disk, so that a pass goes
/// unnoticed and still finishes in time (80 TB in 30 days).
const SCRUB_BYTES_PER_S: u64 = 32 << 20;

/// 64 MiB/s of copies for layout changes: half of a 1 Gbit/s link.
const REBALANCE_BYTES_PER_S: u64 = 64 << 20;

/// Ten minutes: longer than a restart, a kernel update or a pulled cable. Copying a disk takes
/// hours.
const UNREACHABLE_GRACE: Duration = Duration::from_mins(10);

/// A day: longer than any upload, clock skew or frozen process that could still deliver a version
/// older than a tombstone.
const TOMBSTONE_GRACE: Duration = Duration::from_hours(24);

/// Settings of the upkeep module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpkeepSettings {
    /// Time from the start of one scrub of a volume to the start of the next.
    pub scrub_every: Duration,
    /// Most bytes per second that a volume's scrub reads. The limit applies between objects: a
    /// single object is read at full speed.
    pub scrub_bytes_per_s: u64,
    /// Scrub and rebalance wait while more requests than this are in flight on the node.
    pub busy_requests: usize,
    /// How often a scrub or rebalance that waits for the load to fall checks again.
    pub busy_wait: Duration,
    /// Time between whole passes that compare surveys. Content is read only if something is wrong.
    pub reconcile_every: Duration,
    /// Most bytes copied per second for layout changes and hand-offs. Repairs are not limited,
    /// because they restore safety.
    pub rebalance_bytes_per_s: u64,
    /// How long a volume may be away before its copies are replaced on others.
    pub unreachable_grace: Duration,
    /// Age from which a tombstone that every volume knows may be removed.
    pub tombstone_grace: Duration,
    /// How often volumes and nodes are asked for their state.
    pub watch_every: Duration,
    /// A volume that does not answer within this time counts as unreachable.
    pub answer_within: Duration,
    /// First wait before a failed repair is retried; doubled each time.
    pub retry_after: Duration,
    /// Longest such wait.
    pub retry_after_max: Duration,
    /// Most keys waiting for repair. A pass over the partition finds the keys that do not fit.
    pub queue_keys_max: usize,
    /// Keys repaired at once.
    pub repairs_at_once: usize,
    /// Time between searches for unfinished uploads.
    pub expire_every: Duration,
    /// Age from which an unfinished multipart upload is aborted.
    pub upload_age_max: Duration,
    /// Time between whole censuses for the Store page. One node makes them for the cluster.
    pub census_every: Duration,
}

impl Default for UpkeepSettings {
    fn default() -> Self {
        Self {
            scrub_every: SCRUB_EVERY,
            scrub_bytes_per_s: SCRUB_BYTES_PER_S,
            // One disk serves about this many readers before its queue grows.
            busy_requests: 16,
            busy_wait: Duration::from_millis(500),
            // A survey reads directories and an index but no content, so once an hour costs almost
            // nothing.
            reconcile_every: Duration::from_hours(1),
            rebalance_bytes_per_s: REBALANCE_BYTES_PER_S,
            unreachable_grace: UNREACHABLE_GRACE,
            tombstone_grace: TOMBSTONE_GRACE,
            watch_every: Duration::from_secs(10),
            // Well above the slowest disk's answer, well below a user's patience.
            answer_within: Duration::from_secs(30),
            retry_after: Duration::from_secs(5),
            retry_after_max: Duration::from_mins(10),
            // About 20 MB of keys.
            queue_keys_max: 100_000,
            // Streams for two volumes; more would only make the disks seek.
            repairs_at_once: 4,
            expire_every: Duration::from_hours(1),
            // As long as S3 users expect an unfinished upload to be kept.
            upload_age_max: Duration::from_hours(7 * 24),
            census_every: Duration::from_hours(24),
        }
    }
}
