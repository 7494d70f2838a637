//! The memory for contents that are collected before they are written.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory for contents being collected, of all clients together: any number of clients that stall half-way
/// through a small object hold no more than this.
pub(super) const COLLECTED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The memory that is left for contents being collected.
#[derive(Debug, Clone)]
pub(super) struct Budget(pub(super) Arc<Semaphore>);

impl Default for Budget {
    fn default() -> Self {
        Self::new(COLLECTED_BYTES_MAX)
    }
}

impl Budget {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes_max)))
    }

    /// Takes room for `bytes` out of the budget; `None` if there is too little.
    pub(super) fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let bytes = u32::try_from(bytes).ok()?;
        self.0.clone().try_acquire_many_owned(bytes).ok()
    }
}
