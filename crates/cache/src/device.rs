//! Measured speeds of stores and disks, and suspension of slow or failing disks.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Weight of a new measurement in the running mean.
const NEW_PART: f64 = 0.1;
/// Number of measurements before a mean is trusted.
const TRUSTED_FROM: u32 = 16;
/// Consecutive failures or timeouts after which a disk is suspended.
const FAULTS_MAX: u32 = 3;
/// Duration of a suspension. The disk is then tried again.
const OFF: Duration = Duration::from_secs(30);
/// Bounds of the timeout of a disk read.
const READ_TIMEOUT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// Timeout of a disk read, as a multiple of the store's time for the same bytes.
const READ_TIMEOUT_FACTOR: f64 = 4.0;

/// Shorter transfers are not measured: they show the latency of a request rather than its
/// throughput. Scaled to a MiB, a read of 64 KiB that waited for a processor looks like a slow
/// disk.
const MEASURED_BYTES_MIN: u64 = 512 << 10;
/// How much slower than the store a disk must be before it is suspended. The margin allows for
/// other load on this machine.
const SLOWER_FACTOR: f64 = 1.5;

/// A running mean of the time per MiB.
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
        // A plain mean at first, so that the first measurement, which includes connecting, does not
        // dominate.
        let part = NEW_PART.max(1.0 / f64::from(mean.count));
        mean.us_per_mib += (us - mean.us_per_mib) * part;
    }

    /// Returns microseconds per MiB; `None` until there are enough measurements.
    pub(crate) fn us_per_mib(&self) -> Option<f64> {
        let mean = *self.0.lock();
        (mean.count >= TRUSTED_FROM).then_some(mean.us_per_mib)
    }

    /// Discards all measurements.
    fn reset(&self) {
        *self.0.lock() = Mean::default();
    }
}

/// The health of a disk.
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
    /// Returns why the disk is suspended; `None` if it is in use.
    pub(crate) fn off(&self) -> Option<&'static str> {
        let mut state = self.state.lock();
        match state.off_until {
            Some((until, why)) if system::now() < until => Some(why),
            Some(_) => {
                // Tried again. One more fault suspends it at once.
                state.off_until = None;
                None
            }
            None => None,
        }
    }

    pub(crate) fn worked(&self) {
        self.state.lock().faults_in_row = 0;
    }

    /// Records a failure or a timeout.
    pub(crate) fn failed(&self, why: &'static str) {
        let mut state = self.state.lock();
        state.faults_in_row = state.faults_in_row.saturating_add(1);
        if state.faults_in_row >= FAULTS_MAX {
            tracing::warn!(
                why,
                "a directory of the cache is suspended for {} s",
                OFF.as_secs()
            );
            state.off_until = Some((system::now() + OFF, why));
        }
    }

    /// Suspends the disk if reading it is slower than fetching from the store.
    pub(crate) fn compare(&self, store: &Gauge) {
        if let (Some(own), Some(other)) = (self.reads.us_per_mib(), store.us_per_mib())
            && own > other * SLOWER_FACTOR
        {
            // Measured again after the suspension.
            self.reads.reset();
            let why = "slower than the store";
            tracing::warn!(
                disk_us_per_mib = own,
                store_us_per_mib = other,
                why,
                "a directory of the cache is suspended"
            );
            self.state.lock().off_until = Some((system::now() + OFF, why));
        }
    }

    /// Returns whether writing blocks takes longer than fetching them again from the store.
    pub(crate) fn writes_slower_than(&self, store: &Gauge) -> bool {
        match (self.writes.us_per_mib(), store.us_per_mib()) {
            (Some(own), Some(other)) => own > other * SLOWER_FACTOR,
            _ => false,
        }
    }

    /// Returns how long to wait for a disk read of `bytes` before asking the store.
    pub(crate) fn read_timeout(&self, store: &Gauge, bytes: u64) -> Duration {
        let Some(us) = store.us_per_mib() else {
            return READ_TIMEOUT.1;
        };
        let us = us * (bytes as f64 / (1 << 20) as f64) * READ_TIMEOUT_FACTOR;
        Duration::from_secs_f64((us / 1e6).clamp(READ_TIMEOUT.0.as_secs_f64(), READ_TIMEOUT.1.as_secs_f64()))
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
            // Too short to be measured.
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
