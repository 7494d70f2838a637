//! Keys known to be damaged, waiting for repair: each once, tried again with growing waits, bounded.

use crate::key::Key;

/// The queue. Cheap to share; putting a key in never waits.
#[derive(Debug, Default)]
pub struct RepairQueue {}

impl RepairQueue {
    /// Puts a key in, due at once. A key that waits already is not put in twice.
    pub fn push(&self, key: &Key) {
        let _ = key;
        todo!()
    }
}
