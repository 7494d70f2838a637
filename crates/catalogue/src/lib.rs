//! The file catalogue: the contents of file systems, stored in tables that scans bring up to date.
//!
//! [`Catalogue::scan`] walks a tree and compares it with the catalogue in a pipeline. Sums by
//! owner, group, kind, format and directory change in the same commits, so that reports are
//! immediate ([`Catalogue::groups`], [`Catalogue::usage`]). [`Catalogue::scan_objects`] does the
//! same for the objects of a store. `docs/files.md` describes the tables byte by byte.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod action;
mod attributes;
mod catalogue;
mod change;
mod changes;
mod check;
mod diff;
mod error;
mod format;
mod log;
mod magic;
mod objects;
mod pack;
mod path;
mod path_handle;
mod query;
mod retention;
mod rows;
mod scan;
mod spill;
mod tables;
mod timed_call;
mod usage;
mod varint;
mod walk;
mod watch;
mod watch_heartbeat;
mod watch_row;

pub use action::{ActionKind, UnknownAction};
pub use attributes::{Attributes, Entry, FileId, Kind};
pub use catalogue::{Catalogue, CatalogueSettings, join, retry_while_in_use, wait_max};
pub use change::CRASH_POINTS;
pub use changes::ChangeKind;
pub use error::{CatalogueError, ScanError};
pub use format::Format;
pub use log::{ActRow, ActState, Copy, Digest, FileVersion, LogBatch, RunRow};
pub use objects::{Address, AddressError, NO_OWNER, Object, Objects, ObjectsPage, is_address};
pub use path_handle::PathHandle;
pub use query::{
    Child, ChildOrder, Children, DirectoryUsage, DuplicateReport, Duplicates, Fault, FileOrder, Name,
    NameCondition, PathEntry, ReportedChange, Root, Visit, directory_of, join_renames, name_of,
};
pub use rows::{Group, ScanCounts, ScanRow, ScanState};
pub use scan::{ForgetReport, LastStage, Magic, ObservedFile, Progress, ScanReport, ScanSettings};
pub use usage::{SIZE_CLASSES, Share, Usage};
pub use varint::Corrupt;
pub use watch::{Watch, WatchError, WatchEvent, WatchSettings};
pub use watch_row::{Freshness, Stale, StaleReason};
