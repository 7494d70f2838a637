//! How fast stores and disks are, as measured, and when a disk is left alone.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Part of a new measurement in the running mean.
const NEW_PART: f64 = 0.1;
/// Measurements before a mean is trusted.
const TRUSTED_FROM: u32 = 16;
/// Failures or silences in a row after which a disk is left alone.
const FAULTS_MAX: u32 = 3;
/// For how long it is left alone; then it is tried again.
const OFF: Duration = Duration::from_secs(30);
/// Bounds of how long a read of a disk is waited for.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// How much longer than the store a disk may take before the store is asked.
const PATIENCE_FACTOR: f64 = 4.0;

/// What is shorter says more of the time that a request takes than of bytes: scaled to a MiB, a read of 64 KiB that waited for
/// a processor looks like a slow disk.
const MEASURED_BYTES_MIN: u64 = 512 << 10;
/// How much slower a disk must be: this machine does other things, which the measurements feel.
const SLOWER_FACTOR: f64 = 1.5;

/// A running mean of the time that a MiB takes.
#[derive(Debug, Default)]
pub(crate) struct Gauge(Mutex<Mean>);

#[derive(Debug, Default, Clone, Copy)]
struct Mean {
    us_per_mib: f64,
    count: u32,
}

impl Gauge {
    pub(crate) fn note(&self, bytes: u64, took: Duration) {
        if bytes < MEASURED_BYTES_MIN {
            return;
        }
        let us = took.as_secs_f64() * 1e6 * ((1 << 20) as f64 / bytes as f64);
        let mut mean = self.0.lock();
        mean.count = mean.count.saturating_add(1);
        // A plain mean at first, so that the first measurement, which has a connection to make, does not weigh most.
        let part = NEW_PART.max(1.0 / f64::from(mean.count));
        mean.us_per_mib += (us - mean.us_per_mib) * part;
    }

    /// Microseconds for a MiB; `None` until enough was measured.
    pub(crate) fn us_per_mib(&self) -> Option<f64> {
        let mean = *self.0.lock();
        (mean.count >= TRUSTED_FROM).then_some(mean.us_per_mib)
    }

    /// Forgets what was measured.
    fn reset(&self) {
        *self.0.lock() = Mean::default();
    }
}

/// A disk, as it behaves.
#[derive(Debug, Default)]
pub(crate) struct Device {
    pub(crate) reads: Gauge,
    pub(crate) writes: Gauge,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    faults_in_row: u32,
    off_until: Option<(Instant, &'static str)>,
}

impl Device {
    /// Why it is left alone now; `None` if it is used.
    pub(crate) fn off(&self) -> Option<&'static str> {
        let mut state = self.state.lock();
        match state.off_until {
            Some((until, why)) if system::now() < until => Some(why),
            Some(_) => {
                // Tried again: one more fault ends it at once.
                state.off_until = None;
                None
            }
            None => None,
        }
    }

    pub(crate) fn worked(&self) {
        self.state.lock().faults_in_row = 0;
    }

    /// Notes a failure or a silence.
    pub(crate) fn failed(&self, why: &'static str) {
        let mut state = self.state.lock();
        state.faults_in_row = state.faults_in_row.saturating_add(1);
        if state.faults_in_row >= FAULTS_MAX {
            tracing::warn!(
                why,
                "a directory of the cache is left alone for {} s",
                OFF.as_secs()
            );
            state.off_until = Some((system::now() + OFF, why));
        }
    }

    /// Leaves it alone if reading it takes longer than fetching the same from the store.
    pub(crate) fn compare(&self, store: &Gauge) {
        if let (Some(own), Some(other)) = (self.reads.us_per_mib(), store.us_per_mib())
            && own > other * SLOWER_FACTOR
        {
            // Measured anew when it is tried again.
            self.reads.reset();
            let why = "slower than the store";
            tracing::warn!(
                disk_us_per_mib = own,
                store_us_per_mib = other,
                why,
                "a directory of the cache"
            );
            self.state.lock().off_until = Some((system::now() + OFF, why));
        }
    }

    /// Whether what waits to be written would wait longer than the store takes to give it again.
    pub(crate) fn writes_slower_than(&self, store: &Gauge) -> bool {
        match (self.writes.us_per_mib(), store.us_per_mib()) {
            (Some(own), Some(other)) => own > other * SLOWER_FACTOR,
            _ => false,
        }
    }

    /// How long a read of so many bytes is waited for before the store is asked.
    pub(crate) fn patience(&self, store: &Gauge, bytes: u64) -> Duration {
        let Some(us) = store.us_per_mib() else {
            return PATIENCE.1;
        };
        let us = us * (bytes as f64 / (1 << 20) as f64) * PATIENCE_FACTOR;
        Duration::from_secs_f64((us / 1e6).clamp(PATIENCE.0.as_secs_f64(), PATIENCE.1.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_slower_than_the_store_is_left_alone_once_both_are_measured() {
        let (device, store) = (Device::default(), Gauge::default());
        let mib = 1 << 20;
        for round in 0..TRUSTED_FROM {
            device.compare(&store);
            assert_eq!(device.off(), None, "round {round}");
            device.reads.note(mib, Duration::from_millis(31));
            store.note(mib / 2, Duration::from_millis(10));
            // Too little to be compared.
            device.reads.note(mib / 16, Duration::from_millis(1));
        }
        device.compare(&store);
        assert_eq!(device.off(), Some("slower than the store"));
    }

    #[test]
    fn three_faults_in_a_row_end_it_and_one_success_between_does_not() {
        let device = Device::default();
        for _ in 0..10 {
            device.failed("write");
            device.failed("write");
            device.worked();
        }
        assert_eq!(device.off(), None);
        for _ in 0..3 {
            device.failed("write");
        }
        assert_eq!(device.off(), Some("write"));
    }
}
