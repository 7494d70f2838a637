//! BLAKE3 by blocks: each byte is hashed once, any block can be verified alone, and the blocks'
//! values combine to the plain BLAKE3 of the whole.
//!
//! A block of [`BLOCK_BYTES`] is a whole subtree of BLAKE3's tree (a power of two of its 1,024-byte
//! chunks), so its chaining value is a node of that tree, and joining the values as the tree does
//! gives the root (BLAKE3 paper, 2.1 and 2.4). An object of one block has no inner node: its single
//! value is the root.

use std::sync::Arc;

use blake3::Hasher;
use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};

use futures_util::future::{BoxFuture, Shared};

use crate::meta::BLOCK_BYTES;

/// Chaining values of all blocks of one object, in order. An empty object has one empty block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockTable(Vec<[u8; 32]>);

/// The digests of content that has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashedContent {
    /// The values of its blocks.
    pub table: BlockTable,
    /// BLAKE3 of the whole.
    pub blake3: [u8; 32],
}

/// The digests of content that is still passing; `None` if it is cut short.
pub type ContentBlocks = Shared<BoxFuture<'static, Option<Arc<HashedContent>>>>;

/// Computes the table while content passes.
pub struct BlockHasher {
    done: Vec<[u8; 32]>,
    block: Hasher,
    /// Bytes in `block`, at most [`BLOCK_BYTES`].
    block_bytes: u64,
}

impl BlockTable {
    /// Makes a table from stored values. Compare [`BlockTable::root`] with an object's BLAKE3 to
    /// find out whether it belongs to the object.
    pub fn from_values(values: Vec<[u8; 32]>) -> Self {
        Self(values)
    }

    /// Returns the values, in order.
    pub fn values(&self) -> &[[u8; 32]] {
        &self.0
    }

    /// Returns the BLAKE3 of the object that these blocks make up, or `None` for a table without
    /// blocks.
    pub fn root(&self) -> Option<[u8; 32]> {
        match self.0.as_slice() {
            [] => None,
            [only] => Some(*only),
            values => {
                let (left, right) = values.split_at(left_blocks(values.len()));
                Some(*merge_subtrees_root(&subtree(left), &subtree(right), Mode::Hash).as_bytes())
            }
        }
    }

    /// Returns whether `bytes` are block `index`. Returns false for a block that the table does not
    /// have.
    pub fn holds(&self, index: u64, bytes: &[u8]) -> bool {
        let only = self.0.len() == 1;
        // BLAKE3 has no inner node for empty input, nor for more bytes than fit at its place in the
        // tree.
        if bytes.len() as u64 > BLOCK_BYTES || (bytes.is_empty() && !only) {
            return false;
        }
        let value = usize::try_from(index).ok().and_then(|index| self.0.get(index));
        value.is_some_and(|value| *value == block_value(index, bytes, only))
    }

    /// Returns the value that `bytes`, at most [`BLOCK_BYTES`], would have as block `index`. Damage
    /// reports show it as the value found.
    pub fn value_of(&self, index: u64, bytes: &[u8]) -> [u8; 32] {
        let only = self.0.len() == 1;
        if bytes.is_empty() || bytes.len() as u64 > BLOCK_BYTES {
            return *blake3::hash(bytes).as_bytes();
        }
        block_value(index, bytes, only)
    }
}

impl Default for BlockHasher {
    fn default() -> Self {
        Self {
            done: Vec::new(),
            block: Hasher::new(),
            block_bytes: 0,
        }
    }
}

