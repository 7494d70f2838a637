//! The facade of an archive: open, load, ask. The server and the program use archives only through this
//! crate.
//!
//! An archive is a directory with one owner process at a time. [`Archive::open`] makes this process the
//! owner, or finds the owner through the socket in the directory. Either way every [`question::Question`]
//! gets the same answer.
//!
//! Invariants:
//!  - index and search index are opened only under the lock;
//! - everything durable goes through an epoch of the index; the search index follows it and can be rebuilt
//!   from it;
//! - one load runs at a time; if it is killed at any moment, the next load of the same inputs continues it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod archive;
mod as_text;
mod ask;
mod bag;
pub mod cdx;
mod crash;
mod csv_text;
mod cut;
mod error;
mod exchanges;
mod export;
mod facts_place;
mod feed;
mod files;
mod fixity;
mod from_facts;
mod graph;
mod inputs;
mod jobs;
mod kept_facts;
mod links_csv;
mod load;
mod lock;
mod memory;
mod one_input;
mod open_archive;
mod owner;
mod posts;
pub mod question;
mod rebuild_progress;
mod record;
mod record_outcome;
mod recounting;
mod redact;
mod request_of;
mod seen_counts;
mod sights;
pub mod snippet_html;
mod socket;
mod stored;
mod subset;

pub use archive::{Archive, OpenSettings};
pub use bag::{BagError, Bagged, FileLeftOut};
pub use crash::{CRASH_POINTS, POSTING_CRASH_POINTS};
pub use cut::Cut;
pub use error::{AskError, ErrorCode, OpenError};
pub use export::{AskBy, Export, ExportError, ExportFormat, Exported, LeftOut};
pub use extract::{DocumentFailure, DocumentFormat, DocumentReader, DocumentScope, DocumentText};
pub use fixity::{FixityCheck, FixityCsv, FixityOutcome, check_fixity};
pub use from_facts::{FactInput, FactLine, FromFacts, QuarantinedSpan};
pub use graph::{Edge, Graph, GraphBuilder, GraphError, GraphFormat, GraphSelection, GraphTotals, Node};
pub use inputs::{
    FoundInput, InputSource, PackagePart, Sources, Stat, found_inputs, is_address, is_local_member,
    is_package, is_unfinished_package, package_parts, path_of, path_text, without_secrets,
};
pub use links_csv::LinksCsv;
pub use memory::{MEMORY_SIZE_BYTES, MEMORY_SIZE_BYTES_MIN};
pub use one_input::{Counts, OneInput, Part, Parts};
pub use record::{Interrupt, RecordError, open_record, raw_record};
pub use redact::{LeaveOut, NotTheRest, Redaction, RedactionCounts, WriteError};
pub use request_of::{SentRequest, request_of};
pub use stored::{StoredBytes, holds_taken_down, stored_range, url_key_at};
pub use subset::{Chosen, IndexForm, Subset};
pub use weave::{TakedownRules, base_name, refusal};

/// Version of this program. The owner and the processes that ask it must have the same one.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
