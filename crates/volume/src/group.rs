//! Groups calls whose work costs the same for one item as for many: calls that arrive during a run
//! share the next run.

use std::sync::Arc;

use parking_lot::Mutex;

/// Collects the items of concurrent callers. One of them does the work for all items that arrived
/// before it started.
pub(crate) struct Grouped<T, R> {
    waiting: Mutex<Vec<(T, Slot<R>)>>,
    leader: Mutex<()>,
}

type Slot<R> = Arc<Mutex<Option<R>>>;

impl<T, R> Default for Grouped<T, R> {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            leader: Mutex::default(),
        }
    }
}

impl<T, R> Grouped<T, R> {
    /// Runs `work` for `item`, on this thread or another, together with the items of other callers.
    /// `work` returns a result for each item, in order, and starts after this call has started.
    /// Returns `None` if the working thread panicked.
    pub(crate) fn run(&self, item: T, work: impl FnOnce(Vec<T>) -> Vec<R>) -> Option<R> {
        let slot = Slot::default();
        self.waiting.lock().push((item, slot.clone()));
        // The previous leader may have handled this item meanwhile, so the slot is checked again.
        let _leader = self.leader.lock();
        if let Some(result) = slot.lock().take() {
            return Some(result);
        }
        let (items, slots): (Vec<T>, Vec<Slot<R>>) =
            std::mem::take(&mut *self.waiting.lock()).into_iter().unzip();
        for (slot, result) in slots.into_iter().zip(work(items)) {
            *slot.lock() = Some(result);
        }
        slot.lock().take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn every_caller_gets_its_own_result() {
        let grouped: Grouped<u64, u64> = Grouped::default();
        let runs = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (grouped, runs) = (&grouped, &runs);
                scope.spawn(move || {
                    for n in 0..200 {
                        let item = thread * 1000 + n;
                        let result = grouped.run(item, |items| {
                            runs.fetch_add(1, Ordering::Relaxed);
                            items.into_iter().map(|item| item + 1).collect()
                        });
                        assert_eq!(result, Some(item + 1));
                    }
                });
            }
        });
        assert!(runs.into_inner() <= 1600);
    }
}
