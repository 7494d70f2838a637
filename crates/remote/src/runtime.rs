//! Threads of our own for asynchronous work, so that any thread may wait for it.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use tokio::runtime::{Builder, Runtime as Tokio};
use tokio::task::AbortHandle;

/// Threads that wait for sockets; the work beside that is little.
const THREADS: usize = 2;

/// A small runtime; it runs for as long as somebody holds it. Dropping the last one abandons what is under way.
#[derive(Clone)]
pub(crate) struct Spawner(Arc<Runtime>);

struct Runtime(Option<Tokio>);

impl Drop for Runtime {
    fn drop(&mut self) {
        // Waiting is not allowed everywhere a runtime may be dropped, and there is nothing to wait for.
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

    /// Waits for `work`, on any thread.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        self.start(work).wait()
    }

    /// Starts `work`.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        work: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> Started<T> {
        let (sender, receiver) = sync_channel(1);
        let task = self.0.0.as_ref().map(|tokio| {
            tokio.spawn(async move {
                // Nobody waits any more if this fails.
                let _ = sender.send(work.await);
            })
        });
        Started {
            receiver,
            task: task.map(|task| task.abort_handle()),
        }
    }
}

/// Work under way; dropping it ends it.
pub(crate) struct Started<T> {
    receiver: Receiver<io::Result<T>>,
    task: Option<AbortHandle>,
}

impl<T> Started<T> {
    /// What came of it.
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
