//! The file catalogue: what file systems hold, kept as tables that scans bring up to date.
//!
//! [`Catalogue::scan`] walks a tree, and compares it with the catalogue in stages. Sums by owner, group, kind, format and
//! directory change with the same commits, so that reports are there at once ([`Catalogue::groups`], [`Catalogue::usage`]).
//! The byte-level description of the tables is `docs/files.md`.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod ask;
mod attributes;
mod catalogue;
mod change;
mod check;
mod diff;
mod error;
mod format;
mod log;
mod pack;
mod place;
mod rows;
mod scan;
mod spill;
mod tables;
mod usage;
mod varint;
mod walk;
mod watch;

pub use ask::{
    Changed, Child, Children, Duplicates, DuplicatesFound, Fault, FirstBy, Found, Go, Heaviest, Name,
    NameCondition, Root, Weight, directory_of, name_of,
};
pub use attributes::{Attributes, Entry, FileId, Kind};
pub use catalogue::{Catalogue, CatalogueSettings, join, wait_max, when_free};
pub use change::CRASH_POINTS;
pub use error::{CatalogueError, ScanError};
pub use format::Format;
pub use log::{ActRow, ActState, Copy, Digest, Notes, RunRow, Seen};
pub use place::Place;
pub use rows::{Group, ScanCounts, ScanRow, ScanState, What};
pub use scan::{FileSeen, Progress, ScanSettings, Scanned, Until};
pub use usage::{SIZE_CLASSES, Share, Usage};
pub use varint::Corrupt;
pub use watch::{Freshness, Note, Stale, StaleReason, Watch, WatchError, WatchSettings};
