//! The simulation of the index: an archive with its views and its search. Its process is killed,
//! its disk fills up, and its inputs grow, end early, are damaged, replaced and forgotten.
//!
//! A history is a random sequence of steps. Each step changes some files and runs one action on the
//! archive, in this process or, if a fault is injected, in a separate process (`process`). Then the
//! archive is compared with the brute-force model of its ledger (`expected`, `check`), and its
//! ledger with all earlier states seen (`positions`).
//!
//! Invariant: the steps are a function of the seed. How far a killed load got may vary, because the
//! threads of the load and of the engines are not deterministic.

mod check;
mod expected;
mod history;
mod journal;
mod order;
mod plan;
mod positions;
mod process;
mod web;
mod world;

pub use process::{serve, set_program};

use crate::Simulation;

/// The simulations of the index.
pub const SIMULATIONS: &[Simulation] = &[Simulation {
    name: "index",
    about: "archives whose loads are killed and resumed, with full disks and unusual inputs",
    seeds_short: 60,
    run: history::run,
}];
