//! Counters of a process: requests in progress, and finished requests by operation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use crate::{Operation, Operations, RequestCount};

/// Counters of one process. Their ordering is relaxed, because only people read them.
#[derive(Debug, Default)]
pub struct Counters {
    operations: Operations,
    in_flight: AtomicUsize,
}

/// A request in progress, until this is dropped.
pub struct InFlight(Arc<Counters>);

/// A request in progress. It is counted when this is dropped.
pub struct TrackedRequest {
    _in_flight: InFlight,
    operation: Arc<Operation>,
    begun: Instant,
    failed: AtomicBool,
}

impl Counters {
    /// Notes that a request begins whose operation is counted elsewhere. Only the background
    /// workers, which yield to requests, read this number.
    pub fn track_in_flight(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(self.clone())
    }

    /// Notes that a request begins.
    pub fn begin(self: &Arc<Self>, operation: &'static str) -> TrackedRequest {
        TrackedRequest {
            _in_flight: self.track_in_flight(),
            operation: self.operations.operation(operation),
            begun: system::now(),
            failed: AtomicBool::new(false),
        }
    }

    /// Returns the number of requests in progress.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Returns all operations counted so far, sorted by name.
    pub fn counts(&self) -> Vec<RequestCount> {
        self.operations.counts()
    }
}

impl TrackedRequest {
    /// Adds received content bytes.
    pub fn received(&self, bytes: u64) {
        self.operation.received(bytes);
    }

    /// Adds sent content bytes.
    pub fn sent(&self, bytes: u64) {
        self.operation.sent(bytes);
    }

    /// Notes that the request failed for a reason other than the client's.
    pub fn failed(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }
}

impl Drop for TrackedRequest {
    fn drop(&mut self) {
        self.operation
            .count_request(system::since(self.begun), *self.failed.get_mut());
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_under_way_until_it_is_counted() {
        let counters = Arc::new(Counters::default());
        for i in 0..10 {
            let counted = counters.begin("head");
            assert_eq!(counters.in_flight(), 1);
            counted.received(5);
            if i == 0 {
                counted.failed();
            }
        }
        let [count] = counters.counts().try_into().unwrap();
        assert_eq!((count.count, count.failures, count.bytes_in), (10, 1, 50));
        assert_eq!(count.buckets.iter().sum::<u64>(), 10);
        assert_eq!(counters.in_flight(), 0);
    }
}
