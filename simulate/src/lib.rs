//! Runs of the store and of the index in which disks, lines and processes fail, each decided by a seed.
//!
//! A [`Simulation`] runs production code on simulated disks, lines and clocks, beside a model that knows what must
//! hold. What goes wrong is decided by dice, and the dice by the seed. [`simulations`] lists them; [`try_seed`] runs one
//! seed of one.
//!
//! Invariant: a run is a function of its seed, so a failure is found again, with the same [`Trace`].

pub mod driver;
pub mod index;
pub mod store;
pub mod surroundings;
mod trace;

pub use driver::{Outcome, try_seed};
pub use trace::Trace;

/// One thing that is simulated.
#[derive(Debug, Clone, Copy)]
pub struct Simulation {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is simulated, in one line.
    pub about: &'static str,
    /// Number of seeds that `make test` tries.
    pub seeds_short: u64,
    /// Runs one seed and writes down what happens. Returns what is wrong as text, or panics.
    pub run: fn(u64, &Trace) -> Result<(), String>,
}

/// All simulations.
pub fn simulations() -> impl Iterator<Item = &'static Simulation> {
    store::SIMULATIONS.iter().chain(index::SIMULATIONS)
}
