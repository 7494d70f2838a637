//! Work that blocks: disks, digests, the index. It must not run on the threads that serve tasks.

#![expect(clippy::disallowed_methods, reason = "this is the way to the machine")]

use tokio::task::JoinHandle;

/// Runs `work` on a thread of tokio's that may block. Must be called within a tokio runtime.
///
/// Within a simulation the work is a task of the same thread: it runs as a whole when the task has its turn, so the
/// same seed gives the same order.
pub fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    #[cfg(feature = "simulated")]
    if crate::simulated::entered() {
        return tokio::spawn(async move { work() });
    }
    tokio::task::spawn_blocking(work)
}
