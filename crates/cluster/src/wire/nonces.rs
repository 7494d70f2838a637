//! Requests seen, so that none is carried out twice.
//!
//! Invariant: a pair of signed time and nonce is admitted at most once. When requests are forgotten
//! to bound memory, all requests as old as the newest forgotten one are refused from then on.

use std::collections::BTreeSet;

use parking_lot::Mutex;

/// Requests remembered: two minutes of 2,000 writes a second, in at most some 20 MB.
const NONCES_MAX: usize = 1 << 18;

/// Times and nonces seen within a window.
#[derive(Debug)]
pub(crate) struct Nonces {
    max: usize,
    seen: Mutex<NonceTable>,
}

#[derive(Debug, Default)]
struct NonceTable {
    by_time: BTreeSet<(u64, u128)>,
    /// Requests signed at or before this time are no longer admitted.
    forgotten_ms: u64,
}

impl Default for Nonces {
    fn default() -> Self {
        Self::new(NONCES_MAX)
    }
}

impl Nonces {
    fn new(max: usize) -> Self {
        Self {
            max,
            seen: Mutex::default(),
        }
    }

    /// Returns whether this request has not been seen before. Requests from before `oldest_ms` are
    /// refused by their time alone, so they are not kept.
    pub(crate) fn admit(&self, time_ms: u64, nonce: u128, oldest_ms: u64) -> bool {
        let mut seen = self.seen.lock();
        if time_ms <= seen.forgotten_ms || !seen.by_time.insert((time_ms, nonce)) {
            return false;
        }
        while seen
            .by_time
            .first()
            .is_some_and(|(first_ms, _)| *first_ms < oldest_ms)
        {
            seen.by_time.pop_first();
        }
        if seen.by_time.len() > self.max
            && let Some((first_ms, _)) = seen.by_time.pop_first()
        {
            debug_assert!(
                seen.forgotten_ms <= first_ms,
                "nonces of {first_ms} are forgotten after those of {}",
                seen.forgotten_ms
            );
            seen.forgotten_ms = first_ms;
        }
        debug_assert!(
            seen.by_time.len() <= self.max
                && seen
                    .by_time
                    .first()
                    .is_none_or(|(ms, _)| *ms >= seen.forgotten_ms),
            "{} requests are remembered, at most {}",
            seen.by_time.len(),
            self.max
        );
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_admitted_twice_even_when_forgotten() {
        let nonces = Nonces::new(10);
        for time in 1..100_u64 {
            assert!(nonces.admit(time, 7, 0));
            assert!(!nonces.admit(time, 7, 0));
            assert!(nonces.admit(time, 8, 0));
        }
        for time in 1..100 {
            assert!(!nonces.admit(time, 7, 0), "{time}");
        }
        assert!(nonces.seen.lock().by_time.len() <= 10);
        assert!(!nonces.admit(20, 9, 0), "as old as the forgotten nonces");
    }

    #[test]
    fn those_out_of_the_window_are_dropped() {
        let nonces = Nonces::new(1000);
        (1..500).for_each(|time| assert!(nonces.admit(time, 1, 0)));
        assert!(nonces.admit(600, 1, 550));
        assert_eq!(nonces.seen.lock().by_time.len(), 1);
    }
}
