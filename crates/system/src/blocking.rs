//! Blocking work: disks, digests, the index. It must not run on the threads that run tasks.

#![expect(clippy::disallowed_methods, reason = "this is the way to the machine")]

use tokio::task::JoinHandle;

/// Runs `work` on one of tokio's blocking threads. Must be called within a tokio runtime.
///
/// In a simulation the work is a task on the same thread, and runs as a whole when it is scheduled,
/// so the same seed gives the same order.
pub fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    #[cfg(feature = "simulated")]
    if crate::simulated::entered() {
        return tokio::spawn(async move { work() });
    }
    tokio::task::spawn_blocking(work)
}
