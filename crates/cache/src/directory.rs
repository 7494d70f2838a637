//! One directory of the disk tier: which blocks are there, and what happens to its disk.
//!
//! Invariants:
//!  - nothing that goes wrong here is an error of a read: it is counted, and the store is asked;
//!  - a block is in the ring before its file is written and leaves it before that is removed, so that what the files need is
//!    never more than what the ring has;
//!  - what waits to be written can be read meanwhile, and is bounded: who brings more waits, but not for a disk that is
//!    slower than the store, and never longer than [`WAIT_MAX`];
//!  - files of one object are changed by one thread at a time.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::block::{BLOCK_BYTES, BlockKey, Class, ObjectId, PIECE_BYTES, Pieces};
use crate::block_file::{self, Fault, space};
use crate::counts::{DirectoryCounts, DirectoryEvents, add};
use crate::device::{Device, Gauge};
use crate::known::Version;
use crate::layout::{Found, Layout, ObjectInfo, OpenError};
use crate::ring::{Ring, ShareId};
use crate::rules::{Rules, SHARE_OF_METADATA, Treatment};
use crate::settings::Settings;

/// Space of an object's folder and of what says which object it is; counted with each block, because each may be the only one.
const OBJECT_SPACE: u64 = 8192;
/// Longest wait of what is to be written for a place in the queue.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Bytes between looks at the free space of the disk.
const LOOK_EVERY_BYTES: u64 = 16 << 20;
/// Part of the quota that a guest may write before the owner has taken it over.
const GUEST_PART: u64 = 100;
/// Locks of objects' files.
const STRIPES: usize = 32;

/// A directory. Shared.
pub(crate) struct DirectoryTier {
    layout: Layout,
    quota: u64,
    free_min: u64,
    state: Mutex<State>,
    stripes: [Mutex<()>; STRIPES],
    /// Places in the queue of writes, one for each piece.
    places: Arc<Semaphore>,
    places_max: u32,
    unlooked: AtomicU64,
    pub(crate) device: Device,
    counts: DirectoryCounts,
    /// Where blocks go that have to leave.
    next: Option<Arc<DirectoryTier>>,
}

struct State {
    ring: Ring<BlockKey>,
    blocks: FxHashMap<BlockKey, Block>,
    objects: FxHashMap<ObjectId, Object>,
    by_address: FxHashMap<String, ObjectId>,
    waiting: FxHashMap<BlockKey, Pieces>,
    waiting_bytes: u64,
}

struct Block {
    /// Pieces in the file, those on their way not included; `None` of one that was found and not read yet.
    mask: Option<u16>,
    expires_ms: Option<u64>,
}

struct Object {
    info: Arc<ObjectInfo>,
    blocks: u32,
    bytes: u64,
    is_pinned: bool,
}

/// A block, or a part of it, to be kept.
#[derive(Clone)]
pub(crate) struct NewBlock {
    pub(crate) key: BlockKey,
    pub(crate) info: Arc<ObjectInfo>,
    pub(crate) treatment: Arc<Treatment>,
    pub(crate) block_bytes: u32,
    pub(crate) pieces: Pieces,
    /// Kept only where nothing has to leave for it.
    pub(crate) is_of_scan: bool,
}

impl NewBlock {
    pub(crate) fn new(key: BlockKey, version: &Version, pieces: Pieces, is_of_scan: bool) -> NewBlock {
        NewBlock {
            key,
            info: version.info.clone(),
            treatment: version.treatment.clone(),
            block_bytes: block_bytes(&key, &version.info),
            pieces,
            is_of_scan,
        }
    }

    fn share(&self) -> ShareId {
        share(self.key.class, &self.treatment)
    }
}

/// Length of a block: less than others have at an object's end.
fn block_bytes(key: &BlockKey, info: &ObjectInfo) -> u32 {
    let from = u64::from(key.block) * BLOCK_BYTES;
    let rest = info.description.size_bytes.saturating_sub(from).min(BLOCK_BYTES);
    u32::try_from(rest).unwrap_or(0)
}

