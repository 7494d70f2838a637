//! The block of a record while it is read: stored up to a limit, but counted completely.

use crate::buffer::Buffer;
use crate::reader::stored_record::Spool;
use crate::record::line::trim_line_end;
use crate::record::payload::Checks;
use crate::record::start::{Search, Searcher};

/// Collects a block.
pub(crate) struct Body {
    /// The first bytes of the block, at most `bytes_max`.
    pub(crate) kept: Buffer,
    /// Number of bytes of the block read so far.
    pub(crate) length: u64,
    bytes_max: u64,
    /// The part that exceeds `kept`, if the caller wants it.
    pub(crate) rest: Option<Spool>,
    pub(crate) checks: Checks,
}

impl Body {
    /// Creates an empty body that uses the memory of `kept`.
    pub(crate) fn new(kept: Vec<u8>, bytes_max: u64) -> Body {
        Body {
            kept: Buffer::reusing(kept),
            length: 0,
            bytes_max,
            rest: None,
            checks: Checks::default(),
        }
    }

    /// Returns the number of bytes that can still be stored.
    pub(crate) fn room(&self) -> u64 {
        self.bytes_max.saturating_sub(self.length)
    }

    /// Stores `bytes` as far as there is room, and counts all of them.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let kept = usize::try_from(self.room())
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        self.kept.extend(&bytes[..kept]);
        if let Some(rest) = &mut self.rest {
            rest.push(&bytes[kept..]);
        }
        self.length += bytes.len() as u64;
        self.checks.update(bytes);
    }

    /// Discards the bytes read so far, and stops computing digests.
    pub(crate) fn restart(&mut self) {
        self.kept.truncate(0);
        self.length = 0;
        if let Some(rest) = &mut self.rest {
            rest.clear();
        }
        self.checks = Checks::default();
    }

    /// Reports whether all bytes read so far are stored.
    pub(crate) fn is_whole(&self) -> bool {
        self.kept.len() as u64 == self.length
    }

    /// Returns whether a record may begin inside the block: in the stored part, in the part beyond
    /// it, or so near the end that the bytes after the block decide. The result only decides
    /// whether the block is searched. It must be true for a block that is not completely stored, or
    /// else records would end at different positions when bodies are skipped.
    pub(crate) fn may_hold_record(&self) -> bool {
        let kept = self.kept.as_slice();
        !self.is_whole()
            || match Searcher::new(false).search(kept, false) {
                Search::Found(_) => true,
                Search::NotBefore(bytes) => bytes < kept.len(),
            }
    }

    /// Drops up to `count` line ends at the end of a completely stored block.
    pub(crate) fn trim_line_ends(&mut self, count: u64) {
        if self.is_whole() {
            self.kept.truncate(without_line_ends(self.kept.as_slice(), count));
            self.length = self.kept.len() as u64;
        }
    }
}

/// Returns the length of `bytes` without up to `count` trailing line ends.
pub(crate) fn without_line_ends(mut bytes: &[u8], count: u64) -> usize {
    for _ in 0..count {
        let [rest @ .., b'\n'] = bytes else { break };
        bytes = trim_line_end(rest);
    }
    bytes.len()
}
