//! Doubles for tests: volumes in memory with faults that can be switched, clusters of them in one process, the ways
//! between their nodes, and a check of histories against a register.
//!
//! Used by tests alone. What the production crates do not know of each other, a rig joins.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![expect(
    missing_docs,
    reason = "doubles of documented traits, for tests that read as sentences"
)]

mod dice;
pub mod linear;
pub mod memory;
pub mod net;
pub mod rig;

pub use dice::Dice;
pub use memory::{MemoryVolume, Mood, Step, table};
pub use rig::Rig;
