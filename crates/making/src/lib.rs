//! Makes web-archive files: of a generated web ([`synth`]), of a folder ([`pack`]), and of the crates whose
//! sources are on this machine ([`demo`]).
//!
//! Invariant: the same settings and the same sources give the same bytes, on any machine and with any number
//! of threads. So a file that is made again has the same digest, and adds nothing to an archive that has it.
//!
//! This crate prints nothing and knows no archive: flags, progress bars and messages belong to the program.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod demo;
pub mod pack;
pub mod synth;
