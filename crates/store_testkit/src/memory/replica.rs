//! One replica: its index entry and its file.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use store_protocol::{BLOCK_BYTES, BlockHasher, BlockSet, BlockTable, Meta, ReplicaState, SurveyEntry};

/// One replica: the index entry (`meta`, `bad`), and the file (`content`, missing if `None`).
#[derive(Clone)]
pub struct Replica {
    pub meta: Meta,
    pub table: Arc<BlockTable>,
    pub content: Option<Vec<u8>>,
    pub bad: Option<String>,
    pub bad_blocks: Option<BlockSet>,
}

impl Replica {
    pub(super) fn new(meta: Meta, content: Vec<u8>) -> Self {
        Self {
            meta,
            table: Arc::new(table(&content).0),
            content: Some(content),
            bad: None,
            bad_blocks: None,
        }
    }

    /// Returns whether the bytes match the digest.
    pub fn is_sound(&self) -> bool {
        let root = |content: &Vec<u8>| table(content).1;
        self.content.as_ref().map(root) == Some(self.meta.digests.blake3)
    }

    /// Returns the blocks that differ from the table, judged by the content alone.
    pub(super) fn find_bad_blocks(&self) -> BlockSet {
        let content = self.content.as_deref().unwrap_or_default();
        let mut bad = BlockSet::default();
        for block in 0..store_protocol::block_count(self.meta.size) {
            let place = |at: u64| usize::try_from(at * BLOCK_BYTES).unwrap().min(content.len());
            let there = &content[place(block)..place(block + 1)];
            if !self.table.holds(block, there) {
                bad.push(block..block + 1);
            }
        }
        bad
    }

    pub(super) fn surveyed(&self) -> SurveyEntry {
        let (key, version) = (self.meta.key.clone(), self.meta.version);
        let (deleted, size) = (self.meta.deleted, self.meta.size);
        let Some(content) = &self.content else {
            return SurveyEntry::FileMissing {
                key,
                version,
                deleted,
            };
        };
        let state = if content.len() as u64 == size {
            self.state()
        } else {
            ReplicaState::Bad("another length".to_owned())
        };
        SurveyEntry::Replica {
            key,
            version,
            deleted,
            size,
            blake3: HEXLOWER.encode(&self.meta.digests.blake3),
            state,
            bad_blocks: self.bad_blocks.clone(),
        }
    }
}

/// Returns the block table and the root.
pub fn table(content: &[u8]) -> (BlockTable, [u8; 32]) {
    let mut hasher = BlockHasher::default();
    hasher.update(content);
    hasher.finish()
}