fn share(class: Class, treatment: &Treatment) -> ShareId {
    match class {
        Class::Metadata => SHARE_OF_METADATA,
        Class::Data => treatment.share,
    }
}

/// What a directory has, and what it has done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DirectoryStats {
    /// Where it is.
    pub path: String,
    /// Bytes it may use.
    pub quota_bytes: u64,
    /// Bytes it may use now: fewer than the quota if the disk is full.
    pub capacity_bytes: u64,
    /// Bytes it uses on the disk.
    pub used_bytes: u64,
    /// Of these, what is pinned.
    pub pinned_bytes: u64,
    /// Blocks that are there.
    pub blocks: u64,
    /// Objects of which blocks are there.
    pub objects: u64,
    /// Bytes that wait to be written.
    pub waiting_bytes: u64,
    /// Whether another process writes here, so that this one only reads.
    pub is_guest: bool,
    /// Why the disk is left alone now, if it is.
    pub off: Option<String>,
    /// Microseconds for a MiB, as measured; `None` until enough was.
    pub read_us_per_mib: Option<u64>,
    /// The same for writes.
    pub write_us_per_mib: Option<u64>,
    /// What happened.
    pub events: DirectoryEvents,
}

/// An object of which something is kept.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) info: Arc<ObjectInfo>,
    pub(crate) bytes: u64,
    pub(crate) is_pinned: bool,
}

impl DirectoryTier {
    /// Opens a directory and finds what is there.
    ///
    /// # Errors
    /// [`OpenError`].
    pub(crate) fn open(
        path: &Path,
        settings: &Settings,
        quota: u64,
        free_min: u64,
        waiting_max: u64,
        rules: &mut Rules,
        next: Option<Arc<DirectoryTier>>,
    ) -> Result<DirectoryTier, OpenError> {
        let layout = Layout::open(path)?;
        // A guest drops nothing to make room: that is the owner's.
        let capacity = if layout.is_guest() { u64::MAX / 4 } else { quota };
        for pin in layout.pins() {
            rules.set_pin(&pin, true);
        }
        let places_max = u32::try_from((waiting_max / PIECE_BYTES).clamp(16, 1 << 20)).unwrap_or(16);
        let tier = DirectoryTier {
            quota,
            free_min,
            state: Mutex::new(State {
                ring: Ring::new(capacity, &Rules::limits(settings, capacity, None)),
                blocks: FxHashMap::default(),
                objects: FxHashMap::default(),
                by_address: FxHashMap::default(),
                waiting: FxHashMap::default(),
                waiting_bytes: 0,
            }),
            stripes: std::array::from_fn(|_| Mutex::new(())),
            places: Arc::new(Semaphore::new(places_max as usize)),
            places_max,
            unlooked: AtomicU64::new(0),
            device: Device::default(),
            counts: DirectoryCounts::default(),
            layout,
            next,
        };
        if !tier.layout.is_guest() {
            tier.layout.begin_lists();
        }
        let found = tier.layout.scan().map_err(|source| OpenError::Io {
            path: path.to_owned(),
            source,
        })?;
        tier.restore(found, rules);
        Ok(tier)
    }

    fn restore(&self, found: Vec<Found>, rules: &Rules) {
        let gone = {
            let mut state = self.state.lock();
            for block in found {
                let treatment = rules.of(&block.info.root, &block.info.path);
                let weight = block.space_bytes + OBJECT_SPACE;
                let expires_ms = treatment.ttl_ms.map(|ttl| block.written_ms.saturating_add(ttl));
                state.ring.restore(
                    block.key,
                    weight,
                    share(block.key.class, &treatment),
                    treatment.is_pinned,
                );
                state.enter(
                    block.key,
                    &block.info,
                    expires_ms,
                    None,
                    block.space_bytes,
                    treatment.is_pinned,
                );
            }
            let gone = state.ring.shrink();
            state.leave(&gone)
        };
        add(&self.counts.evicted_blocks, gone.len() as u64);
        self.remove_files(&gone);
    }

