//! A part of an input, and what can be wrong with it.

/// A range of bytes of the file as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte, from the start of the file.
    pub offset: u64,
    /// Number of bytes as stored (compressed bytes in a compressed file).
    pub length: u64,
}

impl Span {
    /// From `offset` up to, not including, `end`; empty if `end` is not after `offset`.
    pub fn between(offset: u64, end: u64) -> Span {
        Span {
            offset,
            length: end.saturating_sub(offset),
        }
    }

    /// Offset of the first byte after the range.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// What was wrong: `reason` is one of the words in [`crate::reason`], `detail` is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// A short kebab-case word from [`crate::reason`], for example `truncated-member`.
    pub reason: &'static str,
    /// What was found and what was expected.
    pub detail: String,
}

impl Defect {
    /// Makes a defect with its explanation for people.
    pub fn new(reason: &'static str, detail: impl Into<String>) -> Defect {
        Defect {
            reason,
            detail: detail.into(),
        }
    }
}
