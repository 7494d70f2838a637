//! Simulations of the index.

use crate::Simulation;

/// What is simulated of the index.
pub const SIMULATIONS: &[Simulation] = &[];
