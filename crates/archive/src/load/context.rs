//! What all stages of one load share.

use std::sync::Arc;

use super::earlier::Earlier;
use super::rate::Rate;
use super::recycle::Recycled;
use crate::jobs::Job;
use crate::open_archive::OpenArchive;
use inputs::SpoolRoom;

/// What all stages of one load share.
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
    /// At least so much of an input is digested before it is read.
    pub(super) digest_first_bytes: u64,
    /// Whether an input that is digested while it is read is digested as it is read, ahead of what is woven.
    pub(super) digests_ahead: bool,
    /// Earlier inputs that an input of this load may continue.
    pub(super) earlier: Earlier,
    /// Room for copies of inputs that come over a network.
    pub(super) spool_room: SpoolRoom,
    /// Records whose memory readers use again.
    pub(super) recycled: Recycled,
}
