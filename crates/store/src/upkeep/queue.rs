//! Damaged keys waiting for repair: each once, retried after growing waits, bounded.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use store_protocol::{Key, Partition};
use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

/// A queue of keys to repair. Pushing a key never waits or fails: if a key does not fit, its
/// partition is remembered instead, and a pass over that partition finds the key again. There are
/// few partitions.
#[derive(Debug)]
pub struct RepairQueue {
    keys_max: usize,
    retry_after: Duration,
    retry_after_max: Duration,
    inner: Mutex<Inner>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// Number of tries by waiting key.
    waiting: BTreeMap<Key, u32>,
    /// The same keys, ordered by due time.
    due: BTreeSet<(Instant, Key)>,
    /// Keys being repaired now, with their number of tries.
    taken: BTreeMap<Key, u32>,
    /// Partitions of keys that did not fit.
    overflow: BTreeSet<Partition>,
}

impl RepairQueue {
    /// Returns an empty queue for `keys_max` keys. A key whose repair failed is due again after
    /// `retry_after`, doubled each time up to `retry_after_max`.
    pub fn new(keys_max: usize, retry_after: Duration, retry_after_max: Duration) -> Self {
        Self {
            keys_max,
            retry_after,
            retry_after_max,
            inner: Mutex::default(),
            arrived: Notify::new(),
        }
    }

    /// Adds a key, due at once. A key that is already waiting is not added again.
    pub fn push(&self, key: &Key) {
        {
            let mut inner = self.inner.lock();
            if inner.waiting.contains_key(key) {
                return;
            }
            if inner.waiting.len() >= self.keys_max {
                inner.overflow.insert(key.partition());
            } else {
                inner.wait(key.clone(), Instant::now(), 0);
            }
        }
        self.arrived.notify_one();
    }

    /// Returns the number of keys waiting or being repaired.
    pub fn len(&self) -> usize {
        let inner = self.inner.lock();
        inner.waiting.len() + inner.taken.len()
    }

    /// Returns whether no key is waiting or being repaired.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes a key that is due, or else returns the time until the first one is due; `None` for an
    /// empty queue.
    pub(super) fn take(&self) -> Result<Key, Option<Duration>> {
        let mut inner = self.inner.lock();
        let Some((due, key)) = inner.due.first().cloned() else {
            return Err(None);
        };
        let now = Instant::now();
        if due > now {
            return Err(Some(due - now));
        }
        inner.due.pop_first();
        let tries = inner.waiting.remove(&key).unwrap_or(0);
        inner.taken.insert(key.clone(), tries);
        Ok(key)
    }

    /// Removes a taken key that was repaired.
    pub(super) fn done(&self, key: &Key) {
        self.inner.lock().taken.remove(key);
    }

    /// Puts back a taken key that could not be repaired yet.
    pub(super) fn again(&self, key: &Key) {
        {
            let mut inner = self.inner.lock();
            let tries = inner.taken.remove(key).unwrap_or(0);
            if inner.waiting.contains_key(key) {
                return;
            }
            let wait = self
                .retry_after
                .saturating_mul(1 << tries.min(16))
                .min(self.retry_after_max);
            inner.wait(key.clone(), Instant::now() + wait, tries.saturating_add(1));
        }
        self.arrived.notify_one();
    }

    /// Makes every key due now.
    #[cfg(test)]
    pub(super) fn due_now(&self) {
        let mut inner = self.inner.lock();
        let keys: Vec<_> = std::mem::take(&mut inner.due)
            .into_iter()
            .map(|(_, key)| key)
            .collect();
        inner
            .due
            .extend(keys.into_iter().map(|key| (Instant::now(), key)));
    }

    /// Returns and forgets the partitions of keys that did not fit.
    pub(super) fn take_overflow(&self) -> BTreeSet<Partition> {
        std::mem::take(&mut self.inner.lock().overflow)
    }

    /// Waits until a key is added. Returns at once if one was added since the last call.
    pub(super) async fn arrival(&self) {
        self.arrived.notified().await;
    }
}

impl Inner {
    fn wait(&mut self, key: Key, due: Instant, tries: u32) {
        self.due.insert((due, key.clone()));
        self.waiting.insert(key, tries);
    }
}
