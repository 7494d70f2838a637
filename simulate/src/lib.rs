//! Runs the store and the index with failing disks, networks and processes, determined by a seed.
//!
//! A [`Simulation`] runs production code on simulated disks, networks and clocks, and compares it
//! with a model. The faults are random, and the seed determines them. [`simulations`] lists all
//! simulations; [`try_seed`] runs one seed of one.
//!
//! Invariant: a run is a function of its seed, so a failure can be reproduced with the same
//! [`Trace`].

pub mod driver;
pub mod index;
pub mod store;
pub mod surroundings;
mod trace;

pub use driver::{Outcome, try_seed};
pub use trace::Trace;

/// A simulation.
#[derive(Debug, Clone, Copy)]
pub struct Simulation {
    /// Name on the command line.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// Number of seeds that `make test` runs.
    pub seeds_short: u64,
    /// Runs one seed and records the events. Returns a failure as text, or panics.
    pub run: fn(u64, &Trace) -> Result<(), String>,
}

/// Returns all simulations.
pub fn simulations() -> impl Iterator<Item = &'static Simulation> {
    store::SIMULATIONS.iter().chain(index::SIMULATIONS)
}
