//! A record's header as parsed, before its block is read.

use crate::entry::Defect;
use crate::record::headers::Headers;
use crate::record::{Format, Kind};

/// Largest header accepted, in bytes: URLs of 32 KiB and embedded JSON fit several times.
pub(crate) const HEADER_BYTES_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) format: Format,
    pub(crate) kind: Kind,
    pub(crate) headers: Headers,
    pub(crate) block: BlockLength,
    pub(crate) defects: Vec<Defect>,
}

impl Head {
    /// Line ends (as LF bytes) that the format puts after the block.
    pub(crate) fn line_ends(&self) -> u64 {
        match self.format {
            Format::Warc(..) => 2,
            Format::Arc(_) => 1,
        }
    }

    /// Whether it describes an ARC file: its length often counts the line end after it.
    pub(crate) fn is_arc_file_header(&self) -> bool {
        matches!(self.format, Format::Arc(_)) && self.kind == Kind::Warcinfo
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockLength {
    /// As the header says.
    Declared(u64),
    /// Up to the next record: the header does not say.
    UpToNext,
}

/// Outcome of parsing a header at the start of some bytes.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// A header of so many bytes, its ending line included.
    Head(Box<Head>, usize),
    /// The header goes on beyond the bytes given.
    Incomplete,
    /// Not a header; no header begins within the first so many bytes.
    Invalid(usize, Defect),
}
