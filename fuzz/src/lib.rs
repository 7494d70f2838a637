//! Fuzz tests of all code that reads untrusted bytes.
//!
//! A [`Target`] takes arbitrary bytes and asserts properties of the code that reads them: it does
//! not panic, it does not depend on how the bytes are split into pieces, and its results are as
//! documented. The targets run in two ways: under libFuzzer (`fuzz_targets/`, in cargo-fuzz's
//! layout), which searches for inputs that reach new code, and under the plain [`Driver`], which
//! any compiler builds and which `make test` runs for some seconds.
//!
//! Invariant: a run of the driver is a function of target, corpus and seed, so a failure can be
//! reproduced.

mod driver;
mod mutate;
mod random;
pub mod targets;

pub use driver::{Driver, Failure, Outcome};
pub use targets::{TARGETS, Target};
