//! The entries of an input: consecutive parts in file order, without gap or overlap.

use crate::record::Record;
use crate::span::{Defect, Span};

/// One part of an input.
#[derive(Debug)]
#[non_exhaustive]
pub enum Entry {
    /// A record.
    Record(Record),
    /// Bytes between records without content (empty gzip members, surplus line ends, skippable
    /// frames).
    Padding(Span),
    /// Bytes that could not be read as a record.
    Quarantined(Span, Defect),
}

impl Entry {
    /// Returns the entry's position in the file.
    pub fn span(&self) -> Span {
        match self {
            Entry::Record(record) => record.span,
            Entry::Padding(span) | Entry::Quarantined(span, _) => *span,
        }
    }
}
