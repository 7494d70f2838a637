//! Which volumes are away, and since when; which volumes were full recently.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use store_protocol::VolumeId;
use tokio::time::{Duration, Instant};

/// A full volume is not offered copies for this long. That gives an operator time to free space,
/// and is short enough that stand-ins return home soon afterwards.
const FULL_FOR: Duration = Duration::from_mins(1);

/// Records which volumes answered. All passes of a process share one, so that it knows since when a
/// volume has been away.
#[derive(Debug)]
pub struct Outages {
    grace: Duration,
    away: Mutex<BTreeMap<VolumeId, Instant>>,
    full: Mutex<BTreeMap<VolumeId, Instant>>,
}

impl Outages {
    /// Starts with no volume away. A volume may be away for `grace` before its copies are replaced
    /// elsewhere.
    pub fn new(grace: Duration) -> Self {
        Self {
            grace,
            away: Mutex::default(),
            full: Mutex::default(),
        }
    }

    /// Records that the volume answered. Returns whether it was away before.
    pub fn answered(&self, volume: &VolumeId) -> bool {
        self.away.lock().remove(volume).is_some()
    }

    /// Records that the volume did not answer. Returns whether it has been away for the grace time
    /// or longer.
    pub fn away(&self, volume: &VolumeId) -> bool {
        let now = Instant::now();
        let mut away = self.away.lock();
        let since = *away.entry(volume.clone()).or_insert(now);
        now.duration_since(since) >= self.grace
    }

    /// Returns whether the volume did not answer when it was last asked.
    pub fn is_away(&self, volume: &VolumeId) -> bool {
        self.away.lock().contains_key(volume)
    }

    /// Records that the volume had no space.
    pub fn was_full(&self, volume: &VolumeId) {
        self.full.lock().insert(volume.clone(), Instant::now());
    }

    /// Returns the volumes that recently had no space.
    pub fn full(&self) -> BTreeSet<VolumeId> {
        let mut full = self.full.lock();
        full.retain(|_, since| since.elapsed() < FULL_FOR);
        full.keys().cloned().collect()
    }
}