impl BlockHasher {
    /// Adds the next bytes of the content.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            // A full block is closed only when more bytes arrive: the last block must stay open for
            // `finish`, because an object of one block is hashed as a root.
            if self.block_bytes == BLOCK_BYTES {
                self.close_block();
            }
            let room = usize::try_from(BLOCK_BYTES - self.block_bytes).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.block.update(now);
            self.block_bytes += now.len() as u64;
            bytes = later;
        }
    }

    /// Returns the number of bytes added so far.
    pub fn size(&self) -> u64 {
        self.done.len() as u64 * BLOCK_BYTES + self.block_bytes
    }

    /// Returns the table and the root.
    pub fn finish(mut self) -> (BlockTable, [u8; 32]) {
        if self.done.is_empty() {
            let root = *self.block.finalize().as_bytes();
            return (BlockTable(vec![root]), root);
        }
        // There are other blocks, so the last one is an inner node, not the root.
        self.done.push(self.block.finalize_non_root());
        let (left, right) = self.done.split_at(left_blocks(self.done.len()));
        let root = *merge_subtrees_root(&subtree(left), &subtree(right), Mode::Hash).as_bytes();
        (BlockTable(self.done), root)
    }

    /// Closes the current block. Called only if more content follows, so the block is never the
    /// only one.
    fn close_block(&mut self) {
        self.done.push(self.block.finalize_non_root());
        // `reset` would keep the input offset of the previous block, so a new hasher is made.
        self.block = Hasher::new();
        self.block.set_input_offset(self.done.len() as u64 * BLOCK_BYTES);
        self.block_bytes = 0;
    }
}

/// Returns the length in bytes of a block of an object of `size` bytes. It is 0 after the end of
/// the object, and for the one block of an empty object.
pub fn block_bytes(block: u64, size: u64) -> usize {
    let rest = size.saturating_sub(block.saturating_mul(BLOCK_BYTES));
    usize::try_from(rest.min(BLOCK_BYTES)).unwrap_or(usize::MAX)
}

/// Returns the number of blocks of an object of `size` bytes: at least one.
pub fn block_count(size: u64) -> u64 {
    size.div_ceil(BLOCK_BYTES).max(1)
}

/// Returns the value of one block. `only` means that the object has no other block.
pub fn block_value(index: u64, bytes: &[u8], only: bool) -> [u8; 32] {
    let mut hasher = Hasher::new();
    if only {
        return *hasher.update(bytes).finalize().as_bytes();
    }
    hasher.set_input_offset(index * BLOCK_BYTES);
    hasher.update(bytes).finalize_non_root()
}

/// Returns the value of the subtree over some blocks. `values` must not be empty.
fn subtree(values: &[[u8; 32]]) -> [u8; 32] {
    match values {
        [only] => *only,
        values => {
            let (left, right) = values.split_at(left_blocks(values.len()));
            merge_subtrees_non_root(&subtree(left), &subtree(right), Mode::Hash)
        }
    }
}

/// Returns the number of blocks in the left subtree of a tree of `blocks` (two or more): the
/// largest power of two below `blocks`.
fn left_blocks(blocks: usize) -> usize {
    // For a power of two this is half of it: both subtrees are then full (BLAKE3 paper, 2.1).
    blocks.next_power_of_two() / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_the_plain_digest_whatever_the_pieces() {
        let content: Vec<u8> = (0..BLOCK_BYTES * 5 + 77).map(|i| (i * 7 % 251) as u8).collect();
        for size in [
            0,
            1,
            1024,
            BLOCK_BYTES - 1,
            BLOCK_BYTES,
            BLOCK_BYTES + 1,
            BLOCK_BYTES * 2,
            BLOCK_BYTES * 3,
            BLOCK_BYTES * 5 + 77,
        ] {
            let content = &content[..size as usize];
            for piece in [1000, 65_536, usize::MAX] {
                let mut hasher = BlockHasher::default();
                content
                    .chunks(piece.min(content.len().max(1)))
                    .for_each(|piece| hasher.update(piece));
                assert_eq!(hasher.size(), size);
                let (table, root) = hasher.finish();
                assert_eq!(root, *blake3::hash(content).as_bytes(), "{size} bytes");
                assert_eq!(table.root(), Some(root));
                assert_eq!(table.values().len() as u64, block_count(size));
                for (index, block) in content.chunks(BLOCK_BYTES as usize).enumerate() {
                    assert!(table.holds(index as u64, block));
                    assert!(!table.holds(index as u64 + 1, block));
                    assert!(!table.holds(index as u64, &block[1..]));
                }
            }
        }
    }
}
