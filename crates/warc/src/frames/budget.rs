//! Limits how many bytes are read again, so that the time for hostile input is proportional to its
//! size.

/// Number of bytes that may always be read again.
const FREE_BYTES: u64 = 64 << 20;

/// Beyond that, how often each byte of the input read so far may be read again.
const TIMES: u64 = 4;

/// The number of bytes read again so far.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    spent: u64,
}

impl Budget {
    /// Returns whether `bytes` may be read again after `position` bytes of the input. If so, counts
    /// them.
    pub(crate) fn allows(&mut self, bytes: u64, position: u64) -> bool {
        let allowed = self.spent <= FREE_BYTES.saturating_add(position.saturating_mul(TIMES));
        if allowed {
            self.spent = self.spent.saturating_add(bytes);
        }
        allowed
    }
}
