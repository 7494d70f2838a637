//! A limit on pages per second, shared by all threads of a load.
//!
//! A thread takes pages first and waits afterwards, so a chunk is never split. The rate holds on
//! average.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Interval at which a waiting thread checks whether the load is stopped.
const SLICE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Rate {
    pages_per_s: f64,
    /// The time at which the rate allows the pages taken so far.
    paid_until: Mutex<Instant>,
}

impl Rate {
    pub(super) fn new(pages_per_s: f64) -> Rate {
        Rate {
            pages_per_s,
            paid_until: Mutex::new(system::now()),
        }
    }

    /// Takes `pages` and waits until the rate allows them, or until `stopped` returns `true`.
    pub(super) fn take(&self, pages: u64, stopped: impl Fn() -> bool) {
        let until = self.book(pages, system::now());
        while !stopped() {
            let left = until.saturating_duration_since(system::now());
            if left.is_zero() {
                return;
            }
            system::pause(left.min(SLICE));
        }
    }

    /// Returns when the rate allows these pages. Unused time is not saved up.
    fn book(&self, pages: u64, now: Instant) -> Instant {
        let mut paid_until = self.paid_until.lock();
        let from = (*paid_until).max(now);
        // At most a day, because a rate near zero would overflow.
        let price = (pages as f64 / self.pages_per_s).min(86_400.0);
        *paid_until = from + Duration::from_secs_f64(price);
        *paid_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_paid_for_in_order_and_pauses_are_not_saved() {
        let rate = Rate::new(10.0);
        let start = *rate.paid_until.lock();
        assert_eq!(rate.book(5, start), start + Duration::from_millis(500));
        assert_eq!(rate.book(5, start), start + Duration::from_secs(1));
        let later = start + Duration::from_secs(60);
        assert_eq!(rate.book(1, later), later + Duration::from_millis(100));
    }

    #[test]
    fn a_stopped_load_does_not_wait() {
        Rate::new(0.000_001).take(1_000_000, || true);
    }
}
