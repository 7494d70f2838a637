//! The seams between Weft and the machine: clocks, randomness, threads for blocking work, private files, accounts, and
//! the two switches with which tests break a run ([`failpoint`], [`invariant`]).
//!
//! Production code of this workspace calls these functions and never the machine (`clippy.toml` refuses the direct
//! calls), so that a test can replay a run: within `Simulated::enter` clocks and randomness come from one seed, on that
//! thread only.
//!
//! Invariants:
//!  - without the feature `simulated` each function of the clocks and of randomness is one call of the system, and
//!    secrets and nonces come from the system's generator. `.ci/absences` proves that the program is built so;
//!  - with the feature, a thread outside a simulation still uses the machine;
//!  - within a simulation, the same calls in the same order return the same values.
//!
//! Code that sleeps or sets deadlines with tokio takes the time from `tokio::time::Instant`, which tests can pause.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(feature = "blocking")]
mod blocking;
mod clock;
pub mod failpoint;
mod file_store;
pub mod invariant;
mod occurrence;
pub mod private;
mod random;
#[cfg(feature = "simulated")]
mod simulated;
pub mod users;

#[cfg(feature = "blocking")]
pub use blocking::blocking;
pub use clock::{now, pause, since, time_ms, wall, wall_ms};
pub use file_store::FileStore;
pub use invariant::Broken;
pub use random::{random, random_range};
#[cfg(feature = "simulated")]
#[doc(hidden)]
pub use simulated::Simulated;
