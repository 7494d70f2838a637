//! The state of the periodic work.

use std::time::Instant;

use parking_lot::Mutex;

/// The state of the periodic work.
pub(crate) struct UpkeepState {
    /// Name of the program in statistics.
    pub(crate) program: &'static str,
    pub(crate) progress: Mutex<UpkeepProgress>,
}

#[derive(Default)]
pub(crate) struct UpkeepProgress {
    /// Position reached in the list of drops of each directory.
    pub(crate) drops: Vec<u64>,
    /// When statistics are written next.
    pub(crate) write_next: Option<Instant>,
    /// When a guest scans its directories next.
    pub(crate) look_next: Option<Instant>,
}

impl UpkeepState {
    pub(crate) fn new(program: &'static str) -> UpkeepState {
        UpkeepState {
            program,
            progress: Mutex::default(),
        }
    }
}