    /// Which pieces of a block may be here. Those of a block that was found, or that another process wrote, are not known
    /// before they are read.
    pub(crate) fn mask(&self, key: &BlockKey) -> u16 {
        if self.device.off().is_some() {
            return 0;
        }
        let mut state = self.state.lock();
        let waiting = state.waiting.get(key).map_or(0, Pieces::mask);
        let Some(block) = state.blocks.get(key) else {
            return 0;
        };
        let is_over = block.expires_ms.is_some_and(|end| end <= ambient::wall_ms());
        let mask = block.mask.unwrap_or(u16::MAX) | waiting;
        if !is_over {
            return mask;
        }
        state.ring.remove(key);
        let gone = state.leave(&[*key]);
        drop(state);
        add(&self.counts.expired_blocks, 1);
        self.remove_files(&gone);
        0
    }

    /// Pieces of a block: those of `wanted` that are here and right, within the time that this disk is given.
    pub(crate) async fn read(self: &Arc<Self>, key: BlockKey, wanted: u16, store: &Gauge) -> Option<Pieces> {
        {
            let mut state = self.state.lock();
            state.ring.touch(&key);
            if let Some(waiting) = state.waiting.get(&key)
                && waiting.mask() & wanted == wanted
            {
                return Some(waiting.clone());
            }
        }
        let bytes = u64::from(wanted.count_ones()) * PIECE_BYTES;
        let began = ambient::now();
        let tier = self.clone();
        let work = ambient::blocking(move || block_file::read(&tier.layout.block(&key), &key, wanted));
        let patience = self.device.patience(store, bytes);
        let fault = match tokio::time::timeout(patience, work).await {
            Ok(Ok(Ok((pieces, mask)))) => {
                self.device.worked();
                self.device.reads.note(pieces.bytes(), ambient::since(began));
                self.device.compare(store);
                if let Some(block) = self.state.lock().blocks.get_mut(&key) {
                    block.mask.get_or_insert(mask);
                }
                return Some(pieces);
            }
            Ok(Ok(Err(fault))) => fault,
            // The thread's panic: nothing here may become an error of a read.
            Ok(Err(_)) => Fault::Io(io::Error::other("the thread that read it ended")),
            Err(_) => {
                add(&self.counts.slow_reads, 1);
                self.device.failed("it does not answer in time");
                return None;
            }
        };
        self.bear(&key, fault);
        None
    }

    fn bear(&self, key: &BlockKey, fault: Fault) {
        let counter = match &fault {
            // Removed by hand, with its object, or by another process.
            Fault::Gone => None,
            Fault::Unfinished => Some(&self.counts.unfinished_blocks),
            Fault::Corrupt(what) => {
                tracing::warn!(path = %self.layout.block(key).display(), what, "a block of the cache is damaged: it is fetched again");
                Some(&self.counts.corrupt_blocks)
            }
            Fault::Io(error) => {
                tracing::warn!(path = %self.layout.block(key).display(), %error, "a block of the cache cannot be read");
                self.device.failed("it fails");
                Some(&self.counts.io_errors)
            }
        };
        if let Some(counter) = counter {
            add(counter, 1);
        }
        self.forget(&[*key]);
    }

    /// Keeps a block. Returns when it is in the queue of writes, or is not to be kept.
    pub(crate) fn store<'a>(self: &'a Arc<Self>, block: NewBlock, store: &'a Gauge) -> BoxFuture<'a, ()> {
        async move {
            if self.device.off().is_some() {
                add(&self.counts.bypassed_blocks, 1);
                return;
            }
            let Some(places) = self.places_for(&block, store).await else {
                add(&self.counts.bypassed_blocks, 1);
                return;
            };
            if !self.may_write(block.pieces.bytes()) {
                add(&self.counts.bypassed_blocks, 1);
                return;
            }
            if let Some(gone) = self.admit(&block) {
                let tier = self.clone();
                let demoted = gone.clone();
                ambient::blocking(move || {
                    let moved = match tier.next.is_some() {
                        true => tier.leavers(&demoted),
                        false => Vec::new(),
                    };
                    tier.remove_files(&gone);
                    tier.write(&block);
                    drop(places);
                    tier.demote(moved);
                });
            }
        }
        .boxed()
    }

