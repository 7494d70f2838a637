//! A limit on bytes per second that several streams share.

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

/// Hands out bytes at a steady rate. A large request is served at once, and the next caller waits
/// for it.
#[derive(Debug)]
pub(super) struct Throttle {
    bytes_per_s: Option<u64>,
    /// Time from which the rate allows the next bytes.
    free_at: Mutex<Instant>,
}

impl Throttle {
    /// Returns a limit of `bytes_per_s`, or no limit if `None`.
    pub(super) fn new(bytes_per_s: Option<u64>) -> Self {
        Self {
            bytes_per_s,
            free_at: Mutex::new(Instant::now()),
        }
    }

    /// Waits until the rate allows, then takes bytes.
    pub(super) async fn take(&self, bytes: u64) {
        let Some(rate) = self.bytes_per_s else {
            return;
        };
        let now = Instant::now();
        // The block ends before the sleep, so that the lock is not held during it.
        let start = {
            let mut free_at = self.free_at.lock();
            let start = (*free_at).max(now);
            *free_at = start + cost(bytes, rate);
            start
        };
        if start > now {
            tokio::time::sleep(start - now).await;
        }
    }
}

/// Returns the time that this many bytes take at the rate.
fn cost(bytes: u64, rate: u64) -> Duration {
    let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_bytes_over_rate() {
        assert_eq!(cost(1000, 1000), Duration::from_secs(1));
        assert_eq!(cost(1 << 30, 1 << 20), Duration::from_secs(1024));
        assert_eq!(
            cost(7, 0),
            Duration::from_secs(7),
            "a rate of 0 must act as one byte per second"
        );
        assert!(cost(u64::MAX, 1) > Duration::from_hours(24));
    }
}
