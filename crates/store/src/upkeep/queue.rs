//! Keys known to be damaged, waiting for repair: each once, tried again with growing waits, bounded.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use contract::{Key, Partition};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The queue. Putting a key in never waits and never fails: what does not fit is remembered as its partition, of which
/// there are few, and found again by a pass over that.
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
    /// How often each waiting key was tried.
    waiting: BTreeMap<Key, u32>,
    /// The same keys by the time when they are due.
    due: BTreeSet<(Instant, Key)>,
    /// Being repaired now.
    taken: BTreeMap<Key, u32>,
    /// Partitions of keys that did not fit.
    overflow: BTreeSet<Partition>,
}

impl RepairQueue {
    /// An empty queue for so many keys; a key whose repair failed is due again after `retry_after`, doubled each time up
    /// to `retry_after_max`.
    pub fn new(keys_max: usize, retry_after: Duration, retry_after_max: Duration) -> Self {
        Self {
            keys_max,
            retry_after,
            retry_after_max,
            inner: Mutex::default(),
            arrived: Notify::new(),
        }
    }

    /// Puts a key in, due at once. A key that waits already is not put in twice.
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

    /// Keys waiting or being repaired.
    pub fn len(&self) -> usize {
        let inner = self.inner.lock();
        inner.waiting.len() + inner.taken.len()
    }

    /// Whether nothing waits or is being repaired.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes a key that is due, or says how long until the first is; `None` in an empty queue.
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

    /// A key taken is put right.
    pub(super) fn done(&self, key: &Key) {
        self.inner.lock().taken.remove(key);
    }

    /// A key taken could not be put right yet.
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

    /// Makes everything due, as if the time had passed.
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

    /// Partitions in which keys that did not fit lie; they are forgotten here.
    pub(super) fn take_overflow(&self) -> BTreeSet<Partition> {
        std::mem::take(&mut self.inner.lock().overflow)
    }

    /// Returns when something was put in, now or since the last time.
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
