//! The facade of an archive: open it, load into it, ask it questions. The server and the
//! command-line program use archives only through this crate.
//!
//! An archive is a directory owned by one process at a time. [`Archive::open`] makes this process
//! the owner, or finds the owner through the socket in the directory. Every [`question::Question`]
//! gets the same answer either way.
//!
//! Invariants:
//! - the index and the search index are opened only under the lock;
//! - everything durable is committed in an epoch of the index; the search index follows it and can
//!   be rebuilt from it;
//! - one load runs at a time; if it is killed, the next load of the same inputs continues it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod access_filters;
mod archive;
mod as_text;
mod ask;
mod crash;
mod cut;
mod cut_epochs;
mod error;
mod facts_place;
mod facts_writer;
mod feed;
mod files;
mod from_facts;
mod inlink_counts;
mod jobs;
mod kept_answers;
mod load;
mod lock;
mod memory;
mod one_input;
mod open_archive;
mod own_inputs;
mod owner;
mod posts;
pub mod question;
mod rebuild_progress;
mod record;
mod record_outcome;
mod recounting;
mod rendered_text;
mod request_of;
mod served_tables;
pub mod snippet_html;
mod socket;
mod thumbnails;
mod version;
mod views;

pub use archive::{Archive, OpenSettings};
#[doc(hidden)]
pub use crash::{CRASH_POINTS, POSTING_CRASH_POINTS};
pub use cut::Cut;
pub use error::{AskError, ErrorCode, OpenError};
pub use extract::{
    DocumentFailure, DocumentFormat, DocumentReader, DocumentScope, DocumentText, Exif, ImageFacts, Thumbnail,
};
pub use from_facts::{FactInput, FactsImport, ImportLine, ImportLineError};
pub use index::{QuarantineEntry, TakedownRules, refusal};
pub use memory::{MEMORY_SIZE_BYTES, MEMORY_SIZE_BYTES_MIN};
pub use one_input::{Counts, OneInput, Part, Parts};
pub use own_inputs::own_inputs;
pub use record::{Interrupt, RecordError, input_at, open_record, raw_record};
pub use record_outcome::{RecordOutcome, damage_of};
pub use request_of::{RequestRecord, request_record};
pub use served_tables::{OpenTablesError, ServedTables};
pub use version::VERSION;
