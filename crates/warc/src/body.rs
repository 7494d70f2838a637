//! A record's block as it is read: kept up to a limit, counted whole.

use crate::payload::Checks;
use crate::resync::{Search, Searcher};
use crate::warc_header::trim_line_end;

/// Collects a block.
pub(crate) struct Body {
    /// The first bytes of the block, at most `bytes_max`.
    pub(crate) kept: Vec<u8>,
    /// Bytes seen.
    pub(crate) length: u64,
    bytes_max: u64,
    pub(crate) checks: Checks,
}

impl Body {
    /// `kept` lends its memory.
    pub(crate) fn new(mut kept: Vec<u8>, bytes_max: u64) -> Body {
        kept.clear();
        Body {
            kept,
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
        self.kept.extend_from_slice(&bytes[..kept]);
        self.length += bytes.len() as u64;
        self.checks.update(bytes);
    }

    /// Forgets the bytes seen; nothing is checked any more.
    pub(crate) fn restart(&mut self) {
        self.kept.clear();
        self.length = 0;
        self.checks = Checks::default();
    }

    /// Whether a record begins inside the block, or may do so in the part not kept.
    pub(crate) fn may_hold_record(&self) -> bool {
        (self.kept.len() as u64) < self.length
            || matches!(Searcher::new(false).search(&self.kept, true), Search::Found(_))
    }

    /// Drops up to `count` line ends at the end of a block that is kept whole.
    pub(crate) fn trim_line_ends(&mut self, count: u64) {
        if self.kept.len() as u64 == self.length {
            self.kept.truncate(without_line_ends(&self.kept, count));
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
