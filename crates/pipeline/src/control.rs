//! Whether a pipeline is still running, and the reason if it is not. No other module stores this.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::{FlowError, Stopped};

/// An object that threads wait on. They must be woken when the pipeline ends early.
pub(crate) trait Cancel: Send + Sync {
    fn cancel(&self);
}

#[derive(Default)]
pub(crate) struct Control {
    stopped: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The first error; later ones are consequences.
    error: Option<FlowError>,
    waiters: Vec<Arc<dyn Cancel>>,
}

impl Control {
    /// Registers an object to be cancelled at the end. If the pipeline has already stopped, it is
    /// cancelled at once.
    pub(crate) fn register(&self, waiter: Arc<dyn Cancel>) {
        // The lock is taken before `stopped` is checked: `stop` sets it under the lock, so a waiter
        // is either cancelled here or found in the list by `stop`.
        let mut state = self.state.lock();
        if self.is_stopped() {
            waiter.cancel();
        }
        state.waiters.push(waiter);
    }

    /// Ends the pipeline. The first reason is kept, later ones are ignored.
    pub(crate) fn stop(&self, reason: FlowError) {
        let mut state = self.state.lock();
        if state.error.is_none() {
            state.error = Some(reason);
        }
        self.stopped.store(true, Ordering::Release);
        for waiter in &state.waiters {
            waiter.cancel();
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(crate) fn check(&self) -> Result<(), Stopped> {
        if self.is_stopped() { Err(Stopped) } else { Ok(()) }
    }

    pub(crate) fn take_error(&self) -> Option<FlowError> {
        self.state.lock().error.take()
    }
}
