//! Creates web-archive files: from a generated web ([`synth`]), from a folder ([`pack`]), and from
//! the documentation of Weft ([`demo`]).
//!
//! Invariant: the same settings and sources give the same bytes, on any machine and with any number
//! of threads. A file that is created again therefore has the same digest, and adds nothing to an
//! archive that already contains it.
//!
//! This crate prints nothing and does not use an archive: flags, progress bars and messages belong
//! to the program.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod demo;
mod markdown;
pub mod pack;
pub mod synth;
