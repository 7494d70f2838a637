//! What a program takes from its surroundings: clocks, chance, and threads for work that blocks.
//!
//! Production code of this workspace asks here and not the machine (`clippy.toml` refuses the direct calls), so that
//! a test can replay a run: within `Simulated::enter` everything comes from one seed, on that thread alone.
//!
//! Invariants:
//!  - without the feature `simulated` nothing can be put in place of the machine: each function here is one call of
//!    the system, and secrets and nonces come from the system's generator. `.ci/absences` proves that the program is
//!    built so;
//!  - with the feature, a thread that has not entered a simulation is served by the machine too;
//!  - within a simulation, the same calls in the same order give the same answers.
//!
//! Code that sleeps or sets deadlines with tokio takes the time from `tokio::time::Instant`, which tests can pause.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(feature = "blocking")]
mod blocking;
mod chance;
mod clock;
#[cfg(feature = "simulated")]
mod simulated;

#[cfg(feature = "blocking")]
pub use blocking::blocking;
pub use chance::{random, random_range};
pub use clock::{now, pause, since, wall, wall_ms};
#[cfg(feature = "simulated")]
#[doc(hidden)]
pub use simulated::Simulated;
