//! Epochs, ledger and views: the incremental index of an archive.
//!
//! Captures -> versions -> links -> URIs -> domains -> rankings: one epoch updates them all in one
//! atomic, durable step ([`Index::apply`]), and a [`Snapshot`] sees exactly one epoch. The position
//! in an input is committed with the captures read up to it, so every capture is indexed exactly
//! once.
//!
//! Every view is a pure function of the captures and the names of their inputs: order of loading,
//! duplicates, epoch borders and crashes do not change a [`Snapshot::dump`]. Each view's module has
//! its definition, and a brute-force model (feature `model`) recomputes the views for tests.
//!
//! ```
//! use index::{Batch, LedgerRow, Settings, Index};
//!
//! # let dir = tempfile::tempdir()?;
//! let index = Index::open(&dir.path().join("index"), None, Settings::default())?;
//! let entry = LedgerRow::pending("a.warc.gz", "/data/a.warc.gz", "sha256:00", 1000, "");
//! let (input, _) = index.register_input(entry, None)?;
//! let mut capture = extract::Capture::default();
//! capture.url = "http://example.com/".to_owned();
//! capture.url_key = "com,example)/".to_owned();
//! (capture.status, capture.page) = (200, Some(extract::Page::default()));
//! let report = index.apply(Batch { captures: vec![(input, capture)], ..Batch::default() })?;
//! let snapshot = index.snapshot();
//! assert_eq!((snapshot.epoch(), snapshot.totals()?.pages), (report.epoch, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not here: reading inputs, extracting captures, search. Only this crate knows the engine (fjall).

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod bucket;
mod cell;
mod chain;
mod check;
mod codec;
mod compactor;
mod crash;
mod cut;
mod directory;
mod domain_of;
mod dump;
mod epoch;
mod error;
mod external;
mod fingerprint;
mod ids;
mod last_epoch;
mod ledger;
#[cfg(any(test, feature = "model"))]
pub mod model;
mod packed;
mod page_changes;
mod progress;
mod rebuild;
mod recount;
mod revisits;
mod rows;
mod settings;
mod shown;
mod snapshot;
mod sort;
mod tables;
mod takedown;
mod url_code;
mod views;
mod write;
mod writer;

pub use bucket::{anchor_weight, inlinks_bucket};
pub use check::{Damage, IndexCheck};
pub use crash::{CRASH_POINTS, PURGING_CRASH_POINTS, REBUILDING_CRASH_POINTS, UNDOING_CRASH_POINTS};
pub use dump::{Details, DumpFormat, DumpNameError, DumpRange, ServingRows, View};
pub use epoch::{Batch, ChangedPage, ChangedPast, EpochReport, PageChange};
pub use error::{ApplyError, CallerError, DumpError, OpenError, RereadError, SnapshotError, TakeBackError};
pub use external::{NewCaptures, NoteRenamed, WriteExternal};
pub use fingerprint::{Fingerprint, Fingerprints};
pub use ids::{Epoch, InputId};
pub use ledger::{
    DigestProgress, InputProgress, InputState, LedgerRow, NO_CONTENT, ParseInputStateError, QuarantineEntry,
    digest_of_beginning, digested_beginning,
};
pub use rebuild::{RebuildError, RebuildReport, RebuiltTable};
pub use recount::Recount;
pub use revisits::ReferenceHashes;
pub use rows::{
    AnchorRow, CaptureRow, DomainRow, KeyRange, LinkRow, OriginalCapture, PageRow, PastVersion, TextCapture,
    TopRow, Totals, UriRow, VersionLink, past_count,
};
pub use settings::Settings;
pub use shown::ShownPage;
pub use snapshot::{Captures, LinkingVersions, RenderedText, Snapshot, Span, When};
pub use sort::{Sorted, Sorter};
pub use takedown::{KeptOut, KeptSelector, Selector, Takedown, TakedownEnd, TakedownRules};
pub use views::capture_key::{refusal, refusal_of_key};
pub use views::index_lines::{describes, is_same_place};
pub use writer::lost_epochs_text;
pub use writer::{
    Index, NoteTakenDown, RemovedLines, Reread, RollBack, TakedownOutcome, TakedownPreview, TakedownRequest,
};

#[cfg(test)]
mod tests;
