//! Two clocks: a monotonic one for durations and deadlines, and the wall clock for dates.

#![expect(clippy::disallowed_methods, reason = "this is the way to the machine")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Returns the current time of the monotonic clock.
#[inline]
pub fn now() -> Instant {
    #[cfg(feature = "simulated")]
    if let Some(now) = crate::simulated::now() {
        return now;
    }
    Instant::now()
}

/// Returns the time elapsed since `then`; zero if `then` is in the future.
///
/// Replaces `Instant::elapsed`, which would read the machine's clock.
#[inline]
pub fn since(then: Instant) -> Duration {
    now().saturating_duration_since(then)
}

/// Returns the current wall-clock time, which people and programs may set forwards and backwards.
#[inline]
pub fn wall() -> SystemTime {
    #[cfg(feature = "simulated")]
    if let Some(wall) = crate::simulated::wall() {
        return wall;
    }
    SystemTime::now()
}

/// Returns the wall-clock time in milliseconds since 1970; 0 if it is earlier.
pub fn wall_ms() -> u64 {
    wall()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Returns [`wall_ms`] as the signed number that captures and rows hold.
pub fn time_ms() -> i64 {
    i64::try_from(wall_ms()).unwrap_or(i64::MAX)
}

/// Makes this thread sleep. In a simulation its clocks advance by `time` instead.
///
/// Tasks must not call it, since it blocks the other tasks of their thread. They use
/// `tokio::time::sleep`.
pub fn pause(time: Duration) {
    #[cfg(feature = "simulated")]
    if crate::simulated::pause(time) {
        return;
    }
    std::thread::sleep(time);
}
