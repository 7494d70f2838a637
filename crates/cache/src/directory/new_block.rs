//! A block on its way to a directory.

use std::sync::Arc;

use crate::block::{BLOCK_BYTES, BlockKey, Class, Pieces};
use crate::known::Version;
use crate::layout::ObjectInfo;
use crate::ring::ShareId;
use crate::rules::{SHARE_OF_METADATA, Treatment};

/// What is done for a block to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Nothing leaves for it: it is of one pass over everything.
    IfThereIsRoom,
    /// Others leave for it.
    Usual,
    /// The same, and a guest waits until the owner has taken over what it wrote before.
    WaitForOwner,
}

/// A block, or a part of it, to be kept.
#[derive(Clone)]
pub(crate) struct NewBlock {
    pub(crate) key: BlockKey,
    pub(crate) info: Arc<ObjectInfo>,
    pub(crate) treatment: Arc<Treatment>,
    pub(crate) block_bytes: u32,
    pub(crate) pieces: Pieces,
    /// What is done for it to be kept.
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

/// Length of a block: less than others have at an object's end.
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
