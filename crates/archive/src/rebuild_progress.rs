//! Whether a rebuild is running, and its progress. One runs at a time.

use std::sync::Arc;

use parking_lot::Mutex;

/// Shared by the running rebuild and those who query its progress.
#[derive(Debug, Clone, Default)]
pub(crate) struct RebuildProgress(Arc<Mutex<Option<(String, u64)>>>);

impl RebuildProgress {
    /// Begins a rebuild, unless one is running.
    pub(crate) fn begin(&self) -> Option<RunningRebuild> {
        let mut at = self.0.lock();
        if at.is_some() {
            return None;
        }
        *at = Some((String::new(), 0));
        Some(RunningRebuild(self.clone()))
    }

    pub(crate) fn is_running(&self) -> bool {
        self.0.lock().is_some()
    }

    /// Returns the current part, and the number of its rows compared.
    pub(crate) fn at(&self) -> (String, u64) {
        self.0.lock().clone().unwrap_or_default()
    }
}

/// A rebuild, which lasts until this is dropped.
#[derive(Debug)]
pub(crate) struct RunningRebuild(RebuildProgress);

impl RunningRebuild {
    /// Reports the progress.
    pub(crate) fn at(&self, part: &str, rows: u64) {
        *self.0.0.lock() = Some((part.to_owned(), rows));
    }
}

impl Drop for RunningRebuild {
    fn drop(&mut self) {
        *self.0.0.lock() = None;
    }
}
