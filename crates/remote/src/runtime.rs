//! Threads for asynchronous work, so that any thread may wait for it.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use tokio::runtime::{Builder, Handle, Runtime as Tokio};
use tokio::task::AbortHandle;

/// Number of threads. They mostly wait for sockets.
const THREADS: usize = 2;

/// A small runtime. Dropping the last clone abandons all work in progress.
#[derive(Clone)]
pub(crate) struct Spawner(Arc<Runtime>);

struct Runtime(Option<Tokio>);

impl Drop for Runtime {
    fn drop(&mut self) {
        // A runtime may be dropped where blocking is not allowed, so this does not wait.
        if let Some(tokio) = self.0.take() {
            tokio.shutdown_background();
        }
    }
}

impl Spawner {
    /// Starts a runtime.
    pub(crate) fn new() -> io::Result<Spawner> {
        let tokio = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("remote")
            .enable_all()
            .build()?;
        Ok(Spawner(Arc::new(Runtime(Some(tokio)))))
    }

    /// Returns a handle for other callers; it ends with the last clone.
    pub(crate) fn handle(&self) -> Option<Handle> {
        self.0.0.as_ref().map(|tokio| tokio.handle().clone())
    }

    /// Runs `work` and waits for it, on any thread.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        self.start(work).wait()
    }

    /// Starts `work` in the background.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        work: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> Started<T> {
        let (sender, receiver) = sync_channel(1);
        let task = self.0.0.as_ref().map(|tokio| {
            tokio.spawn(async move {
                // The send fails only if the receiver was dropped.
                let _ = sender.send(work.await);
            })
        });
        Started {
            receiver,
            task: task.map(|task| task.abort_handle()),
        }
    }
}

/// Work in progress; dropping it aborts the work.
pub(crate) struct Started<T> {
    receiver: Receiver<io::Result<T>>,
    task: Option<AbortHandle>,
}

impl<T> Started<T> {
    /// Waits for the result.
    pub(crate) fn wait(self) -> io::Result<T> {
        self.receiver.recv().unwrap_or_else(|_| Err(ended()))
    }
}

impl<T> Drop for Started<T> {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("reading over the network has ended")
}
