//! Epochs, ledger and views: the incremental index of an archive.
//!
//! Captures -> versions -> links -> URIs -> domains -> rankings: one epoch moves them all in one atomic,
//! durable step ([`Weave::apply`]), and a [`Snapshot`] sees exactly one epoch. Where an input was read to
//! commits with what was read, so that nothing is woven twice or never.
//!
//! Every view is a pure function of the captures and the names of their inputs: order of loading, duplicates,
//! epoch borders and crashes change nothing in a [`Snapshot::dump`]. The definitions stand with the views, and
//! a brute-force model (feature `model`) recomputes them for tests.
//!
//! Not here: reading inputs, extracting captures, search. The engine (fjall) is known to this crate alone.

mod chain;
mod check;
mod codec;
mod crash;
mod cut;
mod domain_of;
mod dump;
mod epoch;
mod error;
mod ledger;
#[cfg(any(test, feature = "model"))]
pub mod model;
mod name;
mod place;
mod progress;
mod rows;
mod settings;
mod snapshot;
mod sort;
mod tables;
mod url_code;
mod views;
mod weave;
mod write;

pub use check::Damage;
pub use crash::CRASH_POINTS;
pub use dump::{Details, DumpFormat, View};
pub use epoch::{Batch, Epoch, EpochReport, PageChange};
pub use error::{ApplyError, DumpError, OpenError, SnapshotError};
pub use ledger::{InputId, InputProgress, InputState, LedgerEntry, NO_CONTENT, QuarantineEntry};
pub use name::{name_bytes, name_text};
pub use rows::{CaptureRow, DomainRow, KeyRange, LinkRow, PageRow, TopRow, Totals, UriRow};
pub use settings::Settings;
pub use snapshot::{Captures, Snapshot};
pub use views::captures::refusal;
pub use weave::{TakeBack, TakeBackError, Weave};

/// Bucket of a count of in-links, in half-octaves: 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, ...
///
/// A page's change of bucket is a [`PageChange::Upsert`]: search keeps its prior up to date without being
/// told of every single in-link.
pub fn inlinks_bucket(inlinks: u64) -> u8 {
    let Some(octave) = inlinks.checked_ilog2() else {
        return 0;
    };
    match octave {
        0 => 1,
        _ => (2 * octave + (inlinks >> (octave - 1) & 1) as u32) as u8,
    }
}

#[cfg(test)]
mod tests;
