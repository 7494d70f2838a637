//! The memory limit for content that is collected in memory before it is written.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of collected content that all clients together may hold. Any number of clients that stall
/// half-way through a small object are bounded by it.
pub(super) const COLLECTED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The memory that is still free for collecting content.
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

    /// Reserves `bytes` of the budget. Returns `None` if too little is left.
    pub(super) fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let bytes = u32::try_from(bytes).ok()?;
        self.0.clone().try_acquire_many_owned(bytes).ok()
    }
}
