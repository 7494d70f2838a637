//! Web-archive files made here instead of crawled: of a made-up web ([`synth`]), of a folder ([`pack`]), and of the
//! crates whose sources lie on this machine ([`demo`]).
//!
//! Invariant: the same settings and the same sources give the same bytes, on any machine and with any number of
//! threads. So a file made again is known by its digest and adds nothing to an archive that has it.
//!
//! It prints nothing and knows no archive: flags, progress bars and words for people are the program's.

pub mod demo;
pub mod pack;
pub mod synth;
