//! Which volumes are away, and since when; which were full a moment ago.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use contract::VolumeId;
use parking_lot::Mutex;

/// A volume that was full is not offered copies for this long: time for a person to make room, and short enough that
/// what stands in elsewhere goes home soon after.
const FULL_FOR: Duration = Duration::from_mins(1);

/// Notes what volumes answered. Shared by all passes of a process, so that it knows since when one is away.
#[derive(Debug)]
pub struct Outages {
    grace: Duration,
    away: Mutex<BTreeMap<VolumeId, Instant>>,
    full: Mutex<BTreeMap<VolumeId, Instant>>,
}

impl Outages {
    /// Nothing is away yet; `grace` is how long a volume may be, before its copies are made good elsewhere.
    pub fn new(grace: Duration) -> Self {
        Self {
            grace,
            away: Mutex::default(),
            full: Mutex::default(),
        }
    }

    /// The volume answered. True if it was away before.
    pub fn answered(&self, volume: &VolumeId) -> bool {
        self.away.lock().remove(volume).is_some()
    }

    /// The volume did not answer. True if it has been away for the grace time or longer.
    pub fn away(&self, volume: &VolumeId) -> bool {
        let now = Instant::now();
        let mut away = self.away.lock();
        let since = *away.entry(volume.clone()).or_insert(now);
        now.duration_since(since) >= self.grace
    }

    /// Whether the volume did not answer when it was last asked.
    pub fn is_away(&self, volume: &VolumeId) -> bool {
        self.away.lock().contains_key(volume)
    }

    /// The volume had no room.
    pub fn was_full(&self, volume: &VolumeId) {
        self.full.lock().insert(volume.clone(), Instant::now());
    }

    /// Volumes that had no room a moment ago.
    pub fn full(&self) -> BTreeSet<VolumeId> {
        let mut full = self.full.lock();
        full.retain(|_, since| since.elapsed() < FULL_FOR);
        full.keys().cloned().collect()
    }
}
