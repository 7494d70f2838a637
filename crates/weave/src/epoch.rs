//! What goes into an epoch and what comes out of it.

use std::time::Duration;

use extract::Capture;

use crate::ids::{Epoch, InputId};
use crate::ledger::InputProgress;

/// Everything of one epoch.
#[derive(Debug, Default)]
pub struct Batch {
    /// Captures, in any order.
    pub captures: Vec<(InputId, Capture)>,
    /// Ledger positions; commit with the captures.
    pub progress: Vec<InputProgress>,
}

/// A page changed by an epoch, for search.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageChange {
    /// New or changed: title, text, date, or the bucket of its external in-links
    /// ([`crate::inlinks_bucket`]).
    Upsert(String),
    /// No longer a page.
    Delete(String),
}

/// What an epoch did.
#[derive(Debug, Default)]
pub struct EpochReport {
    /// Its number; that of the epoch before where the batch changed nothing.
    pub epoch: Epoch,
    /// Captures added.
    pub captures_new: u64,
    /// Captures that were there already.
    pub captures_known: u64,
    /// Pages new, changed or gone.
    pub pages_changed: u64,
    /// Rows added to `links`.
    pub links_added: u64,
    /// Rows removed from `links`.
    pub links_removed: u64,
    /// Rows added to `uris`.
    pub uris_new: u64,
    /// For search, sorted by URL key.
    pub page_changes: Vec<PageChange>,
    /// How long each step of the chain took, in order.
    pub step_times: Vec<(&'static str, Duration)>,
}
