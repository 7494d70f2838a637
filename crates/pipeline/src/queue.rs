//! A bounded queue between two stages.
//!
//! Invariants:
//!  - `items.len() <= items_max`.
//!  - `bytes` is the sum of the items' bytes, and `bytes <= bytes_max` or `items.len() == 1`.
//!  - Once `cancelled`, items are neither added nor taken, and no thread waits.

use std::collections::VecDeque;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::control::Cancel;
use crate::{Item, Stopped};

pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    /// Signalled when an item is added, or when no further ones follow.
    filled: Condvar,
    /// Signalled when items are taken, or when no further ones will be taken.
    emptied: Condvar,
    items_max: usize,
    bytes_max: u64,
}

struct State<T> {
    items: VecDeque<(T, u64)>,
    bytes: u64,
    /// Number of items taken so far, which is the number of the next one.
    taken: u64,
    closed: bool,
    cancelled: bool,
}

/// The result of a timed [`Queue::pop_until`].
pub(crate) enum Popped<T> {
    Item(T),
    Late,
    End,
}

impl<T: Item> Queue<T> {
    pub(crate) fn new(items_max: usize, bytes_max: u64) -> Queue<T> {
        Queue {
            state: Mutex::new(State {
                items: VecDeque::new(),
                bytes: 0,
                taken: 0,
                closed: false,
                cancelled: false,
            }),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            items_max: items_max.max(1),
            bytes_max,
        }
    }

    /// Appends an item. Waits until there is room.
    pub(crate) fn push(&self, item: T) -> Result<(), Stopped> {
        let bytes = item.bytes();
        let mut state = self.state.lock();
        while !state.cancelled && !state.has_room(bytes, self.items_max, self.bytes_max) {
            self.emptied.wait(&mut state);
        }
        if state.cancelled {
            return Err(Stopped);
        }
        state.bytes += bytes;
        state.items.push_back((item, bytes));
        state.check(self.items_max, self.bytes_max);
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// Takes the first item and its number. Waits for one; returns `None` once the queue is closed
    /// and empty.
    pub(crate) fn pop(&self) -> Option<(u64, T)> {
        let mut state = self.state.lock();
        while state.items.is_empty() && !state.closed && !state.cancelled {
            self.filled.wait(&mut state);
        }
        let taken = state.take();
        drop(state);
        // Senders wait for room of different sizes, so a single woken one might not fit. Wake all.
        self.emptied.notify_all();
        taken
    }

    /// Like [`Queue::pop`], but waits at most until `deadline`.
    pub(crate) fn pop_until(&self, deadline: Instant) -> Popped<T> {
        let mut state = self.state.lock();
        while state.items.is_empty() && !state.closed && !state.cancelled {
            if self.filled.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        // Read under the lock: `End` must not be returned if an item was pushed after the timeout
        // and before a close.
        let ended = state.closed || state.cancelled;
        let taken = state.take();
        drop(state);
        self.emptied.notify_all();
        match taken {
            Some((_, item)) => Popped::Item(item),
            None if ended => Popped::End,
            None => Popped::Late,
        }
    }

    /// Ends the input. Items in the queue can still be taken.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.filled.notify_all();
    }
}

impl<T> State<T> {
    fn has_room(&self, bytes: u64, items_max: usize, bytes_max: u64) -> bool {
        // An item larger than `bytes_max` is accepted by an empty queue; otherwise its sender would
        // wait forever.
        let alone = self.items.is_empty();
        self.items.len() < items_max && (alone || self.bytes + bytes <= bytes_max)
    }

    /// Checks the bounds, and that `bytes` is the sum over the items.
    fn check(&self, items_max: usize, bytes_max: u64) {
        debug_assert!(
            self.items.len() <= items_max && (self.bytes <= bytes_max || self.items.len() == 1),
            "{} items with {} bytes in a queue of at most {items_max} items and {bytes_max} bytes",
            self.items.len(),
            self.bytes
        );
        debug_assert_eq!(
            self.bytes,
            self.items.iter().map(|(_, bytes)| bytes).sum::<u64>(),
            "bytes in the queue"
        );
    }

    fn take(&mut self) -> Option<(u64, T)> {
        if self.cancelled {
            return None;
        }
        let (item, bytes) = self.items.pop_front()?;
        debug_assert!(
            bytes <= self.bytes,
            "{bytes} bytes taken from a queue of {}",
            self.bytes
        );
        let number = self.taken;
        self.taken += 1;
        self.bytes -= bytes;
        Some((number, item))
    }
}

impl<T: Item> Cancel for Queue<T> {
    fn cancel(&self) {
        let mut state = self.state.lock();
        state.cancelled = true;
        let dropped = std::mem::take(&mut state.items);
        state.bytes = 0;
        drop(state);
        // Items may be large, so they are freed after the lock is released.
        drop(dropped);
        self.filled.notify_all();
        self.emptied.notify_all();
    }
}
