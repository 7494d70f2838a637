//! What is known of objects, and since when.
//!
//! Invariants:
//!  - an answer of the store counts from the moment at which it was asked, not from that of the answer;
//!  - a question that was asked before an object was forgotten says nothing of it afterwards;
//!  - of those who ask about one object at a time, one asks the store.

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

/// Objects of which something is known at a time; about 1 KiB each.
const OBJECTS_MAX: usize = 65_536;

/// A version of an object, with all that follows from its name.
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

    /// One of its blocks.
    pub(crate) fn key(&self, block: u32, class: Class) -> BlockKey {
        BlockKey {
            object: self.id,
            block,
            class,
        }
    }

    /// The block that a piece is in, and its place there.
    pub(crate) fn place(&self, piece: u64) -> (BlockKey, usize) {
        let (block, at) = place(piece);
        (self.key(block, self.classes.of_piece(piece)), at)
    }
}

/// A version, and when it was the one that is there.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) version: Arc<Version>,
    pub(crate) asked: Instant,
}

/// The answer that many wait for.
pub(crate) type Asked = Shared<BoxFuture<'static, Result<Known, OriginError>>>;

/// By address.
pub(crate) struct AllKnown {
    known: Bounded<String, Known>,
    asking: Mutex<Asking>,
}

#[derive(Default)]
struct Asking {
    under_way: FxHashMap<String, (u64, Asked)>,
    next: u64,
}

impl AllKnown {
    pub(crate) fn new() -> AllKnown {
        AllKnown {
            known: Bounded::new(OBJECTS_MAX),
            asking: Mutex::default(),
        }
    }

    /// What is known, however old.
    pub(crate) fn get(&self, address: &str) -> Option<Known> {
        self.known.get(address)
    }

    /// What is known and still holds.
    pub(crate) fn fresh(&self, address: &str, bound: Duration) -> Option<Known> {
        let known = self.known.get(address)?;
        let holds = known.version.treatment.is_immutable || system::since(known.asked) < bound;
        holds.then_some(known)
    }

    /// The question that is under way, or a new one: `ask` makes it, and is given its number for [`AllKnown::answered`].
    pub(crate) fn ask(
        &self,
        address: &str,
        ask: impl FnOnce(u64) -> BoxFuture<'static, Result<Known, OriginError>>,
    ) -> (Asked, bool) {
        let mut asking = self.asking.lock();
        if let Some((_, asked)) = asking.under_way.get(address) {
            return (asked.clone(), false);
        }
        let number = asking.next;
        asking.next += 1;
        let asked = ask(number).shared();
        asking
            .under_way
            .insert(address.to_owned(), (number, asked.clone()));
        (asked, true)
    }

    /// A question has its answer. Returns what was known before, if the answer counts and is of another version.
    pub(crate) fn answered(
        &self,
        address: &str,
        number: u64,
        answer: &Result<Known, OriginError>,
    ) -> Option<Known> {
        let mut asking = self.asking.lock();
        if asking
            .under_way
            .get(address)
            .is_none_or(|(of_now, _)| *of_now != number)
        {
            return None;
        }
        asking.under_way.remove(address);
        let before = self.known.get(address);
        match answer {
            Ok(known) => self.known.insert(address.to_owned(), known.clone()),
            Err(OriginError::Missing(_) | OriginError::Changed) => drop(self.known.remove(address)),
            // Nothing was learned.
            Err(_) => return None,
        }
        let now = answer.as_ref().ok().map(|known| known.version.id);
        before.filter(|before| Some(before.version.id) != now)
    }

    /// Nothing is known of it any more, and what is asked now does not count.
    pub(crate) fn forget(&self, address: &str) {
        let mut asking = self.asking.lock();
        asking.under_way.remove(address);
        self.known.remove(address);
    }

    pub(crate) fn forget_below(&self, prefix: &str) {
        let mut asking = self.asking.lock();
        asking.under_way.retain(|address, _| !address.starts_with(prefix));
        self.known.retain(|address, _| !address.starts_with(prefix));
    }
}
