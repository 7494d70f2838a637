//! How many requests a process has answered, by operation, and how long they took.

use serde::{Deserialize, Serialize};

/// Requests of one kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RequestCount {
    /// `put`, `get`, `head`, `delete`, `list`, ...
    pub operation: String,
    /// Answered.
    pub count: u64,
    /// Of these, answered with a failure of ours (not "no such key").
    pub failures: u64,
    /// Content bytes received.
    pub bytes_in: u64,
    /// Content bytes sent.
    pub bytes_out: u64,
    /// Sum of answer times in microseconds.
    pub micros: u64,
    /// Answers by time: how many took at most [`LATENCY_MICROS`]`[i]` and more than the one before; the last counts
    /// all slower ones.
    #[serde(default)]
    pub buckets: Vec<u64>,
}

/// Upper ends of the buckets of answer times, in microseconds: 1, 2 and 5 of each decade from 100 us to 50 s.
pub const LATENCY_MICROS: [u64; 18] = [
    100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
    2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000,
];

impl RequestCount {
    /// The answer time in microseconds that this share of the answers (0 to 1) stayed within, as the upper end of its
    /// bucket; `None` without answers, `u64::MAX` beyond the last bucket.
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
