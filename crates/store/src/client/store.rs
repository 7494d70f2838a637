//! The handle of a store, which all its operations share.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use store_protocol::{Key, Version, VolumeId};

use super::budget::Budget;
use super::key_locks::KeyLocks;
use super::md5_queue::Md5Queue;
use super::promised_terms::PromisedTerms;
use crate::bucket_records::Records;
use crate::cluster::Cluster;

/// Damage that a read or write found and repair must fix: a bad or missing replica, or a copy away
/// from home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The object.
    pub key: Key,
    /// Its version.
    pub version: Version,
    /// The volume whose replica is bad or missing.
    pub volume: VolumeId,
    /// What was found.
    pub detail: String,
}

/// How long the store waits for a volume or node before it continues without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For an answer from an index. After this, other volumes are asked too, and the late one is
    /// left out if possible. A disk under load answers within some tens of milliseconds. Shorter
    /// would ask further volumes needlessly; longer is added to every request while a node is
    /// frozen.
    pub hedge: Duration,
    /// For an answer from an index that cannot be done without. Longer than the limit of one
    /// request ([`store_protocol::QUICK`]), whose error says more. Shorter would refuse reads because of
    /// one busy disk.
    pub answer: Duration,
    /// For the next block of a replica; after this, another replica is read. Shorter would abandon
    /// disks that only have a full queue. The client receives no bytes for this long.
    pub stall: Duration,
    /// For a node that can decide a write, before the client is asked to retry later. Shorter would
    /// refuse writes in the seconds until a node is known to be dead and another has taken over.
    /// Clients themselves wait for a minute at most.
    pub decide: Duration,
    /// For a reply from a node that decides first, before the next node takes over. Shorter would
    /// make nodes take over from each other because one is busy; longer is added to every write
    /// while the first is frozen.
    pub probe: Duration,
}

/// Which versions may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadMode {
    /// The current one; `Unavailable` if too few nodes answer to know which version that is.
    #[default]
    Current,
    /// The newest one that can be reached, which may have been replaced or deleted.
    Any,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            hedge: Duration::from_millis(150),
            answer: Duration::from_secs(15),
            stall: Duration::from_secs(10),
            decide: Duration::from_secs(8),
            probe: Duration::from_secs(1),
        }
    }
}

/// The callback for damage.
type DamageHook = Arc<dyn Fn(Damage) + Send + Sync>;

/// The whole store, seen from one process. Cheap to clone. A process makes one and clones it,
/// because conditions are decided under locks that the clones share.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
    reading: ReadMode,
}

struct Inner {
    cluster: Arc<Cluster>,
    timeouts: Timeouts,
    locks: KeyLocks,
    /// Held while an object of a bucket that keeps versions is changed in several steps. Must not
    /// be taken while one of `locks` is held.
    versions_locks: KeyLocks,
    intake: Budget,
    md5_queue: Md5Queue,
    promised_terms: PromisedTerms,
    buckets: Records,
    damage: RwLock<Option<DamageHook>>,
}

impl Store {
    /// Returns the store of a cluster.
    pub fn new(cluster: Arc<Cluster>) -> Self {
        Self::with_timeouts(cluster, Timeouts::default())
    }

    /// Returns the store of a cluster whose volumes answer faster or slower than usual.
    pub fn with_timeouts(cluster: Arc<Cluster>, timeouts: Timeouts) -> Self {
        let inner = Inner {
            cluster,
            timeouts,
            locks: KeyLocks::new(),
            versions_locks: KeyLocks::new(),
            intake: Budget::default(),
            md5_queue: Md5Queue::default(),
            promised_terms: PromisedTerms::default(),
            buckets: Records::default(),
            damage: RwLock::new(None),
        };
        Self {
            inner: Arc::new(inner),
            reading: ReadMode::Current,
        }
    }

    /// Returns the same store, with `reading` applied to `get`, `head` and `list`.
    #[must_use]
    pub fn with_read_mode(&self, reading: ReadMode) -> Self {
        Self {
            inner: self.inner.clone(),
            reading,
        }
    }

    pub(super) fn reading(&self) -> ReadMode {
        self.reading
    }

    /// Returns the cluster that the store runs on.
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.inner.cluster
    }

    /// Sets the callback for damage that reads and writes find. It must not block. A second call
    /// replaces the first.
    pub fn on_damage(&self, hook: impl Fn(Damage) + Send + Sync + 'static) {
        *self.inner.damage.write() = Some(Arc::new(hook));
    }

    pub(crate) fn bucket_records(&self) -> &Records {
        &self.inner.buckets
    }

    pub(super) fn intake(&self) -> &Budget {
        &self.inner.intake
    }

    pub(super) fn md5_queue(&self) -> &Md5Queue {
        &self.inner.md5_queue
    }

    pub(super) fn timeouts(&self) -> &Timeouts {
        &self.inner.timeouts
    }

    pub(super) fn locks(&self) -> &KeyLocks {
        &self.inner.locks
    }

    pub(crate) fn versions_locks(&self) -> &KeyLocks {
        &self.inner.versions_locks
    }

    pub(super) fn promised_terms(&self) -> &PromisedTerms {
        &self.inner.promised_terms
    }

    /// Calls the damage callback, if one is set.
    pub(super) fn report_damage(&self, damage: Damage) {
        let hook = self.inner.damage.read().clone();
        if let Some(hook) = hook {
            hook(damage);
        }
    }
}
