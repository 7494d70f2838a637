//! Keeps replicas whole: census, repair, scrub, rebalance.
//!
//! Everything uses one routine, [`reconcile`]: gather what all volumes hold of a partition, decide
//! with a pure function, carry out the steps. A census counts the findings, and a repair carries
//! out the steps for the whole store. The background [`Workers`] of a node do so a little at a
//! time: after findings of [`scrub`] and readers, after layout changes, and when volumes go or
//! return.
//!
//! Invariants:
//!  - a copy is made only from bytes that were compared, block by block, with the object's digest;
//!  - nothing is dropped before all R volumes of its partition were verified to hold the newest
//!    version, while every volume in force answered;
//!  - the newest version decides: if it has no good copy, the object is reported as lost and every
//!    remnant is kept;
//!  - every step may be repeated or interrupted anywhere; the next pass continues from there.

mod census;
mod fixity;
mod gate;
mod moved;
mod queue;
mod rebuild;
pub mod reconcile;
mod repair;
mod scrub;
mod settings;
#[cfg(test)]
mod tests;
mod throttle;
mod workers;

pub use census::{Census, census};
pub use fixity::{ObjectDigests, digests, fixity, right_replicas};
pub use gate::Load;
pub use queue::RepairQueue;
pub use repair::{RepairOptions, RepairReport, repair_all};
pub use scrub::{ScrubFiles, ScrubReport, ScrubState, scrub_all};
pub use settings::UpkeepSettings;
pub use workers::{Workers, WorkersConfig};

/// Progress of a pass over the store, for display.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Partitions (for a scrub: replicas) done.
    pub done: u64,
    /// Total of `done`; 0 if not known yet.
    pub total: u64,
    /// Objects seen.
    pub objects: u64,
    /// Bytes copied or verified.
    pub bytes: u64,
    /// Bad or missing replicas found.
    pub found: u64,
}
