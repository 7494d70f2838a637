//! Items passed between the stages of a scan.

use std::sync::Arc;

use pipeline::Item;
use rustix::io::Errno;

use super::gather::Gathered;
use crate::attributes::Entry;
use crate::diff::Difference;
use crate::rows::Stamp;
use crate::walk::{Dir, Found, Piece};

/// A piece for STAT.
pub(super) struct Work(pub(super) Piece);

impl Item for Work {
    fn count(&self) -> u64 {
        match &self.0.found {
            Found::Names { names, .. } | Found::Some { names, .. } => names.len() as u64,
            _ => 1,
        }
    }

    fn bytes(&self) -> u64 {
        match &self.0.found {
            Found::Names { names, .. } | Found::Some { names, .. } => names.bytes() as u64 + 64,
            _ => 64,
        }
    }
}

/// Names with their attributes, or the error.
pub(super) struct LookedAt {
    pub(super) dir: Arc<Dir>,
    pub(super) number: u32,
    pub(super) found: LookedFound,
}

pub(super) enum LookedFound {
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

impl Item for LookedAt {
    fn count(&self) -> u64 {
        match &self.found {
            LookedFound::Entries { entries, .. } | LookedFound::Some(entries) => entries.len() as u64,
            _ => 1,
        }
    }

    fn bytes(&self) -> u64 {
        self.count() * 200
    }
}

/// A directory that was read, and whether it is catalogued.
pub(super) struct LookedUp {
    pub(super) dir: Arc<Dir>,
    /// Whether it has a row. Without one it has no catalogued entries.
    pub(super) is_known: bool,
    pub(super) found: Gathered,
}

impl Item for LookedUp {
    fn count(&self) -> u64 {
        self.found.count()
    }

    fn bytes(&self) -> u64 {
        self.count() * 200
    }
}

/// Differences of a directory; the last part also says how to update its row.
pub(super) struct Differs {
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

impl Item for Differs {
    fn count(&self) -> u64 {
        self.difference.counts.entries
    }

    fn bytes(&self) -> u64 {
        // Its own size, and the rows of directories and sums that it will produce.
        self.difference.bytes() as u64 + 500
    }
}
