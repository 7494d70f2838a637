//! The store as its clients see it: put, get, list, delete, with conditions. Every acknowledged write is
//! visible to all later reads through any node (linearizable for each key); [`decide`] and [`current`] say
//! how.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use contract::{ByteStream, Change, Condition, Digests, Finish, Key, Meta, NodeError, Version, VolumeId};
use parking_lot::RwLock;

use crate::bucket::Records;
use crate::cluster::Cluster;

mod current;
mod decide;
mod digest;
mod error;
mod intake;
mod list;
mod multipart;
mod put;
mod read;
mod seats;
mod spread;
mod uploads;
mod volumes;
mod write;

use decide::{KeyLocks, Order};
pub use error::StoreError;
use intake::Budget;
pub use multipart::{Complete, MULTIPART_AGE_MAX, Multipart, Multiparts, PART_NUMBER_MAX, Part, Parts};
use seats::Seats;
use spread::Content;

/// Called once the whole content has arrived and before it is visible. An error cancels the write. It may add
/// attributes (checksums from a trailer).
pub type Finisher =
    Box<dyn FnOnce(&Digests, u64, &mut BTreeMap<String, String>) -> Result<(), String> + Send>;

/// Parameters of a write.
#[derive(Default)]
pub struct Put {
    /// Length that the client declared; the write fails if the content has another length.
    pub size: Option<u64>,
    /// MD5 that the client declared (`Content-MD5`).
    pub md5: Option<[u8; 16]>,
    /// SHA-256 that the client declared.
    pub sha256: Option<[u8; 32]>,
    /// Headers to keep, names in lower case.
    pub attributes: BTreeMap<String, String>,
    /// Entity tag; MD5 of the content in hexadecimal if `None`.
    pub etag: Option<String>,
    /// What must hold of the current version.
    pub condition: Condition,
    /// Check of the whole content before it becomes visible.
    pub finisher: Option<Finisher>,
}

/// An object opened for reading. Its bytes are verified as they pass.
pub struct Object {
    /// The object.
    pub meta: Meta,
    /// Range of the content that `body` gives.
    pub range: Range<u64>,
    /// The bytes. The stream ends with an error if no replica holds a block intact.
    pub body: ByteStream,
}

/// A page of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Live objects in order of keys.
    pub objects: Vec<Meta>,
    /// Key prefixes up to and including the delimiter, in order; empty without a delimiter.
    pub prefixes: Vec<String>,
    /// Where the next page starts: give it as `after`. `None` when there is no more.
    pub next: Option<String>,
}

/// What to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List {
    /// `bucket/` and the beginning of a name.
    pub prefix: String,
    /// Roll names up to the next occurrence of this text after the prefix.
    pub delimiter: Option<String>,
    /// Only entries after this text (bytewise; `bucket/name` or a rolled-up prefix).
    pub after: Option<String>,
    /// At most this many objects and prefixes together.
    pub limit: usize,
}

/// Damage that a read or write found and repair must fix: a bad or missing replica, or a copy away from home.
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

/// How long the store waits for a volume or node before it goes on without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For an answer from an index. After it other volumes are asked too, and the late one is left out if
    /// possible. A disk under load answers within some tens of milliseconds.
    pub hedge: Duration,
    /// For an answer from an index that is indispensable.
    pub answer: Duration,
    /// For the next block of a replica; then another replica is read.
    pub stall: Duration,
    /// For a node that can decide a write, before the client is told to ask again later.
    pub decide: Duration,
    /// For a reply from a node that decides first, before the next node takes over.
    pub probe: Duration,
}

/// Which versions may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reading {
    /// The current one; `Unavailable` when too few nodes answer to know which version that is.
    #[default]
    Current,
    /// The newest that can be reached, which may have been replaced or deleted.
    Any,
}

impl Default for Patience {
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

/// The whole store, seen from one process. Cheap to clone. A process makes one and clones it, because
/// conditions are decided under locks that the clones share.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
    reading: Reading,
}

struct Inner {
    cluster: Arc<Cluster>,
    patience: Patience,
    locks: KeyLocks,
    intake: Budget,
    seats: Seats,
    buckets: Records,
    damage: RwLock<Option<DamageHook>>,
}

impl Store {
    /// The store of a cluster.
    pub fn new(cluster: Arc<Cluster>) -> Self {
        Self::with_patience(cluster, Patience::default())
    }

