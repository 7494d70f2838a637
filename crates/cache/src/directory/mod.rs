//! A directory of the disk tier: its blocks, and the state of its disk.
//!
//! Invariants:
//!  - A failure of the disk does not fail a read: it is counted, and the store is asked.
//!  - A block enters the ring before its file is written and leaves the ring before its file is
//!    removed. So the files never need more space than the ring accounts for.
//!  - Blocks queued for writing can be read. The queue is bounded: a writer that exceeds it waits,
//!    for at most [`WAIT_MAX`], and not at all if the disk is slower than the store.
//!  - Files of one object are changed by one thread at a time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::block::{BlockKey, ObjectId, PIECE_BYTES, Pieces};
use crate::block_file::space;
use crate::counts::{DirectoryCounts, add};
use crate::device::{Device, Gauge};
use crate::layout::{FoundBlock, Layout, ObjectInfo, OpenError};
use crate::ring::Ring;
use crate::rules::Rules;
use crate::settings::Settings;

/// Space of an object's folder and its description file. Counted for each block, because each may
/// be the only one.
const OBJECT_SPACE: u64 = 8192;
/// Maximum time that a block waits for a slot in the write queue.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Number of bytes written between checks of the free disk space.
const LOOK_EVERY_BYTES: u64 = 16 << 20;
/// A guest may write this fraction of the quota (1/100) before the owner has accounted for it.
const GUEST_PART: u64 = 100;
/// Number of locks for the files of objects.
const STRIPES: usize = 32;

mod disk;
mod index;
mod new_block;
mod sharing;
mod stats;

pub(crate) use new_block::{Effort, NewBlock};
pub use stats::DirectoryStats;

use index::{EvictedBlock, State};
use new_block::share;

/// A directory of the disk tier. Shared.
pub(crate) struct DirectoryTier {
    layout: Layout,
    quota: u64,
    free_min: u64,
    state: Mutex<State>,
    stripes: [Mutex<()>; STRIPES],
    /// Slots of the write queue, one per piece.
    places: Arc<Semaphore>,
    places_max: u32,
    unlooked: AtomicU64,
    pub(crate) device: Device,
    counts: DirectoryCounts,
    /// The directory that evicted blocks move to.
    next: Option<Arc<DirectoryTier>>,
}

impl DirectoryTier {
    /// Opens a directory and indexes its blocks.
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
        // A guest does not evict blocks: only the owner does.
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

    fn restore(&self, found: Vec<FoundBlock>, rules: &Rules) {
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
            state.evict(&gone)
        };
        add(&self.counts.evicted_blocks, gone.len() as u64);
        self.remove_files(&gone);
    }

    /// Returns the mask of pieces that may be present. All are assumed present in a block that was
    /// found on disk or written by another process, until it is read.
    pub(crate) fn mask(self: &Arc<Self>, key: &BlockKey) -> u16 {
        if self.device.off().is_some() {
            return 0;
        }
        let mut state = self.state.lock();
        let waiting = state.waiting.get(key).map_or(0, Pieces::mask);
        let Some(block) = state.blocks.get(key) else {
            return 0;
        };
        let is_over = block.expires_ms.is_some_and(|end| end <= system::wall_ms());
        let mask = block.mask.unwrap_or(u16::MAX) | waiting;
        if !is_over {
            return mask;
        }
        state.ring.remove(key);
        let gone = state.evict(&[*key]);
        drop(state);
        add(&self.counts.expired_blocks, 1);
        self.remove_files_later(gone);
        0
    }

    /// Stores a block. Returns once it is in the write queue or was rejected.
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
            let bytes = block.pieces.bytes();
            let waits = block.effort == Effort::WaitForOwner;
            if !(self.may_write_soon(bytes).await || waits && self.owner_followed(bytes).await) {
                add(&self.counts.bypassed_blocks, 1);
                return;
            }
            if let Some(gone) = self.admit(&block) {
                let tier = self.clone();
                let demoted = gone.clone();
                system::blocking(move || {
                    let moved = if tier.next.is_some() {
                        tier.read_demoted(&demoted)
                    } else {
                        Vec::new()
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

    /// Waits until all queued blocks are written, for at most `time_max`. Returns whether they are.
    pub(crate) async fn settled(&self, time_max: Duration) -> bool {
        let all = self.places.clone().acquire_many_owned(self.places_max);
        tokio::time::timeout(time_max, all).await.is_ok()
    }

    async fn places_for(&self, block: &NewBlock, store: &Gauge) -> Option<OwnedSemaphorePermit> {
        let wanted = block.pieces.mask().count_ones().min(self.places_max);
        if let Ok(places) = self.places.clone().try_acquire_many_owned(wanted) {
            return Some(places);
        }
        // Backpressure: a fetcher waits for the writer, unless fetching again is faster.
        if self.device.writes_slower_than(store) {
            return None;
        }
        let places = tokio::time::timeout(WAIT_MAX, self.places.clone().acquire_many_owned(wanted)).await;
        places.ok()?.ok()
    }

    /// Makes room for a block. Returns the evicted blocks; `None` if the block is not stored.
    fn admit(&self, block: &NewBlock) -> Option<Vec<EvictedBlock>> {
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
        if block.effort == Effort::IfThereIsRoom
            && is_there.is_none()
            && !state.ring.has_room(block.share(), weight)
        {
            add(&self.counts.scan_blocks, 1);
            return None;
        }
        let pin = block.treatment.is_pinned;
        let Some(dropped) = state.ring.insert(*key, weight, block.share(), pin) else {
            add(&self.counts.refused_blocks, 1);
            return None;
        };
        let is_kept = !dropped.contains(key);
        let gone = state.evict(&dropped);
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
            .map(|ttl| system::wall_ms().saturating_add(ttl));
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

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Drops blocks.
    pub(crate) fn forget(&self, keys: &[BlockKey]) {
        let gone = self.evict(keys);
        self.remove_files(&gone);
    }

    /// Removes blocks from the ring and the index, but not their files.
    fn evict(&self, keys: &[BlockKey]) -> Vec<EvictedBlock> {
        let mut state = self.state.lock();
        for key in keys {
            state.ring.remove(key);
        }
        state.evict(keys)
    }

    /// Returns the blocks of the objects that `which` selects.
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

    /// Returns the cached version of an immutable object.
    pub(crate) fn object_at(&self, endpoint: &str, address: &str) -> Option<Arc<ObjectInfo>> {
        let state = self.state.lock();
        let id = state.by_address.get(address)?;
        let info = state.objects.get(id).map(|object| object.info.clone());
        info.filter(|info| info.endpoint == endpoint)
    }

    /// Updates the pins to the present rules.
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
}
