//! The index of a directory: its blocks, their objects, and their order of eviction.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::block::{BlockKey, ObjectId, PIECE_BYTES, Pieces};
use crate::layout::ObjectInfo;
use crate::ring::Ring;

pub(super) struct State {
    pub(super) ring: Ring<BlockKey>,
    pub(super) blocks: FxHashMap<BlockKey, Block>,
    pub(super) objects: FxHashMap<ObjectId, Object>,
    pub(super) by_address: FxHashMap<String, ObjectId>,
    pub(super) waiting: FxHashMap<BlockKey, Pieces>,
    pub(super) waiting_bytes: u64,
}

pub(super) struct Block {
    /// Pieces in the file, without those still being written. `None` if the block was found on disk
    /// and not read yet.
    pub(super) mask: Option<u16>,
    pub(super) expires_ms: Option<u64>,
}

pub(super) struct Object {
    pub(super) info: Arc<ObjectInfo>,
    pub(super) blocks: u32,
    pub(super) bytes: u64,
    pub(super) is_pinned: bool,
}

/// An evicted block.
#[derive(Clone)]
pub(super) struct EvictedBlock {
    pub(super) key: BlockKey,
    pub(super) info: Arc<ObjectInfo>,
    /// Whether it was the last block of its object.
    pub(super) with_object: bool,
    /// Whether it has a time limit. Such blocks do not move to another directory.
    pub(super) is_timed: bool,
}

impl State {
    pub(super) fn enter(
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

    pub(super) fn grow(&mut self, object: ObjectId, bytes: u64) {
        if let Some(object) = self.objects.get_mut(&object) {
            object.bytes += bytes;
        }
    }

    /// Removes the blocks that the ring has evicted.
    pub(super) fn evict(&mut self, keys: &[BlockKey]) -> Vec<EvictedBlock> {
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
            // Approximate: the space of a block found on disk is counted by its file, which is
            // slightly larger.
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
            gone.push(EvictedBlock {
                key: *key,
                info,
                with_object,
                is_timed: block.expires_ms.is_some(),
            });
        }
        gone
    }
}
