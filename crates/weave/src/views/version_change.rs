//! What an epoch does to versions: what is asked for, and what came of it.

use extract::{Capture, Link};

use crate::ids::InputId;
use crate::views::past::PastChange;
use crate::views::version_row::VersionRow;

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
    /// The version now, where it is a page and `page_changed`.
    pub(crate) page: Option<Box<PageNow>>,
    /// What became of the versions before it.
    pub(crate) past: PastChange,
}

impl VersionChange {
    /// The past versions are others now; a page shows how many there are, and when it began.
    pub(crate) fn follows(&mut self, past: PastChange, row: Option<&VersionRow>) {
        if (past.is_change() || past.is_other)
            && !self.page_changed
            && let Some(row) = row.filter(|row| row.is_page)
        {
            self.turns_to(row.clone(), None);
        }
        self.past = past;
    }

    /// The version is another now, or has another text (`text`, if one came).
    pub(crate) fn turns_to(&mut self, row: VersionRow, text: Option<String>) {
        self.is_page = row.is_page;
        self.page_changed = row.is_page || self.was_page;
        if row.is_page {
            let none = row.text.is_none().then(String::new);
            let text = text.or(none);
            self.page = Some(Box::new(PageNow { row, text }));
        }
    }
}

/// A page as an epoch leaves it.
#[derive(Debug)]
pub(crate) struct PageNow {
    pub(crate) row: VersionRow,
    /// Its text; `None` where the one before stays.
    pub(crate) text: Option<String>,
}

/// A key that captures have left, so that its version is decided without regard to what it was, or at least its past.
#[derive(Debug)]
pub(crate) struct Anew {
    pub(crate) url_key: String,
    /// All that may be current or give the text: the eligible ones of the latest time. `None` where the version stays.
    pub(crate) captures: Option<Vec<(InputId, Capture)>>,
    /// Whether any capture of the key is left, current or not.
    pub(crate) captured: bool,
}
