//! Items passed between the stages of a scan.

use std::sync::Arc;

use pipeline::Item;
use rustix::io::Errno;

use crate::attributes::Entry;
use crate::diff::Difference;
use crate::rows::Stamp;
use crate::spill::Runs;
use crate::walk::{Dir, Piece, PieceContent};

/// A piece for STAT.
pub(super) struct Work(pub(super) Piece);

impl Item for Work {
    fn count(&self) -> u64 {
        match &self.0.found {
            PieceContent::Names { names, .. } | PieceContent::Some { names, .. } => names.len() as u64,
            _ => 1,
        }
    }

    fn bytes(&self) -> u64 {
        match &self.0.found {
            PieceContent::Names { names, .. } | PieceContent::Some { names, .. } => names.bytes() as u64 + 64,
            _ => 64,
        }
    }
}

/// Names with their attributes, or the error.
pub(super) struct ExaminedPiece {
    pub(super) dir: Arc<Dir>,
    pub(super) number: u32,
    pub(super) found: Examined,
}

pub(super) enum Examined {
    Entries {
        entries: Vec<Entry>,
        /// Names that could not be examined.
        faults: Vec<(Box<[u8]>, Errno)>,
        is_last: bool,
    },
    Fault(Errno),
    /// Entries of some directories in it.
    Some(Vec<Entry>),
    Known,
}

impl Item for ExaminedPiece {
    fn count(&self) -> u64 {
        match &self.found {
            Examined::Entries { entries, .. } | Examined::Some(entries) => entries.len() as u64,
            _ => 1,
        }
    }

    fn bytes(&self) -> u64 {
        self.count() * 200
    }
}

/// The result of reading a directory.
pub(super) enum Gathered {
    Entries {
        entries: Sorted,
        /// Read errors of names, or of the directory itself under the empty name.
        faults: Vec<(Box<[u8]>, Errno)>,
        /// Its times before it was read. Empty if they are so recent that a later change might
        /// leave them unchanged; a resumed scan then reads it again.
        stamp: Stamp,
    },
    /// Some directories in it, in order of name.
    Some(Vec<Entry>),
    Known,
}

/// Entries in order of name.
pub(super) enum Sorted {
    InMemory(Vec<Entry>),
    OnDisk(Runs, u64),
}

impl Gathered {
    pub(super) fn count(&self) -> u64 {
        match self {
            Gathered::Entries {
                entries: Sorted::InMemory(entries),
                ..
            } => entries.len() as u64,
            Gathered::Entries {
                entries: Sorted::OnDisk(_, count),
                ..
            } => *count,
            Gathered::Some(entries) => entries.len() as u64,
            Gathered::Known => 1,
        }
    }
}

/// A directory that was read, and whether it is catalogued.
pub(super) struct GatheredDir {
    pub(super) dir: Arc<Dir>,
    /// Whether it has a row. Without one it has no catalogued entries.
    pub(super) is_known: bool,
    pub(super) found: Gathered,
}

impl Item for GatheredDir {
    fn count(&self) -> u64 {
        self.found.count()
    }

    fn bytes(&self) -> u64 {
        self.count() * 200
    }
}

/// Differences of a directory; the last part also says how to update its row.
pub(super) struct DirDifference {
    pub(super) dir: Arc<Dir>,
    pub(super) difference: Difference,
    pub(super) end: Option<End>,
}

pub(super) enum End {
    Read {
        is_whole: bool,
        stamp: Stamp,
        entries: u64,
        faults: Vec<(Box<[u8]>, Errno)>,
    },
    /// Only some names were examined.
    Some {
        entries: u64,
    },
    Known,
}

impl Item for DirDifference {
    fn count(&self) -> u64 {
        self.difference.counts.entries
    }

    fn bytes(&self) -> u64 {
        // Its own size, and the rows of directories and sums that it will produce.
        self.difference.bytes() as u64 + 500
    }
}
