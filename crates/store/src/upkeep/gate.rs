//! The gate that a background worker passes before each piece of work. The worker waits there while
//! the node is busy or paused, and stops when the node stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

/// Returns the number of requests in flight on this node. Scrub and rebalance wait while there are
/// many.
pub type Load = Arc<dyn Fn() -> usize + Send + Sync>;

/// A gate. Cheap to clone; clones stop and pause together.
#[derive(Clone)]
pub(super) struct Gate {
    stop: Arc<watch::Sender<bool>>,
    paused: Arc<AtomicBool>,
    load: Option<Load>,
    busy_requests: usize,
    busy_wait: Duration,
}

/// Why a worker waits at a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// An operator paused it.
    Paused,
    /// The node has many requests in flight.
    Busy,
}

impl Gate {
    /// Returns a gate that is never closed.
    pub(super) fn open() -> Self {
        Self {
            stop: Arc::new(watch::Sender::new(false)),
            paused: Arc::default(),
            load: None,
            busy_requests: usize::MAX,
            busy_wait: Duration::from_millis(100),
        }
    }

    /// Returns a gate that is closed while more than `busy_requests` are in flight. A waiting
    /// worker checks again every `busy_wait`.
    pub(super) fn new(load: Load, busy_requests: usize, busy_wait: Duration) -> Self {
        Self {
            load: Some(load),
            busy_requests,
            busy_wait,
            ..Self::open()
        }
    }

    /// Waits until the gate is open. Returns false if the node stops.
    pub(super) async fn pass(&self) -> bool {
        while self.wait().is_some() {
            if !self.sleep(self.busy_wait).await {
                return false;
            }
        }
        !self.is_stopped()
    }

    /// Returns the reason to wait now, if any.
    pub(super) fn wait(&self) -> Option<Wait> {
        if self.paused.load(Ordering::Relaxed) {
            return Some(Wait::Paused);
        }
        let load = self.load.as_ref().map_or(0, |load| load());
        (load > self.busy_requests).then_some(Wait::Busy)
    }

    /// Sleeps. Returns false, at once, if the node stops.
    pub(super) async fn sleep(&self, time: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.stopped() => false,
            () = tokio::time::sleep(time) => true,
        }
    }

    /// Waits until the node stops.
    pub(super) async fn stopped(&self) {
        // The sender lives as long as this gate, so the wait cannot fail; it ends only when the
        // flag is set.
        let _ = self.stop.subscribe().wait_for(|stopped| *stopped).await;
    }

    pub(super) fn is_stopped(&self) -> bool {
        *self.stop.borrow()
    }

    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    pub(super) fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Relaxed);
    }
}
