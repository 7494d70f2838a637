//! Counts requests by operation, with their times. Never waits but for a name that was not counted before.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::RwLock;

use crate::requests::{LATENCY_MICROS, RequestCount};

/// Counters of one process. Relaxed: they are read for people.
#[derive(Debug, Default)]
pub struct Counters {
    operations: RwLock<BTreeMap<&'static str, Arc<Counter>>>,
    in_flight: AtomicUsize,
}

#[derive(Debug, Default)]
struct Counter {
    count: AtomicU64,
    failures: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    micros: AtomicU64,
    /// One more than [`LATENCY_MICROS`], for all that is slower.
    buckets: [AtomicU64; LATENCY_MICROS.len() + 1],
}

/// A request under way, until it is dropped.
pub struct InFlight(Arc<Counters>);

/// A request being answered; counted when dropped.
pub struct Counted {
    _in_flight: InFlight,
    counter: Arc<Counter>,
    begun: Instant,
    failed: AtomicBool,
}

impl Counters {
    /// A request begins that somebody else counts by its operation: only the background workers make way for it.
    pub fn in_flight_now(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(self.clone())
    }

    /// A request begins.
    pub fn begin(self: &Arc<Self>, operation: &'static str) -> Counted {
        Counted {
            _in_flight: self.in_flight_now(),
            counter: self.counter(operation),
            begun: Instant::now(),
            failed: AtomicBool::new(false),
        }
    }

    /// Requests being answered at this moment.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// All operations counted so far, in order of their names.
    pub fn counts(&self) -> Vec<RequestCount> {
        let operations = self.operations.read();
        operations
            .iter()
            .map(|(name, counter)| counter.count(name))
            .collect()
    }

    fn counter(&self, operation: &'static str) -> Arc<Counter> {
        if let Some(counter) = self.operations.read().get(operation) {
            return counter.clone();
        }
        self.operations.write().entry(operation).or_default().clone()
    }
}

impl Counter {
    fn count(&self, operation: &str) -> RequestCount {
        let get = |number: &AtomicU64| number.load(Ordering::Relaxed);
        RequestCount {
            operation: operation.to_owned(),
            count: get(&self.count),
            failures: get(&self.failures),
            bytes_in: get(&self.bytes_in),
            bytes_out: get(&self.bytes_out),
            micros: get(&self.micros),
            buckets: self.buckets.iter().map(get).collect(),
        }
    }
}

impl Counted {
    /// Content came in.
    pub fn received(&self, bytes: u64) {
        self.counter.bytes_in.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Content went out.
    pub fn sent(&self, bytes: u64) {
        self.counter.bytes_out.fetch_add(bytes, Ordering::Relaxed);
    }

    /// It failed, and not for a reason of the client's.
    pub fn failed(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let micros = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let bucket = LATENCY_MICROS.partition_point(|end| *end < micros);
        let add = |number: &AtomicU64, what| number.fetch_add(what, Ordering::Relaxed);
        add(&self.counter.count, 1);
        add(&self.counter.failures, u64::from(*self.failed.get_mut()));
        add(&self.counter.micros, micros);
        add(&self.counter.buckets[bucket], 1);
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
    fn counts_and_quantiles() {
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

    #[test]
    fn a_quantile_is_the_end_of_its_bucket() {
        let mut count = Counter::default().count("get");
        assert_eq!(count.quantile_micros(0.99), None);
        count.buckets[0] = 98;
        count.buckets[3] = 1;
        count.buckets[LATENCY_MICROS.len()] = 1;
        assert_eq!(count.quantile_micros(0.5), Some(100));
        assert_eq!(count.quantile_micros(0.99), Some(1000));
        assert_eq!(count.quantile_micros(1.0), Some(u64::MAX));
    }
}
