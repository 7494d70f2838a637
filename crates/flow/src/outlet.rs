//! Where a stage's results go: the queue or queues of the next stage.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::control::Control;
use crate::queue::Queue;
use crate::stats::StageStats;
use crate::{Item, StageError, Stopped};

/// Decides the queue by the item's key.
pub(crate) type KeyFn<T> = Box<dyn Fn(&T) -> u64 + Send + Sync>;

/// The way into a stage. When its last owner drops it, the stage's queues are closed.
pub(crate) struct Outlet<T: Item> {
    queues: Vec<Arc<Queue<T>>>,
    key: Option<KeyFn<T>>,
    /// Statistics of the stage behind; `None` behind the last stage, where results end.
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

    /// Behind the last stage.
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

/// What a handler sends its results through.
pub struct Out<'a, T: Item> {
    to: To<'a, T>,
    control: &'a Control,
    /// Time spent waiting for room.
    blocked: Duration,
}

enum To<'a, T: Item> {
    Next(&'a Outlet<T>),
    /// Kept until it is this item's turn.
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

    /// Sends a result to the next stage, waiting for room there.
    ///
    /// # Errors
    /// [`StageError::Stopped`] once the pipeline is ending.
    pub fn send(&mut self, item: T) -> Result<(), StageError> {
        match &mut self.to {
            To::Next(outlet) => {
                let start = Instant::now();
                let sent = outlet.send(item);
                self.blocked += start.elapsed();
                sent?;
            }
            To::Kept(kept) => kept.push(item),
        }
        Ok(())
    }

    /// For handlers that run long: an error once the pipeline is ending.
    ///
    /// # Errors
    /// [`StageError::Stopped`].
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