    /// The store of a cluster whose volumes answer faster or slower than usual.
    pub fn with_patience(cluster: Arc<Cluster>, patience: Patience) -> Self {
        let inner = Inner {
            cluster,
            patience,
            locks: KeyLocks::new(),
            intake: Budget::default(),
            seats: Seats::default(),
            buckets: Records::default(),
            damage: RwLock::new(None),
        };
        Self {
            inner: Arc::new(inner),
            reading: Reading::Current,
        }
    }

    /// The same store, with `reading` applied to `get`, `head` and `list`.
    #[must_use]
    pub fn reading_as(&self, reading: Reading) -> Self {
        Self {
            inner: self.inner.clone(),
            reading,
        }
    }

    fn reading(&self) -> Reading {
        self.reading
    }

    /// The cluster that the store runs on.
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.inner.cluster
    }

    /// Sets the callback for damage that reads and writes find. It must not block; a second call replaces the
    /// first.
    pub fn on_damage(&self, hook: impl Fn(Damage) + Send + Sync + 'static) {
        *self.inner.damage.write() = Some(Arc::new(hook));
    }

    /// Writes a version. Returns only when R different volumes hold it, synced.
    ///
    /// # Errors
    /// [`StoreError`]. After `Unavailable` the version may be visible (complete, on fewer volumes) if a
    /// volume failed between syncing it and making it visible; any other error leaves nothing.
    pub async fn put(&self, key: &Key, body: ByteStream, put: Put) -> Result<Meta, StoreError> {
        self.take(key, body, put).await
    }

    /// Opens the newest version for reading, whole or a range of it. A range is cut at the object's end.
    ///
    /// # Errors
    /// [`StoreError`]; `Range` for a range that begins after the end or is empty.
    pub async fn get(&self, key: &Key, range: Option<Range<u64>>) -> Result<Object, StoreError> {
        self.open(key, range).await
    }

    /// The newest version, without its content.
    ///
    /// # Errors
    /// [`StoreError`]; `NotFound` if there is no live version.
    pub async fn head(&self, key: &Key) -> Result<Meta, StoreError> {
        self.look_to_read(key).await?.live(self.reading()).cloned()
    }

    /// Deletes: writes a tombstone. Returns `None`, and writes no tombstone, if there is nothing to delete.
    ///
    /// # Errors
    /// [`StoreError`]; also `Condition` if the condition names an entity tag and there is no object.
    pub async fn delete(&self, key: &Key, condition: Condition) -> Result<Option<Meta>, StoreError> {
        let look = self.look(key).await;
        // The key certainly has no live version, so no decision is needed.
        if condition == Condition::Always && matches!(look.decided(), Ok(None)) {
            return Ok(None);
        }
        let order = Order::new(self, key, Change::Delete { condition }, Content::None, &look);
        self.finish(order).await
    }

    /// Writes the newest version of `from` as `to`, verified while it is read. Attributes are copied unless
    /// others are given.
    ///
    /// # Errors
    /// [`StoreError`]; `NotFound` is about `from`, `Condition` about `to`.
    pub async fn copy(
        &self,
        from: &Key,
        to: &Key,
        attributes: Option<BTreeMap<String, String>>,
        condition: Condition,
    ) -> Result<Meta, StoreError> {
        let Object { meta, body, .. } = self.get(from, None).await?;
        let put = Put {
            size: Some(meta.size),
            md5: Some(meta.digests.md5),
            sha256: Some(meta.digests.sha256),
            attributes: attributes.unwrap_or(meta.attributes),
            etag: None,
            condition,
            finisher: None,
        };
        self.put(to, body, put).await
    }

    /// A page of live objects.
    ///
    /// # Errors
    /// `Unavailable` when R or more volumes do not answer, because objects could be missing from the page.
    pub async fn list(&self, list: &List) -> Result<Listing, StoreError> {
        self.page(list).await
    }

    /// Decides and finishes a change ([`contract::Node::finish`] of this process's node).
    ///
    /// # Errors
    /// [`NodeError`] if this node cannot decide or the change is refused.
    pub async fn finish_here(&self, finish: Finish) -> Result<Option<Meta>, NodeError> {
        self.decide_or_relay(finish).await
    }

    pub(crate) fn bucket_records(&self) -> &Records {
        &self.inner.buckets
    }

    fn patience(&self) -> &Patience {
        &self.inner.patience
    }

    fn locks(&self) -> &KeyLocks {
        &self.inner.locks
    }

    fn seats(&self) -> &Seats {
        &self.inner.seats
    }

    /// Calls the damage callback, if one is set.
    fn damaged(&self, damage: Damage) {
        let hook = self.inner.damage.read().clone();
        if let Some(hook) = hook {
            hook(damage);
        }
    }
}
