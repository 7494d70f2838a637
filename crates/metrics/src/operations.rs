//! Requests counted by operation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

use crate::{Histogram, LATENCY_MICROS, RequestCount};

/// Counters of one process. Threads wait for each other only at the first request of an operation.
#[derive(Debug, Default)]
pub struct Operations {
    by_name: RwLock<BTreeMap<String, Arc<Operation>>>,
}

/// Counters of one operation. Their ordering is relaxed: a reader may see a request whose bytes are
/// not counted yet.
#[derive(Debug)]
pub struct Operation {
    failures: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    times: Histogram,
}

impl Operations {
    /// Returns the counters of an operation. Its name must come from a fixed list, never from a
    /// request, because every name is kept.
    pub fn operation(&self, operation: &str) -> Arc<Operation> {
        if let Some(counters) = self.by_name.read().get(operation) {
            return Arc::clone(counters);
        }
        // Another thread may have added it meanwhile; `entry` checks again.
        let mut by_name = self.by_name.write();
        Arc::clone(by_name.entry(operation.to_owned()).or_default())
    }

    /// Returns all operations counted so far, sorted by name.
    pub fn counts(&self) -> Vec<RequestCount> {
        let by_name = self.by_name.read();
        by_name
            .iter()
            .map(|(name, operation)| operation.count(name))
            .collect()
    }
}

impl Default for Operation {
    fn default() -> Operation {
        Operation {
            failures: AtomicU64::new(0),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            times: Histogram::new(&LATENCY_MICROS),
        }
    }
}

impl Operation {
    /// Adds received content bytes.
    pub fn received(&self, bytes: u64) {
        self.bytes_in.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds sent content bytes.
    pub fn sent(&self, bytes: u64) {
        self.bytes_out.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a request that took `time`. `failed` means that it failed for a reason other than the
    /// client's.
    pub fn count_request(&self, time: Duration, failed: bool) {
        self.failures.fetch_add(u64::from(failed), Ordering::Relaxed);
        self.times.observe(time);
    }

    fn count(&self, operation: &str) -> RequestCount {
        let buckets = self.times.counts();
        RequestCount {
            operation: operation.to_owned(),
            // Every finished request has a time.
            count: buckets.iter().sum(),
            failures: self.failures.load(Ordering::Relaxed),
            bytes_in: self.bytes_in.load(Ordering::Relaxed),
            bytes_out: self.bytes_out.load(Ordering::Relaxed),
            micros: self.times.sum_us(),
            buckets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_counted_apart() {
        let operations = Operations::default();
        let put = operations.operation("put");
        put.received(5);
        put.count_request(Duration::from_micros(150), false);
        operations
            .operation("put")
            .count_request(Duration::from_secs(100), true);
        operations.operation("get").sent(7);
        let [get, put] = operations.counts().try_into().unwrap();
        assert_eq!((get.operation.as_str(), get.count, get.bytes_out), ("get", 0, 7));
        assert_eq!((put.count, put.failures, put.bytes_in), (2, 1, 5));
        assert_eq!((put.buckets[1], put.buckets[LATENCY_MICROS.len()]), (1, 1));
        assert_eq!(put.micros, 100_000_150);
    }
}
