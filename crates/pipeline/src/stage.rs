//! The loops of a stage's threads.

use std::sync::Arc;
use std::time::Duration;

use crate::control::Control;
use crate::ordered::Order;
use crate::outlet::{Out, Outlet};
use crate::queue::{Popped, Queue};
use crate::stats::StageStats;
use crate::{Item, StageResult};

/// Limits of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    /// Maximum number of queue items, at least 1 (an item may count for several, see
    /// [`Item::count`]).
    pub items_max: usize,
    /// Bytes after which no further item is added.
    pub bytes_max: u64,
    /// Maximum wait for more items, from the moment the first one was taken. Zero takes only the
    /// items already in the queue.
    pub age_max: Duration,
}

/// The context of a stage's thread.
pub(crate) struct Worker<T: Item, U: Item> {
    pub(crate) queue: Arc<Queue<T>>,
    pub(crate) outlet: Arc<Outlet<U>>,
    pub(crate) stats: Arc<StageStats>,
    pub(crate) control: Arc<Control>,
    /// Whether to skip the handler: items are counted and dropped.
    pub(crate) off: bool,
}

impl<T: Item, U: Item> Worker<T, U> {
    /// Handles one item at a time and passes its results on at once.
    pub(crate) fn each(&self, mut handler: impl FnMut(T, &mut Out<'_, U>) -> StageResult) -> StageResult {
        while let Some((_, item)) = self.queue.pop() {
            let mut out = Out::next(&self.outlet, &self.control);
            self.call(item.count(), &mut out, |out| handler(item, out))?;
        }
        Ok(())
    }

    /// Handles one item at a time; results leave in the order in which the items arrived.
    pub(crate) fn ordered(
        &self,
        order: &Order<U>,
        mut handler: impl FnMut(T, &mut Out<'_, U>) -> StageResult,
    ) -> StageResult {
        while let Some((number, item)) = self.queue.pop() {
            order.enter(number)?;
            let mut out = Out::kept(&self.control);
            self.call(item.count(), &mut out, |out| handler(item, out))?;
            order.leave(number, out.into_kept(), |result| self.outlet.send(result))?;
        }
        Ok(())
    }

    /// Handles batches of items.
    pub(crate) fn batched(
        &self,
        batch: Batch,
        mut handler: impl FnMut(Vec<T>, &mut Out<'_, U>) -> StageResult,
    ) -> StageResult {
        while let Some((_, first)) = self.queue.pop() {
            let items = self.gather(first, batch);
            let count = items.iter().map(Item::count).sum();
            let mut out = Out::next(&self.outlet, &self.control);
            self.call(count, &mut out, |out| handler(items, out))?;
        }
        Ok(())
    }

    fn gather(&self, first: T, batch: Batch) -> Vec<T> {
        let deadline = system::now() + batch.age_max;
        let mut bytes = first.bytes();
        let mut items = vec![first];
        while items.len() < batch.items_max && bytes < batch.bytes_max {
            match self.queue.pop_until(deadline) {
                Popped::Item(item) => {
                    bytes += item.bytes();
                    items.push(item);
                }
                // The next `pop` sees the end again, after this batch has been handled.
                Popped::Late | Popped::End => break,
            }
        }
        items
    }

    fn call(
        &self,
        count: u64,
        out: &mut Out<'_, U>,
        handler: impl FnOnce(&mut Out<'_, U>) -> StageResult,
    ) -> StageResult {
        // After a stop no further handler starts, even if items are left in the queue.
        self.control.check()?;
        self.stats.start(count);
        if self.off {
            self.stats.finish(count, Duration::ZERO);
            return Ok(());
        }
        let start = system::now();
        handler(out)?;
        // Waiting for room in the next queue is caused by a later stage, so it is not busy time.
        let busy = system::since(start).saturating_sub(out.blocked());
        self.stats.finish(count, busy);
        Ok(())
    }
}
