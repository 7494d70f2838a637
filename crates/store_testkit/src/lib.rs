//! Test doubles: volumes in memory with switchable faults, clusters of them in one process, the
//! network between their nodes, and a linearizability checker for histories.
//!
//! Used only by tests. A rig connects production crates that do not depend on each other.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![expect(missing_docs, reason = "test doubles of documented traits")]

mod dice;
pub mod linear;
pub mod memory;
pub mod net;
pub mod rig;

pub use dice::Dice;
pub use memory::{FaultMode, MemoryVolume, Step, table};
pub use rig::Rig;
