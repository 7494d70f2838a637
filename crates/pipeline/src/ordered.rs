//! Runs several threads on a stage and sends their results in the order in which the items arrived.
//!
//! Invariants:
//!  - Results of item `n` leave after those of every item before `n`.
//!  - Results are held for at most `window` items from `next` on, so memory is bounded even behind
//!    a slow item.
//!  - At most one thread sends at a time (`sending`).

use std::collections::BTreeMap;

use parking_lot::{Condvar, Mutex};

use crate::Stopped;
use crate::control::Cancel;

pub(crate) struct Order<U> {
    state: Mutex<State<U>>,
    moved: Condvar,
    window: u64,
}

struct State<U> {
    /// Number of the item whose results leave next.
    next: u64,
    ready: BTreeMap<u64, Vec<U>>,
    sending: bool,
    cancelled: bool,
}

impl<U> Order<U> {
    pub(crate) fn new(window: u64) -> Order<U> {
        Order {
            state: Mutex::new(State {
                next: 0,
                ready: BTreeMap::new(),
                sending: false,
                cancelled: false,
            }),
            moved: Condvar::new(),
            window,
        }
    }

    /// Waits until item `number` is within the window.
    pub(crate) fn enter(&self, number: u64) -> Result<(), Stopped> {
        let mut state = self.state.lock();
        // The next item is always inside the window, so its thread can proceed and release the
        // others.
        while !state.cancelled && number >= state.next + self.window {
            self.moved.wait(&mut state);
        }
        if state.cancelled { Err(Stopped) } else { Ok(()) }
    }

    /// Stores the results of item `number`, and sends all results whose turn has come.
    pub(crate) fn leave(
        &self,
        number: u64,
        results: Vec<U>,
        mut send: impl FnMut(U) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let mut state = self.state.lock();
        state.ready.insert(number, results);
        if state.sending {
            // The sending thread takes the lock again after each item and then finds these results.
            return Ok(());
        }
        state.sending = true;
        while !state.cancelled {
            let next = state.next;
            let Some(results) = state.ready.remove(&next) else {
                break;
            };
            // Sending may block; meanwhile other threads must be able to store their results.
            drop(state);
            for result in results {
                send(result)?;
            }
            state = self.state.lock();
            // Advanced only after the results are sent, which bounds the number of results in
            // memory.
            state.next += 1;
            self.moved.notify_all();
        }
        state.sending = false;
        if state.cancelled { Err(Stopped) } else { Ok(()) }
    }
}

impl<U: Send> Cancel for Order<U> {
    fn cancel(&self) {
        let mut state = self.state.lock();
        state.cancelled = true;
        state.ready.clear();
        drop(state);
        self.moved.notify_all();
    }
}
