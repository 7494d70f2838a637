//! Known versions of objects, and their age.
//!
//! Invariants:
//!  - The age of an answer counts from the request to the store, not from the response.
//!  - The answer to a request sent before an object was forgotten is not used afterwards.
//!  - Concurrent requests about one object are merged into one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt, Shared};
use parking_lot::Mutex;
use quick_cache::sync::Cache as Bounded;
use rustc_hash::FxHashMap;

use crate::block::{BlockKey, Class, Classes, ObjectId, place};
use crate::layout::ObjectInfo;
use crate::origin::OriginError;
use crate::rules::Treatment;

/// Maximum number of known objects; about 1 KiB each.
const OBJECTS_MAX: usize = 65_536;

/// A version of an object, with everything derived from its name.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) id: ObjectId,
    pub(crate) info: Arc<ObjectInfo>,
    pub(crate) classes: Classes,
    pub(crate) treatment: Arc<Treatment>,
}

impl Version {
    pub(crate) fn new(info: ObjectInfo, treatment: Treatment) -> Version {
        Version {
            id: info.id(),
            classes: Classes::of(&info.path, info.description.size_bytes),
            treatment: Arc::new(treatment),
            info: Arc::new(info),
        }
    }

    /// Returns the key of one of its blocks.
    pub(crate) fn key(&self, block: u32, class: Class) -> BlockKey {
        BlockKey {
            object: self.id,
            block,
            class,
        }
    }

    /// Returns the block that holds a piece, and the position of the piece in it.
    pub(crate) fn place(&self, piece: u64) -> (BlockKey, usize) {
        let (block, at) = place(piece);
        (self.key(block, self.classes.of_piece(piece)), at)
    }
}

/// A version, and the time of the request for which it was current.
#[derive(Debug, Clone)]
pub(crate) struct KnownVersion {
    pub(crate) version: Arc<Version>,
    pub(crate) requested_at: Instant,
}

/// A shared answer.
pub(crate) type PendingVersion = Shared<BoxFuture<'static, Result<KnownVersion, OriginError>>>;

/// Known versions by address.
pub(crate) struct KnownVersions {
    known: Bounded<String, KnownVersion>,
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    requests: FxHashMap<String, (u64, PendingVersion)>,
    next: u64,
}

impl KnownVersions {
    pub(crate) fn new() -> KnownVersions {
        KnownVersions {
            known: Bounded::new(OBJECTS_MAX),
            pending: Mutex::default(),
        }
    }

    /// Returns the known version, however old.
    pub(crate) fn get(&self, address: &str) -> Option<KnownVersion> {
        self.known.get(address)
    }

    /// Returns the known version if it is still valid.
    pub(crate) fn fresh(&self, address: &str, bound: Duration) -> Option<KnownVersion> {
        let known = self.known.get(address)?;
        let holds = known.version.treatment.is_immutable || system::since(known.requested_at) < bound;
        holds.then_some(known)
    }

    /// Returns the pending request and false, or a new request and true. `start` creates the request
    /// and receives its number for [`KnownVersions::finish_request`].
    pub(crate) fn request(
        &self,
        address: &str,
        start: impl FnOnce(u64) -> BoxFuture<'static, Result<KnownVersion, OriginError>>,
    ) -> (PendingVersion, bool) {
        let mut pending = self.pending.lock();
        if let Some((_, request)) = pending.requests.get(address) {
            return (request.clone(), false);
        }
        let number = pending.next;
        pending.next += 1;
        let request = start(number).shared();
        pending
            .requests
            .insert(address.to_owned(), (number, request.clone()));
        (request, true)
    }

    /// Handles the answer to a request. Returns the previously known version if the answer is used
    /// and names another version.
    pub(crate) fn finish_request(
        &self,
        address: &str,
        number: u64,
        answer: &Result<KnownVersion, OriginError>,
    ) -> Option<KnownVersion> {
        let mut pending = self.pending.lock();
        if pending
            .requests
            .get(address)
            .is_none_or(|(of_now, _)| *of_now != number)
        {
            return None;
        }
        pending.requests.remove(address);
        let before = self.known.get(address);
        match answer {
            Ok(known) => self.known.insert(address.to_owned(), known.clone()),
            Err(OriginError::Missing(_) | OriginError::Changed) => drop(self.known.remove(address)),
            // The answer gives no information.
            Err(_) => return None,
        }
        let now = answer.as_ref().ok().map(|known| known.version.id);
        before.filter(|before| Some(before.version.id) != now)
    }

    /// Forgets an object and ignores the answers to pending requests about it.
    pub(crate) fn forget(&self, address: &str) {
        let mut pending = self.pending.lock();
        pending.requests.remove(address);
        self.known.remove(address);
    }

    pub(crate) fn forget_below(&self, prefix: &str) {
        let mut pending = self.pending.lock();
        pending.requests.retain(|address, _| !address.starts_with(prefix));
        self.known.retain(|address, _| !address.starts_with(prefix));
    }
}
