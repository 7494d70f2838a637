//! The two clocks: a steady one for durations and deadlines, and the wall clock for dates.

#![expect(clippy::disallowed_methods, reason = "this is the way to the machine")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// This moment by the steady clock, which never goes back.
#[inline]
pub fn now() -> Instant {
    #[cfg(feature = "simulated")]
    if let Some(now) = crate::simulated::now() {
        return now;
    }
    Instant::now()
}

/// The time that has passed since `then`; zero if `then` is still to come.
///
/// In place of `Instant::elapsed`, which would ask the machine's clock.
#[inline]
pub fn since(then: Instant) -> Duration {
    now().saturating_duration_since(then)
}

/// This moment by the wall clock, which people and programs may set, forwards and backwards.
#[inline]
pub fn wall() -> SystemTime {
    #[cfg(feature = "simulated")]
    if let Some(wall) = crate::simulated::wall() {
        return wall;
    }
    SystemTime::now()
}

/// Milliseconds since 1970 by the wall clock; 0 if it shows an earlier time.
pub fn wall_ms() -> u64 {
    wall()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Lets this thread sleep. Within a simulation its clocks go on by `time` instead.
///
/// Tasks must not call it: it holds up the others on their thread. They sleep with `tokio::time::sleep`.
pub fn pause(time: Duration) {
    #[cfg(feature = "simulated")]
    if crate::simulated::pause(time) {
        return;
    }
    std::thread::sleep(time);
}
