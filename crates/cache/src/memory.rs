//! The memory tier: blocks by key, evicted in the order of the ring.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::block::{BlockKey, Class, ObjectId, Pieces};
use crate::layout::ObjectInfo;
use crate::ring::Ring;

/// Shares of the ring.
const DATA: u16 = 0;
const METADATA: u16 = 1;

/// Memory overhead of a block: its keys in maps and queues.
const ENTRY_BYTES: u64 = 700;

/// Blocks in memory.
pub(crate) struct Memory(Mutex<State>);

struct State {
    ring: Ring<BlockKey>,
    blocks: FxHashMap<BlockKey, Pieces>,
    objects: FxHashMap<ObjectId, Object>,
    evicted: u64,
}

struct Object {
    info: Arc<ObjectInfo>,
    blocks: u32,
}

/// Contents of the memory tier.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MemoryStats {
    /// Capacity in bytes.
    pub capacity_bytes: u64,
    /// Bytes used.
    pub used_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of blocks evicted to make room.
    pub evicted_blocks: u64,
}

impl Memory {
    /// Creates a tier of `capacity` bytes, of which `metadata` bytes are reserved for metadata.
    pub(crate) fn new(capacity: u64, metadata: u64) -> Memory {
        let limits = [capacity.saturating_sub(metadata), metadata];
        Memory(Mutex::new(State {
            ring: Ring::new(capacity, &limits),
            blocks: FxHashMap::default(),
            objects: FxHashMap::default(),
            evicted: 0,
        }))
    }

    /// Returns the pieces of a block, and counts as a read.
    pub(crate) fn get(&self, key: &BlockKey) -> Option<Pieces> {
        let mut state = self.0.lock();
        let pieces = state.blocks.get(key)?.clone();
        state.ring.touch(key);
        Some(pieces)
    }

    /// Adds pieces of a block.
    pub(crate) fn add(&self, key: BlockKey, info: &Arc<ObjectInfo>, pieces: &Pieces) {
        let mut state = self.0.lock();
        let mut all = state.blocks.get(&key).cloned().unwrap_or_default();
        all.add(pieces);
        let share = match key.class {
            Class::Data => DATA,
            Class::Metadata => METADATA,
        };
        let Some(dropped) = state.ring.insert(key, all.bytes() + ENTRY_BYTES, share, false) else {
            return;
        };
        if state.blocks.insert(key, all).is_none() {
            let object = state.objects.entry(key.object).or_insert_with(|| Object {
                info: info.clone(),
                blocks: 0,
            });
            object.blocks += 1;
        }
        for gone in &dropped {
            state.evict(gone);
        }
        state.evicted += dropped.len() as u64;
    }

    /// Drops the blocks of the objects that `which` selects.
    pub(crate) fn forget(&self, which: impl Fn(ObjectId, &ObjectInfo) -> bool) {
        let mut state = self.0.lock();
        let State { blocks, objects, .. } = &*state;
        let is_of = |key: &&BlockKey| {
            objects
                .get(&key.object)
                .is_some_and(|object| which(key.object, &object.info))
        };
        let gone: Vec<BlockKey> = blocks.keys().filter(is_of).copied().collect();
        for key in gone {
            state.ring.remove(&key);
            state.evict(&key);
        }
    }

    /// Returns the objects with blocks in memory, and their bytes.
    pub(crate) fn objects(&self) -> Vec<(Arc<ObjectInfo>, u64)> {
        let state = self.0.lock();
        let mut bytes: FxHashMap<ObjectId, u64> = FxHashMap::default();
        for (key, pieces) in &state.blocks {
            *bytes.entry(key.object).or_default() += pieces.bytes();
        }
        let of =
            |(id, object): (&ObjectId, &Object)| (object.info.clone(), bytes.get(id).copied().unwrap_or(0));
        state.objects.iter().map(of).collect()
    }

    pub(crate) fn stats(&self) -> MemoryStats {
        let state = self.0.lock();
        MemoryStats {
            capacity_bytes: state.ring.capacity(),
            used_bytes: state.ring.used(),
            blocks: state.ring.len() as u64,
            evicted_blocks: state.evicted,
        }
    }
}

impl State {
    fn evict(&mut self, key: &BlockKey) {
        if self.blocks.remove(key).is_none() {
            return;
        }
        if let Some(object) = self.objects.get_mut(&key.object) {
            object.blocks -= 1;
            if object.blocks == 0 {
                self.objects.remove(&key.object);
            }
        }
    }
}
