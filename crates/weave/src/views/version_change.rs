//! What an epoch does to versions: what is asked for, and what came of it.

use extract::{Capture, Link, Original};

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
    /// Whether the version before was a page or a document.
    pub(crate) had_content: bool,
    /// Whether this one is.
    pub(crate) has_content: bool,
    /// Something that a page or document shows has changed.
    pub(crate) content_changed: bool,
    /// There may have been no capture of the key before.
    pub(crate) maybe_first_capture: bool,
    /// No capture of the key is left.
    pub(crate) is_uncaptured: bool,
    /// The version now, where it is a page or document and `content_changed`.
    pub(crate) content: Option<Box<ContentNow>>,
    /// What became of the versions before it.
    pub(crate) past: PastChange,
}

impl VersionChange {
    /// Whether it is no page, but search has it.
    pub(crate) fn is_document(&self) -> bool {
        self.has_content && !self.is_page
    }

    /// Whether it was another of page, document or neither.
    pub(crate) fn is_of_another_kind(&self) -> bool {
        (self.was_page, self.had_content) != (self.is_page, self.has_content)
    }

    /// A page was before, or is now, and has changed.
    pub(crate) fn page_changed(&self) -> bool {
        self.content_changed && (self.was_page || self.is_page)
    }

    /// The past versions are others now; a page shows how many there are, and when it began.
    pub(crate) fn follows(&mut self, past: PastChange, row: Option<&VersionRow>) {
        if (past.is_change() || past.is_other)
            && !self.content_changed
            && let Some(row) = row.filter(|row| row.has_content())
        {
            self.turns_to(row.clone(), None);
        }
        self.past = past;
    }

    /// The version is another now, or has another text (`text`, if one came).
    pub(crate) fn turns_to(&mut self, row: VersionRow, text: Option<String>) {
        self.is_page = row.is_page;
        self.has_content = row.has_content();
        self.content_changed = self.has_content || self.had_content;
        if row.has_content() {
            let none = row.text.is_none().then(String::new);
            let text = text.or(none);
            self.content = Some(Box::new(ContentNow {
                row,
                text,
                text_mime: String::new(),
                original: None,
            }));
        }
    }
}

/// A page or document as an epoch leaves it.
#[derive(Debug)]
pub(crate) struct ContentNow {
    pub(crate) row: VersionRow,
    /// Its text; `None` where the one before stays.
    pub(crate) text: Option<String>,
    /// Declared type of the capture that its text is of, where that is another than its own.
    pub(crate) text_mime: String,
    /// The capture that it is of, if it is a revisit of another URL.
    pub(crate) original: Option<Box<Original>>,
}

/// A key that captures have left, or whose revisits have another original, so that its version is decided without regard to what it was, or at least its past.
#[derive(Debug)]
pub(crate) struct Anew {
    pub(crate) url_key: String,
    /// All that may be current or give the text: the eligible ones of the latest time; and captures that came or have other content now.
    /// `None` where the version stays.
    pub(crate) captures: Option<Vec<(InputId, Capture)>>,
    /// Whether any capture of the key is left, current or not.
    pub(crate) captured: bool,
    /// Captures come, and none leave.
    pub(crate) arrives: bool,
}
