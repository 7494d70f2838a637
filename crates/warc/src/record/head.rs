//! The parsed header of a record, before its block is read.

use crate::reason;
use crate::record::headers::Headers;
use crate::record::{Format, Kind};
use crate::span::Defect;

/// Largest accepted header in bytes: enough for several URLs of 32 KiB and embedded JSON.
pub(crate) const HEADER_BYTES_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) format: Format,
    pub(crate) kind: Kind,
    pub(crate) headers: Headers,
    pub(crate) block: BlockLength,
    /// Whether the whole header is known to be UTF-8, which the beginning of a compressed member is
    /// not.
    pub(crate) is_text: bool,
    pub(crate) defects: Vec<Defect>,
}

impl Head {
    /// Returns the number of line ends (LF bytes) after the block in this format: two in WARC, one
    /// in ARC.
    pub(crate) fn line_ends(&self) -> u64 {
        match self.format {
            Format::Warc(..) => 2,
            Format::Arc(_) => 1,
        }
    }

    /// Reports whether this is the version block of an ARC file. Its declared length often includes
    /// the line end after it.
    pub(crate) fn is_arc_file_header(&self) -> bool {
        matches!(self.format, Format::Arc(_)) && self.kind == Kind::Warcinfo
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockLength {
    /// The length declared by the header, in bytes.
    Declared(u64),
    /// The header declares no usable length; the block extends up to the next record.
    UpToNext,
}

/// The result of parsing a header at the start of some bytes.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// A header, and its length in bytes including the empty line at its end.
    Head(Box<Head>, usize),
    /// The header extends beyond the given bytes.
    Incomplete,
    /// Not a header, and no header begins within this number of bytes.
    Invalid(usize, Defect),
}

impl Parsed {
    /// Returns the result for a header that is cut, so that another record begins after this many
    /// bytes.
    pub(crate) fn another_begins(position: usize) -> Parsed {
        let detail = format!("another record begins {position} bytes into this header");
        Parsed::Invalid(position, Defect::new(reason::TRUNCATED_HEADER, detail))
    }
}