    /// Waits until everything that was brought is written, or the time is over. Says whether it is.
    pub(crate) async fn settled(&self, time_max: Duration) -> bool {
        let all = self.places.clone().acquire_many_owned(self.places_max);
        tokio::time::timeout(time_max, all).await.is_ok()
    }

    async fn places_for(&self, block: &NewBlock, store: &Gauge) -> Option<OwnedSemaphorePermit> {
        let wanted = block.pieces.mask().count_ones().min(self.places_max);
        if let Ok(places) = self.places.clone().try_acquire_many_owned(wanted) {
            return Some(places);
        }
        // Pushed back: who fetches waits for who writes, unless fetching again is quicker than waiting.
        if self.device.writes_slower_than(store) {
            return None;
        }
        let places = tokio::time::timeout(WAIT_MAX, self.places.clone().acquire_many_owned(wanted)).await;
        places.ok()?.ok()
    }

    /// Makes room for a block. Returns what has to leave; `None` if the block is not kept.
    fn admit(&self, block: &NewBlock) -> Option<Vec<Leaver>> {
        let mut state = self.state.lock();
        let key = &block.key;
        let waiting = state.waiting.get(key).map_or(0, Pieces::mask);
        let is_there = state
            .blocks
            .get(key)
            .map(|known| known.mask.unwrap_or(0) | waiting);
        let new = block.pieces.mask();
        if is_there.is_some_and(|mask| mask & new == new) {
            return None;
        }
        let mask = is_there.unwrap_or(0) | new;
        let weight = space(mask, block.block_bytes) + OBJECT_SPACE;
        if block.is_of_scan && is_there.is_none() && !state.ring.has_room(block.share(), weight) {
            add(&self.counts.scan_blocks, 1);
            return None;
        }
        let pin = block.treatment.is_pinned;
        let Some(dropped) = state.ring.insert(*key, weight, block.share(), pin) else {
            add(&self.counts.refused_blocks, 1);
            return None;
        };
        let is_kept = !dropped.contains(key);
        let gone = state.leave(&dropped);
        add(&self.counts.evicted_blocks, gone.len() as u64);
        if !is_kept {
            drop(state);
            add(&self.counts.refused_blocks, 1);
            self.remove_files(&gone);
            return None;
        }
        let expires_ms = block
            .treatment
            .ttl_ms
            .map(|ttl| ambient::wall_ms().saturating_add(ttl));
        if is_there.is_none() {
            state.enter(*key, &block.info, expires_ms, Some(0), 0, pin);
        }
        let entry = state.waiting.entry(*key).or_default();
        let before = entry.bytes();
        entry.add(&block.pieces);
        let more = entry.bytes() - before;
        state.waiting_bytes += more;
        Some(gone)
    }

    /// Whether there may be more on the disk.
    fn may_write(&self, bytes: u64) -> bool {
        if !self.layout.is_guest() {
            self.look_at_free_space(bytes);
            return true;
        }
        // Until the owner has made room for it, what guests have written is beyond the quota.
        let limit = self.quota / GUEST_PART;
        let written = self.unlooked.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if written > limit && self.layout.has_no_changes() {
            self.unlooked.store(bytes, Ordering::Relaxed);
        }
        let free = self.layout.free_bytes().unwrap_or(0);
        self.unlooked.load(Ordering::Relaxed) <= limit && free > self.free_min.saturating_add(bytes)
    }

