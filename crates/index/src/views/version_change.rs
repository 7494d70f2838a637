//! Requested and performed changes of versions in an epoch.

use extract::{Capture, Link, Original};

use crate::ids::InputId;
use crate::views::capture_key::CapturePosition;
use crate::views::capture_row::StoredCapture;
use crate::views::history::PastChange;
use crate::views::version_row::VersionRow;

/// The changes of one URL key in an epoch.
#[derive(Debug)]
pub(crate) struct VersionChange {
    pub(crate) url_key: String,
    /// The new links, sorted by target, if the version was replaced.
    pub(crate) links: Option<Vec<Link>>,
    /// Number of links of the previous version.
    pub(crate) links_before: u32,
    pub(crate) was_page: bool,
    pub(crate) is_page: bool,
    /// Whether the previous version was a page or a document.
    pub(crate) had_content: bool,
    /// Whether the current version is one.
    pub(crate) has_content: bool,
    /// Something that a page or document shows has changed.
    pub(crate) content_changed: bool,
    /// There may have been no capture of the key before.
    pub(crate) maybe_first_capture: bool,
    /// No capture of the key is left.
    pub(crate) is_uncaptured: bool,
    /// The new version, if it is a page or document and `content_changed`.
    pub(crate) content: Option<Box<NewContent>>,
    /// The changes of the past versions.
    pub(crate) past: PastChange,
}

impl VersionChange {
    /// Returns whether it is a document: no page, but in search.
    pub(crate) fn is_document(&self) -> bool {
        self.has_content && !self.is_page
    }

    /// Returns whether it changed between page, document and neither.
    pub(crate) fn is_of_another_kind(&self) -> bool {
        (self.was_page, self.had_content) != (self.is_page, self.has_content)
    }

    /// Returns whether it was or is a page that changed.
    pub(crate) fn page_changed(&self) -> bool {
        self.content_changed && (self.was_page || self.is_page)
    }

    /// Records changes of past versions. They also change a page, which shows their number and when
    /// it began.
    pub(crate) fn follows(&mut self, past: PastChange, row: Option<&VersionRow>) {
        if (past.is_change() || past.is_other)
            && !self.content_changed
            && let Some(row) = row.filter(|row| row.has_content())
        {
            self.turns_to(row.clone(), None);
        }
        self.past = past;
    }

    /// Records that the version changed, or its text (`text`, if there is a new one).
    pub(crate) fn turns_to(&mut self, row: VersionRow, text: Option<String>) {
        self.is_page = row.is_page;
        self.has_content = row.has_content();
        self.content_changed = self.has_content || self.had_content;
        if row.has_content() {
            let none = row.text.is_none().then(String::new);
            let text = text.or(none);
            self.content = Some(Box::new(NewContent {
                row,
                text,
                text_mime: String::new(),
                original: None,
            }));
        }
    }
}

/// A page or document after an epoch.
#[derive(Debug)]
pub(crate) struct NewContent {
    pub(crate) row: VersionRow,
    /// Its text; `None` if the old one stays.
    pub(crate) text: Option<String>,
    /// Media type of the capture that its text comes from, if that is another capture.
    pub(crate) text_mime: String,
    /// The original, if it is a revisit of another URL.
    pub(crate) original: Option<Box<Original>>,
}

/// A key whose version, or at least past, must be decided without its old version, because captures
/// were removed or a revisit's original changed.
#[derive(Debug)]
pub(crate) struct Redecide {
    pub(crate) url_key: String,
    /// All captures that may be current or provide the text (the eligible ones of the latest time),
    /// and captures that were added or whose content changed. `None` if the version stays.
    pub(crate) captures: Option<Vec<(InputId, Capture)>>,
    /// Whether any capture of the key is left, current or not.
    pub(crate) captured: bool,
    /// Captures are only added, and none are removed.
    pub(crate) is_addition: bool,
}

/// A key whose captures, and so perhaps past versions, changed.
pub(crate) struct PastUpdate<'a> {
    pub(crate) url_key: &'a str,
    /// Its version before and now.
    pub(crate) before: Option<&'a VersionRow>,
    pub(crate) now: Option<&'a VersionRow>,
    /// Captures that were added or read again. Text and links of the new version are missing in
    /// them, because they have been moved out.
    pub(crate) group: &'a [(InputId, Capture)],
    /// The same captures in stored form.
    pub(crate) added: Vec<StoredCapture>,
    /// The links of the new version, if they may have changed.
    pub(crate) links: Option<&'a [Link]>,
    /// Captures being removed.
    pub(crate) removed: &'a [CapturePosition],
}
