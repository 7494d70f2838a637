//! The Delta Lake log: which files of a table are live, as far as appending needs it.
//!
//! Follows the specification "Delta Transaction Log Protocol", whose sections are named at the
//! rules. Tables have reader version 1 and writer version 2, which every engine reads: no
//! partitions, no deletion vectors, no column mapping.

mod action;
mod checkpoint;
mod log;
mod stats;

pub(crate) use action::{Add, Remove};
pub(crate) use log::{Change, Log, Step};
pub(crate) use stats::{Bounds, FileStats};

/// The time, in milliseconds since 1970, as in the log.
pub(crate) fn now_ms() -> i64 {
    system::wall_ms() as i64
}
