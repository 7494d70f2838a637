//! A histogram of times.
//!
//! Invariant: there is one bucket for each bound and one for all longer times; every time is
//! counted in exactly one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A histogram of times. Its atomics are relaxed: a reader may see a time in the buckets that is
/// not yet in the sum.
#[derive(Debug)]
pub struct Histogram {
    /// Upper bounds of the buckets in microseconds, ascending. A time equal to a bound is in that
    /// bound's bucket.
    bounds_us: &'static [u64],
    counts: Box<[AtomicU64]>,
    sum_us: AtomicU64,
}

impl Histogram {
    /// Creates an empty histogram with these bounds in microseconds. They must ascend.
    pub fn new(bounds_us: &'static [u64]) -> Histogram {
        debug_assert!(bounds_us.is_sorted(), "bounds must be in ascending order");
        Histogram {
            bounds_us,
            counts: (0..=bounds_us.len()).map(|_| AtomicU64::new(0)).collect(),
            sum_us: AtomicU64::new(0),
        }
    }

    /// Counts one time.
    pub fn observe(&self, time: Duration) {
        let time_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = self.bounds_us.partition_point(|bound| *bound < time_us);
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_us.fetch_add(time_us, Ordering::Relaxed);
    }

    /// Returns the upper bounds of the buckets in microseconds.
    pub fn bounds_us(&self) -> &'static [u64] {
        self.bounds_us
    }

    /// Returns the number of times in each bucket, not cumulative. The last bucket is for times
    /// beyond all bounds.
    pub fn counts(&self) -> Vec<u64> {
        self.counts
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .collect()
    }

    /// Returns the sum of all times in microseconds.
    pub fn sum_us(&self) -> u64 {
        self.sum_us.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket_and_no_time_is_lost() {
        let histogram = Histogram::new(&[100, 1_000]);
        for time_us in [0, 100, 101, 1_000, 1_001, 1_000_000] {
            histogram.observe(Duration::from_micros(time_us));
        }
        assert_eq!(histogram.counts(), [2, 2, 2]);
        assert_eq!(histogram.sum_us(), 1_002_202);
    }
}
