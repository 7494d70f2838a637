//! The state shared by all stages of one load.

use std::sync::Arc;

use inputs::SpoolRoom;

use super::earlier_inputs::EarlierInputs;
use super::rate::Rate;
use super::record_pool::RecordPool;
use crate::jobs::Job;
use crate::open_archive::OpenArchive;

/// The state shared by all stages of one load.
pub(super) struct Context {
    pub(super) open: Arc<OpenArchive>,
    pub(super) job: Arc<Job>,
    pub(super) collection: String,
    pub(super) verify: bool,
    pub(super) extract: extract::Settings,
    pub(super) rate: Option<Rate>,
    pub(super) chunk_entries_max: usize,
    /// An epoch closes after this many bytes of captures.
    pub(super) epoch_bytes: u64,
    /// Number of bytes of an input to digest before it is read, at least.
    pub(super) digest_first_bytes: u64,
    /// Whether an input that is digested while it is read is digested by the reader, ahead of the
    /// index.
    pub(super) digests_ahead: bool,
    /// Inputs of earlier loads that an input of this load may continue.
    pub(super) earlier: EarlierInputs,
    /// Space for copies of inputs that come over a network.
    pub(super) spool_room: SpoolRoom,
    /// Extracted records whose memory the readers reuse.
    pub(super) record_pool: RecordPool,
}
