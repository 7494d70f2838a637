//! A record's block as it is read: kept up to a limit, counted whole.

use crate::record::payload::Checks;
use crate::record::start::{Search, Searcher};
use crate::record::warc::trim_line_end;

/// Bytes that are filled in step by step. What lies beyond them was written before and need not be cleared.
///
/// Invariant: `filled` ≤ `bytes.len()`.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    filled: usize,
}

impl Buffer {
    /// Empty; `bytes` lends its memory.
    pub(crate) fn reusing(bytes: Vec<u8>) -> Buffer {
        Buffer { bytes, filled: 0 }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    pub(crate) fn len(&self) -> usize {
        self.filled
    }

    /// Room for exactly so many bytes after those filled.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.filled + bytes;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.filled..end]
    }

    /// So many bytes of the room are filled.
    pub(crate) fn fill(&mut self, bytes: usize) {
        self.filled = (self.filled + bytes).min(self.bytes.len());
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        let end = self.filled + bytes.len();
        if end <= self.bytes.len() {
            self.bytes[self.filled..end].copy_from_slice(bytes);
        } else {
            self.bytes.truncate(self.filled);
            self.bytes.extend_from_slice(bytes);
        }
        self.filled = end;
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.filled = self.filled.min(length);
    }

    pub(crate) fn into_vec(mut self) -> Vec<u8> {
        self.bytes.truncate(self.filled);
        self.bytes
    }
}

/// Collects a block.
pub(crate) struct Body {
    /// The first bytes of the block, at most `bytes_max`.
    pub(crate) kept: Buffer,
    /// Bytes seen.
    pub(crate) length: u64,
    bytes_max: u64,
    pub(crate) checks: Checks,
}

impl Body {
    /// `kept` lends its memory.
    pub(crate) fn new(kept: Vec<u8>, bytes_max: u64) -> Body {
        Body {
            kept: Buffer::reusing(kept),
            length: 0,
            bytes_max,
            checks: Checks::default(),
        }
    }

    /// Bytes that will still be kept.
    pub(crate) fn room(&self) -> u64 {
        self.bytes_max.saturating_sub(self.length)
    }

    /// Keeps `bytes` as far as there is room, and counts them.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let kept = usize::try_from(self.room())
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        self.kept.extend(&bytes[..kept]);
        self.length += bytes.len() as u64;
        self.checks.update(bytes);
    }

    /// Forgets the bytes seen; nothing is checked any more.
    pub(crate) fn restart(&mut self) {
        self.kept.truncate(0);
        self.length = 0;
        self.checks = Checks::default();
    }

    /// Whether all bytes seen are kept.
    pub(crate) fn is_whole(&self) -> bool {
        self.kept.len() as u64 == self.length
    }

    /// Whether a record may begin inside the block: in the part that is kept, in the part that is not, or so near its
    /// end that the bytes behind it decide. The answer only says whether the block is worth a second look; were it
    /// "no" where a block that is not kept gets that look, records would end elsewhere when bodies are skipped.
    pub(crate) fn may_hold_record(&self) -> bool {
        let kept = self.kept.as_slice();
        !self.is_whole()
            || match Searcher::new(false).search(kept, false) {
                Search::Found(_) => true,
                Search::NotBefore(bytes) => bytes < kept.len(),
            }
    }

    /// Drops up to `count` line ends at the end of a block that is kept whole.
    pub(crate) fn trim_line_ends(&mut self, count: u64) {
        if self.is_whole() {
            self.kept.truncate(without_line_ends(self.kept.as_slice(), count));
            self.length = self.kept.len() as u64;
        }
    }
}

/// Length of `bytes` without up to `count` line ends at their end.
pub(crate) fn without_line_ends(mut bytes: &[u8], count: u64) -> usize {
    for _ in 0..count {
        let [rest @ .., b'\n'] = bytes else { break };
        bytes = trim_line_end(rest);
    }
    bytes.len()
}
