//! The counts of one operation, in the form that nodes send to each other and the API returns.

use serde::{Deserialize, Serialize};

/// Upper bounds of the buckets of response times, in microseconds: 1, 2 and 5 of each decade from
/// 100 us to 50 s.
pub const LATENCY_MICROS: [u64; 18] = [
    100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
    2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000,
];

/// Counts of one operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestCount {
    /// Name of the operation: `put`, `get`, `head`, `delete`, `list`, ...
    pub operation: String,
    /// Number of requests answered.
    pub count: u64,
    /// Number of requests that failed because of the server. "No such key" does not count.
    pub failures: u64,
    /// Content received, in bytes.
    pub bytes_in: u64,
    /// Content sent, in bytes.
    pub bytes_out: u64,
    /// Sum of all response times, in microseconds.
    pub micros: u64,
    /// Number of responses by time: each bucket counts those that took at most its bound and more
    /// than the bound before. The bounds are 100, 200, 500 µs and so on up to 50 s
    /// ([`LATENCY_MICROS`]); the last bucket counts all slower ones. Empty if a node does not
    /// report them.
    #[serde(default)]
    pub buckets: Vec<u64>,
}

impl RequestCount {
    /// Adds the counts of the same operation in another process.
    pub fn add(&mut self, other: &RequestCount) {
        self.count += other.count;
        self.failures += other.failures;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.micros += other.micros;
        // Either side may come from a node that does not report buckets.
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (sum, count) in self.buckets.iter_mut().zip(&other.buckets) {
            *sum += count;
        }
    }

    /// Returns the response time in microseconds that this share of the responses (0 to 1) did not
    /// exceed, rounded up to the bound of its bucket. `None` without responses, `u64::MAX` if it is
    /// in the last bucket.
    pub fn quantile_micros(&self, share: f64) -> Option<u64> {
        let total: u64 = self.buckets.iter().sum();
        let wanted = (total as f64 * share).ceil() as u64;
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|count| {
            seen += count;
            seen >= wanted.max(1)
        })?;
        Some(LATENCY_MICROS.get(bucket).copied().unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_end_of_its_bucket() {
        let mut count = RequestCount {
            buckets: vec![0; LATENCY_MICROS.len() + 1],
            ..RequestCount::default()
        };
        assert_eq!(count.quantile_micros(0.99), None);
        count.buckets[0] = 98;
        count.buckets[3] = 1;
        count.buckets[LATENCY_MICROS.len()] = 1;
        assert_eq!(count.quantile_micros(0.5), Some(100));
        assert_eq!(count.quantile_micros(0.99), Some(1000));
        assert_eq!(count.quantile_micros(1.0), Some(u64::MAX));
    }

    #[test]
    fn a_process_that_tells_no_times_adds_none() {
        let with = |buckets: Vec<u64>| RequestCount {
            count: 2,
            buckets,
            ..RequestCount::default()
        };
        let mut sum = with(Vec::new());
        sum.add(&with(vec![1, 1]));
        sum.add(&with(Vec::new()));
        assert_eq!(
            sum,
            RequestCount {
                count: 6,
                ..with(vec![1, 1])
            }
        );
    }
}