    fn write(&self, block: &NewBlock) {
        let _alone = self.stripe(block.key.object);
        let began = ambient::now();
        let path = self.layout.block(&block.key);
        let result = self
            .layout
            .make_object(&block.info)
            .and_then(|()| block_file::write(&path, &block.key, block.block_bytes, &block.pieces))
            .and_then(|mask| match self.layout.is_guest() {
                true => self.layout.tell_change(&block.key).map(|()| mask),
                false => Ok(mask),
            });
        let bytes = block.pieces.bytes();
        let is_wanted = {
            let mut state = self.state.lock();
            if let Some(waited) = state.waiting.remove(&block.key) {
                state.waiting_bytes -= waited.bytes();
                // Another part of the same block came meanwhile, and waits for its own write.
                let mut rest = Pieces::default();
                for (place, piece) in waited
                    .iter()
                    .filter(|(place, _)| block.pieces.get(*place).is_none())
                {
                    rest.set(place, piece.clone());
                }
                if rest.mask() != 0 {
                    state.waiting_bytes += rest.bytes();
                    state.waiting.insert(block.key, rest);
                }
            }
            match (&result, state.blocks.get_mut(&block.key)) {
                (Ok(mask), Some(known)) => {
                    known.mask = Some(*mask);
                    state.grow(block.key.object, bytes);
                    true
                }
                // It left while it was written, or could not be.
                _ => false,
            }
        };
        match result {
            Ok(_) => {
                self.device.worked();
                self.device.writes.note(bytes, ambient::since(began));
                add(&self.counts.stored_blocks, 1);
                add(&self.counts.stored_bytes, bytes);
                if !is_wanted {
                    let _ = self.layout.remove(&block.key, false);
                }
            }
            Err(error) => {
                drop(_alone);
                self.bear_write(&block.key, &error);
            }
        }
    }

