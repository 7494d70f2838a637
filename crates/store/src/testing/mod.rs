//! Doubles for tests: volumes in memory with faults that can be switched, and clusters of them.

mod dice;
pub(crate) mod linear;
pub(crate) mod memory;
pub(crate) mod net;
pub(crate) mod rig;

pub(crate) use dice::Dice;
pub(crate) use memory::{MemoryVolume, Mood, Step, table};
pub(crate) use rig::Rig;
