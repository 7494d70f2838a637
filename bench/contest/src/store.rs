//! A store of blocks that are generated on request.

use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::BLOCK_BYTES;

/// A store with a delay, which has every block.
pub struct Store {
    delay: Duration,
    content: Vec<u8>,
}

impl Store {
    /// `delay` is the time until an answer; its bytes then arrive at once.
    pub fn new(delay: Duration) -> Store {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut content = Vec::with_capacity(BLOCK_BYTES as usize);
        while content.len() < BLOCK_BYTES as usize {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            content.extend_from_slice(&state.to_le_bytes());
        }
        Store { delay, content }
    }

    /// Waits for the delay of an answer.
    pub async fn wait(&self) {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
    }

    /// Returns a block: content that all blocks share, with the block's number at the beginning and
    /// the end.
    pub fn block(&self, number: u64) -> Bytes {
        let mut bytes = BytesMut::from(self.content.as_slice());
        let end = bytes.len() - 8;
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes[end..].copy_from_slice(&number.to_le_bytes());
        bytes.freeze()
    }
}

/// Returns whether pieces are those of a block, by their length and both ends.
pub fn is_block(number: u64, pieces: &[Bytes]) -> bool {
    let length: usize = pieces.iter().map(Bytes::len).sum();
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else {
        return false;
    };
    length as u64 == BLOCK_BYTES
        && first.starts_with(&number.to_le_bytes())
        && last.ends_with(&number.to_le_bytes())
}
