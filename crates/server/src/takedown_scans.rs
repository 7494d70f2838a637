//! Remembers which inputs contain records of something taken down, because each check reads the whole
//! input.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Results for inputs, by a hash of the input and of the takedown rules at that time.
#[derive(Default)]
pub(crate) struct TakedownScans(Mutex<HashMap<u64, bool>>);

impl TakedownScans {
    /// Maximum number of results kept. It is larger than the number of inputs that are requested
    /// repeatedly.
    const RESULTS_MAX: usize = 10_000;

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, key: u64) -> Option<bool> {
        self.lock().get(&key).copied()
    }

    pub(crate) fn put(&self, key: u64, holds: bool) {
        let mut results = self.lock();
        if results.len() >= TakedownScans::RESULTS_MAX {
            results.clear();
        }
        results.insert(key, holds);
    }
}
