//! The facade: open, load, ask. What server and program talk to.
//!
//! An archive is a directory with one owner process at a time. [`Archive::open`] makes this process the owner,
//! or finds the owner through the socket in the directory; both answer every [`question::Question`] alike.
//!
//! Invariants:
//!  - index and search index are opened only under the lock;
//!  - everything durable goes through an epoch of the index; the search index follows it and can be made anew;
//!  - one load runs at a time; killed at any moment, the next load of the same inputs goes on where it stood.

mod archive;
mod as_text;
mod ask;
pub mod cdx;
mod error;
mod feed;
mod inputs;
mod jobs;
mod layout;
mod load;
mod lock;
mod owner;
mod parts;
pub mod question;
mod read_only;
mod record;
pub mod snippet_html;
mod socket;

pub use archive::{Archive, OpenSettings};
pub use error::{AskError, ErrorCode, OpenError};
pub use inputs::{FoundInput, InputSource, Sources, Stat, found_inputs, is_address, path_of, path_text};
pub use record::{Interrupt, RecordError, open_record, raw_record};

pub use weave::refusal;

/// Version of this program; owner and askers must have the same.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
