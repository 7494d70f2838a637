//! The simulation of the index: an archive with its views and its search, whose process is killed, whose disk is full and
//! whose inputs grow, end early, are damaged, replaced and forgotten.
//!
//! A history is a list of steps that the dice decide. Each step changes some files and does one thing with the archive, in
//! this process or, when something goes wrong, in a process of its own (`process`). Afterwards the archive is held against
//! the brute-force model of what its ledger says (`expected`, `check`), and its ledger against everything that was seen of
//! it before (`positions`).
//!
//! Invariant: what is done is a function of the seed. How far a load got when it was killed is not always: the threads of
//! the load and of the engines run as they like.

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

/// What is simulated of the index.
pub const SIMULATIONS: &[Simulation] = &[Simulation {
    name: "index",
    about: "archives whose loads are killed and continued, with full disks and odd inputs",
    seeds_short: 250,
    run: history::run,
}];
