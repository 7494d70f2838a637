//! A bound on bytes looked at more than once, so that hostile bytes cost time in proportion to their number.

/// Bytes that may always be looked at again.
const FREE_BYTES: u64 = 64 << 20;

/// Beyond that: times that each byte read may be looked at again.
const TIMES: u64 = 4;

/// Bytes looked at again so far.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    spent: u64,
}

impl Budget {
    /// Whether `bytes` may be looked at again, `position` bytes of the input having been read. Then they count.
    pub(crate) fn allows(&mut self, bytes: u64, position: u64) -> bool {
        let allowed = self.spent <= FREE_BYTES.saturating_add(position.saturating_mul(TIMES));
        if allowed {
            self.spent = self.spent.saturating_add(bytes);
        }
        allowed
    }
}
