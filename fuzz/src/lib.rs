//! Bytes from outside, made to break what reads them.
//!
//! A [`Target`] takes any bytes and asserts what must hold of the code that reads such bytes: that it does not
//! panic, that it does not depend on how the bytes arrive in pieces, and what its documentation promises of its
//! results. The same targets run in two ways: under libFuzzer (`fuzz_targets/`, in cargo-fuzz's layout), which
//! looks for inputs that reach new code, and under the plain [`Driver`], which any compiler builds and which
//! `make test` runs for some seconds.
//!
//! Invariant: a run of the driver is a function of target, corpus and seed, so a failure is found again.

mod driver;
mod mutate;
mod random;
pub mod targets;

pub use driver::{Driver, Failure, Outcome};
pub use targets::{TARGETS, Target};
