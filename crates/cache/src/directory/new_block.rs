//! A block to be stored in a directory.

use std::sync::Arc;

use crate::block::{BLOCK_BYTES, BlockKey, Class, Pieces};
use crate::layout::ObjectInfo;
use crate::ring::ShareId;
use crate::rules::{SHARE_OF_METADATA, Treatment};
use crate::versions::Version;

/// The effort to make room for a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Stores it only if there is room, for blocks of a full scan.
    IfThereIsRoom,
    /// Evicts other blocks.
    Usual,
    /// Evicts other blocks; a guest waits until the owner has accounted for its earlier writes.
    WaitForOwner,
}

/// A block, or a part of one, to be stored.
#[derive(Clone)]
pub(crate) struct NewBlock {
    pub(crate) key: BlockKey,
    pub(crate) info: Arc<ObjectInfo>,
    pub(crate) treatment: Arc<Treatment>,
    pub(crate) block_bytes: u32,
    pub(crate) pieces: Pieces,
    /// The effort to make room.
    pub(crate) effort: Effort,
}

impl NewBlock {
    pub(crate) fn new(key: BlockKey, version: &Version, pieces: Pieces, effort: Effort) -> NewBlock {
        NewBlock {
            key,
            info: version.info.clone(),
            treatment: version.treatment.clone(),
            block_bytes: block_bytes(&key, &version.info),
            pieces,
            effort,
        }
    }

    pub(super) fn share(&self) -> ShareId {
        share(self.key.class, &self.treatment)
    }
}

/// Returns the length of a block. The last block of an object is shorter.
pub(super) fn block_bytes(key: &BlockKey, info: &ObjectInfo) -> u32 {
    let from = u64::from(key.block) * BLOCK_BYTES;
    let rest = info.description.size_bytes.saturating_sub(from).min(BLOCK_BYTES);
    u32::try_from(rest).unwrap_or(0)
}

pub(super) fn share(class: Class, treatment: &Treatment) -> ShareId {
    match class {
        Class::Metadata => SHARE_OF_METADATA,
        Class::Data => treatment.share,
    }
}
