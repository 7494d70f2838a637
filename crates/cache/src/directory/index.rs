//! Which blocks are in a directory, of which objects, and in which order they leave.

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
    /// Pieces in the file, those on their way not included; `None` of one that was found and not read yet.
    pub(super) mask: Option<u16>,
    pub(super) expires_ms: Option<u64>,
}

pub(super) struct Object {
    pub(super) info: Arc<ObjectInfo>,
    pub(super) blocks: u32,
    pub(super) bytes: u64,
    pub(super) is_pinned: bool,
}

/// A block that leaves.
#[derive(Clone)]
pub(super) struct Leaver {
    pub(super) key: BlockKey,
    pub(super) info: Arc<ObjectInfo>,
    /// Whether it was the last one of its object.
    pub(super) with_object: bool,
    /// Whether its time is limited: then it goes nowhere else.
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

    /// Takes out what the ring has dropped.
    pub(super) fn leave(&mut self, keys: &[BlockKey]) -> Vec<Leaver> {
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
