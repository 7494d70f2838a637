//! What an epoch does to versions: what is asked for, and what came of it.

use extract::{Capture, Link};

use crate::ids::InputId;

/// What an epoch did to one URL key with new captures.
#[derive(Debug)]
pub(crate) struct VersionChange {
    pub(crate) url_key: String,
    /// The new links, sorted by target, where the version was replaced.
    pub(crate) links: Option<Vec<Link>>,
    /// Links of the version before.
    pub(crate) links_before: u32,
    pub(crate) was_page: bool,
    pub(crate) is_page: bool,
    /// Something that a page shows has changed.
    pub(crate) page_changed: bool,
    /// There may have been no capture of the key before.
    pub(crate) maybe_first_capture: bool,
    /// No capture of the key is left.
    pub(crate) is_uncaptured: bool,
}

/// A key whose version is decided without regard to what it was, because captures have left.
#[derive(Debug)]
pub(crate) struct Anew {
    pub(crate) url_key: String,
    /// All that may be current or give the text: the eligible ones of the latest time.
    pub(crate) captures: Vec<(InputId, Capture)>,
    /// Whether any capture of the key is left, current or not.
    pub(crate) captured: bool,
}
