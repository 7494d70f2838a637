//! What the face counts: requests by operation, with their outcome, bytes and time to the last byte.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use store::LATENCY_MICROS;

/// Counters of one operation since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OperationCount {
    /// Requests answered with success (status below 400).
    pub done: u64,
    /// Requests that the client got wrong (4xx).
    pub client_errors: u64,
    /// Requests that failed here (5xx).
    pub server_errors: u64,
    /// Requests that ended without an answer: the connection broke.
    pub broken: u64,
    /// Bytes of request bodies.
    pub bytes_in: u64,
    /// Bytes of answer bodies.
    pub bytes_out: u64,
    /// Sum of the times in microseconds.
    pub latency_us_sum: u64,
    /// Requests by time: as many as the store's [`LATENCY_MICROS`] and one for all beyond; not cumulative.
    pub latency_counts: [u64; LATENCY_MICROS.len() + 1],
}

impl OperationCount {
    /// All requests.
    pub fn count(&self) -> u64 {
        self.done + self.client_errors + self.server_errors + self.broken
    }
}

/// All counters at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MetricsSnapshot {
    /// By S3's name of the operation; `Unknown` for requests refused before that was known.
    pub operations: BTreeMap<String, OperationCount>,
}

/// The counters.
#[derive(Debug, Default)]
pub struct Metrics {
    inner: Mutex<MetricsSnapshot>,
}

impl Metrics {
    /// All counters now.
    pub fn snapshot(&self) -> MetricsSnapshot {
        self.inner.lock().clone()
    }

    /// Counts a request.
    pub(crate) fn count(&self, operation: &str, status: u64, bytes_in: u64, bytes_out: u64, time: Duration) {
        let time_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = LATENCY_MICROS.partition_point(|bound| *bound < time_us);
        let mut inner = self.inner.lock();
        let counter = inner.operations.entry(operation.to_owned()).or_default();
        match status {
            0 => counter.broken += 1,
            1..400 => counter.done += 1,
            400..500 => counter.client_errors += 1,
            _ => counter.server_errors += 1,
        }
        counter.bytes_in += bytes_in;
        counter.bytes_out += bytes_out;
        counter.latency_us_sum = counter.latency_us_sum.saturating_add(time_us);
        counter.latency_counts[bucket] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_and_times_are_told_apart() {
        let metrics = Metrics::default();
        for (status, ms) in [(200, 1), (206, 2), (404, 400), (503, 60_000), (0, 3)] {
            metrics.count("GetObject", status, 1, 10, Duration::from_millis(ms));
        }
        let counts = metrics.snapshot().operations["GetObject"];
        assert_eq!(
            (
                counts.done,
                counts.client_errors,
                counts.server_errors,
                counts.broken
            ),
            (2, 1, 1, 1)
        );
        assert_eq!((counts.count(), counts.bytes_in, counts.bytes_out), (5, 5, 50));
        assert_eq!(counts.latency_counts[3], 1, "a bound belongs to its bucket");
        assert_eq!(counts.latency_counts[LATENCY_MICROS.len()], 1);
        assert_eq!(counts.latency_counts.iter().sum::<u64>(), 5);
    }
}
