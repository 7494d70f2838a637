//! Periodic work of an open volume: checks that its directory still exists, discards abandoned
//! uploads, syncs the index, rewrites the node's own files, and returns the volume to service once
//! a full disk has room again.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::inner::Inner;

/// Interval of the work. Operations notice a wiped volume at once, this thread within the interval.
const EVERY: Duration = Duration::from_secs(2);

/// Interval between durable commits of the index. After a crash, the files written since are read
/// again.
const SYNC_EVERY: Duration = Duration::from_secs(10);

/// The thread that runs the periodic work. Dropping this value stops the thread and waits for it.
pub(super) struct Housekeeping {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Housekeeping {
    /// Starts the thread.
    pub(super) fn start(inner: &Arc<Inner>) -> Self {
        let (stop, stopped) = channel::<()>();
        let volume = Arc::downgrade(inner);
        let thread = std::thread::Builder::new()
            .name("volume-keeper".to_owned())
            .spawn(move || {
                let mut synced = system::now();
                while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                    look(&volume, &mut synced);
                }
            });
        let thread = thread
            .map_err(|error| tracing::error!(volume = %inner.id, %error, "cannot start the housekeeping thread of the volume"))
            .ok();
        Self {
            stop: Some(stop),
            thread,
        }
    }
}

impl Drop for Housekeeping {
    fn drop(&mut self) {
        // Dropping the sender ends the wait of the thread at once.
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic has already been reported.
            let _ = thread.join();
        }
    }
}

fn look(volume: &Weak<Inner>, synced: &mut Instant) {
    let Some(inner) = volume.upgrade() else {
        return;
    };
    look_after(&inner);
    if system::since(*synced) >= SYNC_EVERY && make_durable(&inner) {
        *synced = system::now();
    }
}

/// The work of each interval.
pub(super) fn look_after(inner: &Arc<Inner>) {
    inner.check_identity();
    inner.expire_uploads(system::now());
    inner.return_to_service();
}

/// Syncs the index and writes the node's own files. Returns false if the volume is out of service.
pub(super) fn make_durable(inner: &Inner) -> bool {
    let Ok(index) = inner.index() else {
        return false;
    };
    if let Err(error) = index.sync() {
        inner.index_failed(&error);
    }
    if let Err(error) = inner.write_node_files() {
        tracing::warn!(volume = %inner.id, %error, "cannot write the node's own files on the volume");
    }
    true
}