    fn bear_write(&self, key: &BlockKey, error: &io::Error) {
        if matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        ) {
            add(&self.counts.no_space, 1);
            let mut state = self.state.lock();
            // What is here is all that fits, until a look at the disk says otherwise.
            let used = state.ring.used();
            state.ring.set_capacity(used.saturating_sub(LOOK_EVERY_BYTES));
        } else {
            tracing::warn!(path = %self.layout.block(key).display(), %error, "a block of the cache cannot be written");
            add(&self.counts.io_errors, 1);
            self.device.failed("it fails");
        }
        self.forget(&[*key]);
    }

    /// Gives up space when the disk has less than it must keep free, and takes it again when there is some.
    fn look_at_free_space(&self, bytes: u64) {
        let unlooked = self.unlooked.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let is_short = self.state.lock().ring.capacity() < self.quota;
        if unlooked < LOOK_EVERY_BYTES && !is_short {
            return;
        }
        self.unlooked.store(0, Ordering::Relaxed);
        let Ok(free) = self.layout.free_bytes() else {
            return;
        };
        let gone = {
            let mut state = self.state.lock();
            let used = state.ring.used();
            let may_use = (used + free)
                .saturating_sub(self.free_min)
                .saturating_sub(state.waiting_bytes);
            state.ring.set_capacity(may_use.min(self.quota));
            let gone = state.ring.shrink();
            state.leave(&gone)
        };
        add(&self.counts.evicted_blocks, gone.len() as u64);
        self.remove_files(&gone);
    }

    /// What leaves for the next directory, read before its files are removed.
    fn leavers(&self, gone: &[Leaver]) -> Vec<(Leaver, Pieces)> {
        let read = |leaver: &Leaver| {
            let (pieces, _) =
                block_file::read(&self.layout.block(&leaver.key), &leaver.key, u16::MAX).ok()?;
            Some((leaver.clone(), pieces))
        };
        gone.iter()
            .filter(|leaver| !leaver.is_timed)
            .filter_map(read)
            .collect()
    }

    fn demote(&self, moved: Vec<(Leaver, Pieces)>) {
        let Some(next) = &self.next else { return };
        for (leaver, pieces) in moved {
            let block = NewBlock {
                key: leaver.key,
                block_bytes: block_bytes(&leaver.key, &leaver.info),
                info: leaver.info,
                treatment: Arc::new(Treatment::of_a_leaver()),
                pieces,
                is_of_scan: false,
            };
            if next.layout.is_guest() || next.device.off().is_some() {
                return;
            }
            if let Some(gone) = next.admit(&block) {
                next.remove_files(&gone);
                next.write(&block);
                add(&self.counts.demoted_blocks, 1);
            }
        }
    }

    /// Takes over what guests have written.
    pub(crate) fn take_over(&self, rules: &Rules) {
        if self.layout.is_guest() {
            return;
        }
        for block in self.layout.take_changes() {
            let treatment = rules.of(&block.info.root, &block.info.path);
            let (share, weight) = (
                share(block.key.class, &treatment),
                block.space_bytes + OBJECT_SPACE,
            );
            let gone = {
                let mut state = self.state.lock();
                let is_new = !state.blocks.contains_key(&block.key);
                let Some(dropped) = state.ring.insert(block.key, weight, share, treatment.is_pinned) else {
                    drop(state);
                    add(&self.counts.refused_blocks, 1);
                    let _ = self.layout.remove(&block.key, false);
                    continue;
                };
                if is_new {
                    let expires_ms = treatment.ttl_ms.map(|ttl| block.written_ms.saturating_add(ttl));
                    state.enter(
                        block.key,
                        &block.info,
                        expires_ms,
                        None,
                        block.space_bytes,
                        treatment.is_pinned,
                    );
                } else if let Some(known) = state.blocks.get_mut(&block.key) {
                    // It has what both have written, or what the later one has: reading tells.
                    known.mask = None;
                }
                state.leave(&dropped)
            };
            add(&self.counts.evicted_blocks, gone.len() as u64);
            self.remove_files(&gone);
        }
    }

    /// Looks again at what the owner has, for a guest.
    pub(crate) fn look_again(&self, rules: &Rules) {
        let Ok(found) = self.layout.scan() else { return };
        {
            let mut state = self.state.lock();
            let there: FxHashSet<BlockKey> = found.iter().map(|block| block.key).collect();
            let is_gone = |key: &&BlockKey| !there.contains(key) && !state.waiting.contains_key(key);
            let gone: Vec<BlockKey> = state.blocks.keys().filter(is_gone).copied().collect();
            for key in &gone {
                state.ring.remove(key);
            }
            state.leave(&gone);
        }
        let is_new = |block: &Found| !self.state.lock().blocks.contains_key(&block.key);
        self.restore(found.into_iter().filter(is_new).collect(), rules);
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Drops blocks.
    pub(crate) fn forget(&self, keys: &[BlockKey]) {
        let gone = {
            let mut state = self.state.lock();
            for key in keys {
                state.ring.remove(key);
            }
            state.leave(keys)
        };
        self.remove_files(&gone);
    }

    /// Blocks of the objects that `which` names.
    pub(crate) fn blocks_of(&self, which: impl Fn(ObjectId, &ObjectInfo) -> bool) -> Vec<BlockKey> {
        let state = self.state.lock();
        let is_of = |key: &&BlockKey| {
            state
                .objects
                .get(&key.object)
                .is_some_and(|object| which(key.object, &object.info))
        };
        state.blocks.keys().filter(is_of).copied().collect()
    }

    /// The version that is here of an immutable object.
    pub(crate) fn object_at(&self, endpoint: &str, address: &str) -> Option<Arc<ObjectInfo>> {
        let state = self.state.lock();
        let id = state.by_address.get(address)?;
        let info = state.objects.get(id).map(|object| object.info.clone());
        info.filter(|info| info.endpoint == endpoint)
    }

    /// Pins and unpins by the rules as they are now.
    pub(crate) fn repin(&self, rules: &Rules) {
        let mut state = self.state.lock();
        let State {
            ring,
            blocks,
            objects,
            ..
        } = &mut *state;
        for object in objects.values_mut() {
            object.is_pinned = rules.of(&object.info.root, &object.info.path).is_pinned;
        }
        for key in blocks.keys() {
            let is_pinned = objects.get(&key.object).is_some_and(|object| object.is_pinned);
            ring.set_pinned(key, is_pinned);
        }
    }

    /// Objects of which something is here.
    pub(crate) fn objects(&self) -> Vec<Kept> {
        let state = self.state.lock();
        let kept = |object: &Object| Kept {
            info: object.info.clone(),
            bytes: object.bytes,
            is_pinned: object.is_pinned,
        };
        state.objects.values().map(kept).collect()
    }

    pub(crate) fn stats(&self) -> DirectoryStats {
        let off = self.device.off().map(str::to_owned);
        let state = self.state.lock();
        let whole = |us: Option<f64>| us.map(|us| us as u64);
        DirectoryStats {
            path: self.layout.root().display().to_string(),
            quota_bytes: self.quota,
            capacity_bytes: state.ring.capacity(),
            used_bytes: state.ring.used(),
            pinned_bytes: state.ring.pinned(),
            blocks: state.ring.len() as u64,
            objects: state.objects.len() as u64,
            waiting_bytes: state.waiting_bytes,
            is_guest: self.layout.is_guest(),
            off,
            read_us_per_mib: whole(self.device.reads.us_per_mib()),
            write_us_per_mib: whole(self.device.writes.us_per_mib()),
            events: self.counts.shown(),
        }
    }

    fn stripe(&self, object: ObjectId) -> parking_lot::MutexGuard<'_, ()> {
        self.stripes[(object.0 % STRIPES as u128) as usize].lock()
    }

    fn remove_files(&self, gone: &[Leaver]) {
        for leaver in gone {
            let _alone = self.stripe(leaver.key.object);
            // It may have come back meanwhile.
            let (is_back, is_object_back) = {
                let state = self.state.lock();
                (
                    state.blocks.contains_key(&leaver.key),
                    state.objects.contains_key(&leaver.key.object),
                )
            };
            if !is_back
                && let Err(error) = self
                    .layout
                    .remove(&leaver.key, leaver.with_object && !is_object_back)
            {
                add(&self.counts.io_errors, 1);
                tracing::warn!(path = %self.layout.block(&leaver.key).display(), %error, "a block of the cache cannot be removed");
            }
        }
    }
}

