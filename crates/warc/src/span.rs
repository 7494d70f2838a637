//! A range of an input, and its possible defects.

/// A range of stored bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte, from the start of the file.
    pub offset: u64,
    /// Number of bytes as stored (compressed bytes in a compressed file).
    pub length: u64,
}

impl Span {
    /// Returns the span from `offset` up to, but not including, `end`; empty if `end` is not after
    /// `offset`.
    pub fn between(offset: u64, end: u64) -> Span {
        Span {
            offset,
            length: end.saturating_sub(offset),
        }
    }

    /// Returns the offset of the first byte after the range.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// A defect: `reason` is one of the words in [`crate::reason`], `detail` is human-readable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// A short kebab-case word from [`crate::reason`], for example `truncated-member`.
    pub reason: &'static str,
    /// The found and the expected values.
    pub detail: String,
}

impl Defect {
    /// Creates a defect with a human-readable detail.
    pub fn new(reason: &'static str, detail: impl Into<String>) -> Defect {
        Defect {
            reason,
            detail: detail.into(),
        }
    }
}
