//! What a reader gives: the stretches of an input, in file order, without gap or overlap.

use crate::record::Record;

/// One stretch of an input.
#[derive(Debug)]
#[non_exhaustive]
pub enum Entry {
    /// A record.
    Record(Record),
    /// Bytes between records that carry nothing (empty gzip members, surplus line ends, skippable frames).
    Padding(Span),
    /// Bytes that could not be read as a record.
    Quarantined(Span, Defect),
}

impl Entry {
    /// Where the stretch stands in the file.
    pub fn span(&self) -> Span {
        match self {
            Entry::Record(record) => record.span,
            Entry::Padding(span) | Entry::Quarantined(span, _) => *span,
        }
    }
}

/// A stretch of the file as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte, from the start of the file.
    pub offset: u64,
    /// Bytes of the file, as stored (compressed where the file is).
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

    /// First byte after the stretch.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// What was wrong: `reason` is one of the words in [`crate::reason`], `detail` is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// Short kebab-case word out of [`crate::reason`], for example `truncated-member`.
    pub reason: &'static str,
    /// What was found, what was expected.
    pub detail: String,
}

impl Defect {
    /// A defect with its explanation.
    pub fn new(reason: &'static str, detail: impl Into<String>) -> Defect {
        Defect {
            reason,
            detail: detail.into(),
        }
    }
}