/// A block that leaves.
#[derive(Clone)]
struct Leaver {
    key: BlockKey,
    info: Arc<ObjectInfo>,
    /// Whether it was the last one of its object.
    with_object: bool,
    /// Whether its time is limited: then it goes nowhere else.
    is_timed: bool,
}

impl State {
    fn enter(
        &mut self,
        key: BlockKey,
        info: &Arc<ObjectInfo>,
        expires_ms: Option<u64>,
        mask: Option<u16>,
        bytes: u64,
        is_pinned: bool,
    ) {
        self.blocks.insert(key, Block { mask, expires_ms });
        let by_address = &mut self.by_address;
        let object = self.objects.entry(key.object).or_insert_with(|| {
            by_address.insert(info.address(), key.object);
            Object {
                info: info.clone(),
                blocks: 0,
                bytes: 0,
                is_pinned,
            }
        });
        object.blocks += 1;
        object.bytes += bytes;
    }

    fn grow(&mut self, object: ObjectId, bytes: u64) {
        if let Some(object) = self.objects.get_mut(&object) {
            object.bytes += bytes;
        }
    }

    /// Takes out what the ring has dropped.
    fn leave(&mut self, keys: &[BlockKey]) -> Vec<Leaver> {
        let mut gone = Vec::new();
        for key in keys {
            let Some(block) = self.blocks.remove(key) else {
                continue;
            };
            if let Some(waited) = self.waiting.remove(key) {
                self.waiting_bytes -= waited.bytes();
            }
            let Some(object) = self.objects.get_mut(&key.object) else {
                continue;
            };
            object.blocks -= 1;
            // About what it had: of a block that was found its file's space, which is a little more.
            let bytes = u64::from(block.mask.unwrap_or(u16::MAX).count_ones()) * PIECE_BYTES;
            object.bytes = object.bytes.saturating_sub(bytes);
            let (info, with_object) = (object.info.clone(), object.blocks == 0);
            if with_object {
                self.objects.remove(&key.object);
                let address = info.address();
                if self.by_address.get(&address) == Some(&key.object) {
                    self.by_address.remove(&address);
                }
            }
            gone.push(Leaver {
                key: *key,
                info,
                with_object,
                is_timed: block.expires_ms.is_some(),
            });
        }
        gone
    }
}
