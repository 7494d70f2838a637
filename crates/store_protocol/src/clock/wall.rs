//! The wall clock of this machine, protected against sudden jumps.
//!
//! An operator or a faulty program may set a clock wrong by years and correct it a minute later.
//! Versions written in between would carry the wrong time forever. So a jump of more than
//! [`DRIFT_MS_MAX`] against the steady clock, forwards or backwards, is believed only once it has
//! lasted that long. Until then the clock continues from the time before the jump.

use std::fmt;

use parking_lot::Mutex;

/// How far ahead of this machine's clock a version from another node may be, in milliseconds. A
/// version further ahead is refused, so that one machine with a broken clock does not move the
/// others forward. Signatures of requests allow the same difference between two clocks.
pub const DRIFT_MS_MAX: u64 = 5 * 60 * 1000;

/// Both clocks of a machine at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    /// Milliseconds since 1970, according to the machine.
    pub(super) wall_ms: u64,
    /// Milliseconds since some fixed moment. Never goes back and never jumps.
    pub(super) steady_ms: u64,
}

/// The wall clock.
pub(super) struct Wall {
    read: Box<dyn Fn() -> Reading + Send + Sync>,
    seen: Mutex<WallState>,
}

#[derive(Debug)]
struct WallState {
    /// The last reading at which the wall clock was believed.
    right: Reading,
    /// When the wall clock jumped, in milliseconds of the steady clock; `None` while it is
    /// believed.
    off_since_ms: Option<u64>,
}

impl Wall {
    /// Returns the wall clock of this machine.
    pub(super) fn of_machine() -> Self {
        let began = system::now();
        Self::new(move || Reading {
            wall_ms: system::wall_ms(),
            steady_ms: u64::try_from(system::since(began).as_millis()).unwrap_or(u64::MAX),
        })
    }

    pub(super) fn new(read: impl Fn() -> Reading + Send + Sync + 'static) -> Self {
        let right = read();
        Self {
            read: Box::new(read),
            seen: Mutex::new(WallState {
                right,
                off_since_ms: None,
            }),
        }
    }

    /// Returns milliseconds since 1970, ignoring jumps that have not lasted long enough.
    pub(super) fn now_ms(&self) -> u64 {
        let now = (self.read)();
        let mut seen = self.seen.lock();
        let passed = now.steady_ms.saturating_sub(seen.right.steady_ms);
        let expected_ms = seen.right.wall_ms.saturating_add(passed);
        if now.wall_ms.abs_diff(expected_ms) > DRIFT_MS_MAX {
            let since = *seen.off_since_ms.get_or_insert_with(|| {
                tracing::warn!(
                    clock_ms = now.wall_ms,
                    expected_ms,
                    "the clock of this machine has jumped: for the next minutes, versions continue \
                     from the time before the jump"
                );
                now.steady_ms
            });
            if now.steady_ms.saturating_sub(since) < DRIFT_MS_MAX {
                return expected_ms;
            }
            tracing::warn!(
                clock_ms = now.wall_ms,
                "the clock has kept the time it jumped to: it is used again"
            );
        }
        *seen = WallState {
            right: now,
            off_since_ms: None,
        };
        now.wall_ms
    }
}

impl fmt::Debug for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.seen.lock().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::Clock;
    use super::*;

    const START_MS: u64 = 1_800_000_000_000;
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;

    /// A machine whose clocks are set by hand.
    #[derive(Clone, Default)]
    struct Machine {
        steady_ms: Arc<AtomicU64>,
        ahead_ms: Arc<AtomicU64>,
    }

    impl Machine {
        fn wall(&self) -> Wall {
            let (steady, ahead) = (self.steady_ms.clone(), self.ahead_ms.clone());
            Wall::new(move || {
                let steady_ms = steady.load(Ordering::SeqCst);
                let ahead_ms = ahead.load(Ordering::SeqCst);
                Reading {
                    wall_ms: (START_MS + steady_ms).wrapping_add(ahead_ms),
                    steady_ms,
                }
            })
        }

        fn passes(&self, ms: u64) {
            self.steady_ms.fetch_add(ms, Ordering::SeqCst);
        }

        fn steps(&self, by_ms: i64) {
            self.ahead_ms.store(by_ms as u64, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_jump_that_is_set_right_leaves_nothing() {
        for by in [DAY_MS as i64, -(DAY_MS as i64), 365 * DAY_MS as i64] {
            let machine = Machine::default();
            let wall = machine.wall();
            machine.passes(1000);
            assert_eq!(wall.now_ms(), START_MS + 1000);
            machine.steps(by);
            for _ in 0..4 {
                machine.passes(60_000);
                let passed = machine.steady_ms.load(Ordering::SeqCst);
                assert_eq!(wall.now_ms(), START_MS + passed, "{by}");
            }
            machine.steps(0);
            machine.passes(1000);
            let passed = machine.steady_ms.load(Ordering::SeqCst);
            assert_eq!(wall.now_ms(), START_MS + passed);
        }
    }

    #[test]
    fn a_jump_that_stays_is_believed_and_small_ones_at_once() {
        let machine = Machine::default();
        let wall = machine.wall();
        machine.steps(DRIFT_MS_MAX as i64);
        assert_eq!(wall.now_ms(), START_MS + DRIFT_MS_MAX);
        let machine = Machine::default();
        let wall = machine.wall();
        machine.steps(DAY_MS as i64);
        assert_eq!(wall.now_ms(), START_MS);
        machine.passes(DRIFT_MS_MAX);
        assert_eq!(wall.now_ms(), START_MS + DRIFT_MS_MAX + DAY_MS);
    }

    /// Whatever the clock does, a later write has a later version.
    #[test]
    fn versions_only_grow() {
        let machine = Machine::default();
        let clock = Clock::with("n1", machine.wall());
        let mut last = clock.now();
        for (by, ms) in [
            (0, 5),
            (-10_000, 5),
            (DAY_MS as i64, 400_000),
            (0, 400_000),
            (-90_000_000, 700_000),
        ] {
            machine.steps(by);
            for _ in 0..3 {
                machine.passes(ms);
                let next = clock.now();
                assert!(next > last, "{by}: {next} after {last}");
                last = next;
            }
        }
    }
}
