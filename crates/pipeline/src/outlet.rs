//! The output of a stage: the queue or queues of the next stage.

use std::sync::Arc;
use std::time::Duration;

use crate::control::Control;
use crate::queue::Queue;
use crate::stats::StageStats;
use crate::{Item, StageError, Stopped};

/// Returns the key of an item, which decides the queue.
pub(crate) type KeyFn<T> = Box<dyn Fn(&T) -> u64 + Send + Sync>;

/// The input of a stage. When the last owner drops it, the queues of the stage are closed, which
/// passes the end of input from stage to stage.
pub(crate) struct Outlet<T: Item> {
    queues: Vec<Arc<Queue<T>>>,
    key: Option<KeyFn<T>>,
    /// Statistics of the receiving stage; `None` after the last stage, where results are dropped.
    stats: Option<Arc<StageStats>>,
}

impl<T: Item> Outlet<T> {
    pub(crate) fn new(queues: Vec<Arc<Queue<T>>>, key: Option<KeyFn<T>>, stats: Arc<StageStats>) -> Self {
        Outlet {
            queues,
            key,
            stats: Some(stats),
        }
    }

    /// Returns the outlet of the last stage, which drops its items.
    pub(crate) fn end() -> Self {
        Outlet {
            queues: Vec::new(),
            key: None,
            stats: None,
        }
    }

    pub(crate) fn send(&self, item: T) -> Result<(), Stopped> {
        let Some(stats) = &self.stats else {
            return Ok(());
        };
        let index = match &self.key {
            Some(key) => (key(&item) % self.queues.len() as u64) as usize,
            None => 0,
        };
        // Counted before the push: the receiver may finish the item before `push` returns.
        stats.arrive(item.count());
        self.queues[index].push(item)
    }
}

impl<T: Item> Drop for Outlet<T> {
    fn drop(&mut self) {
        for queue in &self.queues {
            queue.close();
        }
    }
}

/// The output handle of a handler call.
pub struct Out<'a, T: Item> {
    to: To<'a, T>,
    control: &'a Control,
    /// Time that this call spent waiting for room.
    blocked: Duration,
}

enum To<'a, T: Item> {
    Next(&'a Outlet<T>),
    /// Results are held until it is this item's turn.
    Kept(Vec<T>),
}

impl<'a, T: Item> Out<'a, T> {
    pub(crate) fn next(outlet: &'a Outlet<T>, control: &'a Control) -> Self {
        Out {
            to: To::Next(outlet),
            control,
            blocked: Duration::ZERO,
        }
    }

    pub(crate) fn kept(control: &'a Control) -> Self {
        Out {
            to: To::Kept(Vec::new()),
            control,
            blocked: Duration::ZERO,
        }
    }

    /// Sends a result to the next stage. Waits until its queue has room.
    ///
    /// # Errors
    /// [`StageError::Stopped`] once the pipeline is ending.
    pub fn send(&mut self, item: T) -> Result<(), StageError> {
        match &mut self.to {
            To::Next(outlet) => {
                let start = system::now();
                let sent = outlet.send(item);
                self.blocked += system::since(start);
                sent?;
            }
            To::Kept(kept) => kept.push(item),
        }
        Ok(())
    }

    /// Fails once the pipeline is ending. Long-running handlers should call it from time to time.
    ///
    /// # Errors
    /// [`StageError::Stopped`] once the pipeline is ending.
    pub fn check(&self) -> Result<(), StageError> {
        Ok(self.control.check()?)
    }

    pub(crate) fn blocked(&self) -> Duration {
        self.blocked
    }

    pub(crate) fn into_kept(self) -> Vec<T> {
        match self.to {
            To::Next(_) => Vec::new(),
            To::Kept(kept) => kept,
        }
    }
}
