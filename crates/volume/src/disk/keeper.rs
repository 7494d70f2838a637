//! What an open volume does by itself, now and then: look whether its directory is still there, forget uploads that
//! nobody finishes, make the index durable, see that the node's own files stand there, and return to service where only
//! room was missing.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::inner::Inner;

/// Between two looks. A wiped volume is noticed by its users at once, by the keeper after this time at most.
const EVERY: Duration = Duration::from_secs(2);

/// Between two durable commits of the index: what a crash costs is reading the files written in this time.
const SYNC_EVERY: Duration = Duration::from_secs(10);

/// The thread that keeps a volume. Dropping it ends the thread and waits for it.
pub(super) struct Keeper {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts keeping.
    pub(super) fn start(inner: &Arc<Inner>) -> Self {
        let (stop, stopped) = channel::<()>();
        let kept = Arc::downgrade(inner);
        let thread = std::thread::Builder::new()
            .name("volume-keeper".to_owned())
            .spawn(move || {
                let mut synced = Instant::now();
                while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                    look(&kept, &mut synced);
                }
            });
        let thread = thread
            .map_err(|error| tracing::error!(volume = %inner.id, %error, "the volume has no keeper"))
            .ok();
        Self {
            stop: Some(stop),
            thread,
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // It has nothing to say; if it panicked, that was reported.
            let _ = thread.join();
        }
    }
}

fn look(kept: &Weak<Inner>, synced: &mut Instant) {
    let Some(inner) = kept.upgrade() else {
        return;
    };
    inner.look_after_identity();
    inner.expire_uploads(Instant::now());
    inner.return_to_service();
    if synced.elapsed() >= SYNC_EVERY
        && let Ok(index) = inner.index()
    {
        *synced = Instant::now();
        if let Err(error) = index.sync() {
            inner.index_failed(&error);
        }
        if let Err(error) = inner.furnish() {
            tracing::warn!(volume = %inner.id, %error, "the node's own files on the volume cannot be written");
        }
    }
}
