//! The store as its clients see it: put, get, list, delete, with conditions. What was answered is what everybody reads
//! afterwards, through whichever node (linearizable for each key); how is said in [`decide`] and [`current`].

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
mod stages;
mod volumes;
mod write;

use decide::{KeyLocks, Order};
pub use error::StoreError;
use intake::Budget;
pub use multipart::{Complete, PART_NUMBER_MAX, Part, Parts, UPLOAD_AGE_MAX, Upload, Uploads};
use seats::Seats;
use spread::Content;

/// Looked at when the whole content has passed, before anything becomes visible: an error refuses the write. May
/// add attributes (checksums that came in a trailer).
pub type Finisher =
    Box<dyn FnOnce(&Digests, u64, &mut BTreeMap<String, String>) -> Result<(), String> + Send>;

/// A write.
#[derive(Default)]
pub struct Put {
    /// Length that the client declared, if it did: another length refuses the write.
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
    /// A last look.
    pub finisher: Option<Finisher>,
}

/// An object opened for reading; its bytes are verified as they pass.
pub struct Object {
    /// The object.
    pub meta: Meta,
    /// Range of the content that `body` gives.
    pub range: Range<u64>,
    /// The bytes. An error ends them: no replica had the block right.
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
    /// Entries after this text only (bytewise, `bucket/name` or a rolled-up prefix).
    pub after: Option<String>,
    /// At most so many objects and prefixes together.
    pub limit: usize,
}

/// Something seen in passing that repair has to put right: a bad or missing replica, a copy away from home.
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

/// How long the store waits for a volume before it goes around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For an answer from an index: then others are asked too, and the late one is done without if possible.
    /// A disk under load answers within some tens of milliseconds.
    pub hedge: Duration,
    /// For an answer from an index that cannot be done without.
    pub answer: Duration,
    /// For the next block of a replica; then another replica is read.
    pub stall: Duration,
    /// For somebody who can decide a write, before the client is told to ask again later.
    pub decide: Duration,
    /// For a sign of life of a node whose turn to decide comes first, before one after it takes over.
    pub probe: Duration,
}

/// Which versions may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reading {
    /// The current one; `Unavailable` when too few nodes answer to know which that is.
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

/// Who is told of damage.
type DamageHook = Arc<dyn Fn(Damage) + Send + Sync>;

/// The whole store from one process. Cheap to clone; a process makes one and clones it, because conditions are decided
/// under locks that the clones share.
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

    /// The store of a cluster whose volumes answer sooner or later than usual.
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

    /// The same store, whose `get`, `head` and `list` answer as said.
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

    /// The cluster it stands on.
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.inner.cluster
    }

    /// Names who is told of damage met by readers and writers. The hook must not wait; the last one named is told.
    pub fn on_damage(&self, hook: impl Fn(Damage) + Send + Sync + 'static) {
        *self.inner.damage.write() = Some(Arc::new(hook));
    }

    /// Writes a version. Answered only when R different volumes hold it, synced.
    ///
    /// # Errors
    /// [`StoreError`]; `Unavailable` may leave the version visible (complete, on fewer volumes) when a volume failed between
    /// syncing it and making it visible; all others leave nothing.
    pub async fn put(&self, key: &Key, body: ByteStream, put: Put) -> Result<Meta, StoreError> {
        self.take(key, body, put).await
    }

    /// Opens the newest version for reading, a range of it or all. Ranges end at the object's end.
    ///
    /// # Errors
    /// [`StoreError`]; `Range` for a range that begins behind the end or is empty.
    pub async fn get(&self, key: &Key, range: Option<Range<u64>>) -> Result<Object, StoreError> {
        self.open(key, range).await
    }

    /// The newest version, without its content.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn head(&self, key: &Key) -> Result<Meta, StoreError> {
        self.look_to_read(key).await?.live(self.reading()).cloned()
    }

    /// Deletes: writes a tombstone. `None` if there was nothing to delete (no tombstone is written then).
    ///
    /// # Errors
    /// [`StoreError`]; `Condition` also when a condition names an entity tag and there is nothing.
    pub async fn delete(&self, key: &Key, condition: Condition) -> Result<Option<Meta>, StoreError> {
        let look = self.look(key).await;
        // Beyond doubt there is nothing: nobody has to decide that.
        if condition == Condition::Always && matches!(look.decided(), Ok(None)) {
            return Ok(None);
        }
        let order = Order::new(self, key, Change::Delete { condition }, Content::None, &look);
        self.finish(order).await
    }

    /// Writes the newest version of `from` as `to`, read verified. Attributes are taken along unless others are given.
    ///
    /// # Errors
    /// [`StoreError`]; `NotFound` speaks of `from`, `Condition` of `to`.
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
    /// `Unavailable` when R or more volumes do not answer: then objects could be missing from the page.
    pub async fn list(&self, list: &List) -> Result<Listing, StoreError> {
        self.page(list).await
    }

    /// Decides and finishes a change ([`contract::Node::finish`] of this process's node).
    ///
    /// # Errors
    /// [`NodeError`]
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

    /// Tells whoever wants to know.
    fn damaged(&self, damage: Damage) {
        let hook = self.inner.damage.read().clone();
        if let Some(hook) = hook {
            hook(damage);
        }
    }
}
