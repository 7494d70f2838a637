//! Simulations of the store.

use crate::Simulation;

/// What is simulated of the store.
pub const SIMULATIONS: &[Simulation] = &[];
