//! What goes into an epoch and what comes out of it.

use std::time::Duration;

use extract::Capture;

use crate::ids::{Epoch, InputId};
use crate::ledger::InputProgress;
use crate::rows::{AnchorRow, OriginalCapture, PastVersion, TextCapture};
use extract::IndexLine;

/// Everything of one epoch.
#[derive(Debug, Default)]
pub struct Batch {
    /// Captures, in any order.
    pub captures: Vec<(InputId, Capture)>,
    /// Captures that indexes tell of, in any order.
    pub lines: Vec<(InputId, IndexLine)>,
    /// Ledger positions; commit with the captures.
    pub progress: Vec<InputProgress>,
}

/// What arrives in an epoch: a capture, or a line of an index that tells of one.
pub(crate) trait Arrival {
    fn url_key(&self) -> &str;

    fn fetch_time_ms(&self) -> i64;

    /// First byte in its input.
    fn offset(&self) -> u64;

    /// Bytes in its input.
    fn length(&self) -> u64;

    /// Method of its request; empty if unknown.
    fn method(&self) -> &str {
        ""
    }
}

impl Arrival for Capture {
    fn url_key(&self) -> &str {
        &self.url_key
    }

    fn fetch_time_ms(&self) -> i64 {
        self.fetch_time_ms
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn length(&self) -> u64 {
        self.length
    }

    fn method(&self) -> &str {
        &self.method
    }
}

/// A page changed by an epoch, for search.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageChange {
    /// New or changed: title, text, date, ...
    Upsert(String),
    /// No longer a page.
    Delete(String),
    /// As it was, page or not, but its past versions are others.
    Past(String),
    /// As it was, but the bucket of its external in-links ([`crate::inlinks_bucket`]) is another: this one.
    Bucket(String, u8),
    /// As it was, but the links to it say something else ([`crate::AnchorRow`]); its bucket may be another, too.
    Anchors(String),
}

impl PageChange {
    /// Key of the page.
    pub fn url_key(&self) -> &str {
        match self {
            PageChange::Upsert(url_key)
            | PageChange::Delete(url_key)
            | PageChange::Past(url_key)
            | PageChange::Anchors(url_key)
            | PageChange::Bucket(url_key, _) => url_key,
        }
    }
}

/// A page that an epoch made or changed, as search shows it: so that search need not read the views.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPage {
    /// Its key.
    pub url_key: String,
    /// There was no page of this key before the epoch.
    pub is_new: bool,
    /// As archived.
    pub url: String,
    /// Title; empty if none.
    pub title: String,
    /// Declared type.
    pub mime: String,
    /// BCP 47; empty if unknown.
    pub language: String,
    /// Payload digest.
    pub digest: String,
    /// Label of its input.
    pub collection: String,
    /// The capture that its text is of, where it is another one.
    pub text_capture: Option<TextCapture>,
    /// The capture that its content is of, if it is a revisit of another URL.
    pub original: Option<OriginalCapture>,
    /// Milliseconds since 1970.
    pub fetch_time_ms: i64,
    /// Fetch time of the first capture of this version without another between.
    pub since_ms: i64,
    /// How many past versions the page has.
    pub past_versions: u32,
    /// Bucket of its external in-links; `None` where the epoch did not look at them, because none came or went.
    pub inlinks_bucket: Option<u8>,
    /// What its in-links say; `None` where that is as before.
    pub anchors: Option<Vec<AnchorRow>>,
    /// Text; `None` where it is the one before, which is in the view.
    pub text: Option<String>,
}

impl ChangedPage {
    /// Bytes of its texts.
    pub fn bytes(&self) -> u64 {
        let text = self.text.as_ref().map_or(0, String::len);
        (self.url_key.len() + self.url.len() + self.title.len() + text) as u64
    }
}

/// What an epoch did to the past versions of a key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedPast {
    /// The key.
    pub url_key: String,
    /// Those that are no past versions any more, by when they began.
    pub gone: Vec<i64>,
    /// Those that are new or have changed.
    pub put: Vec<PastVersion>,
}

/// What an epoch did.
#[derive(Debug, Default)]
pub struct EpochReport {
    /// Its number; that of the epoch before where the batch changed nothing.
    pub epoch: Epoch,
    /// Captures added.
    pub captures_new: u64,
    /// Captures that were there already.
    pub captures_known: u64,
    /// Lines of indexes added.
    pub lines_new: u64,
    /// Lines of indexes that were there already.
    pub lines_known: u64,
    /// Captures and lines of the batch that a takedown keeps out.
    pub captures_taken_down: u64,
    /// Pages new, changed or gone.
    pub pages_changed: u64,
    /// Of these, gone.
    pub pages_gone: u64,
    /// Rows added to `links`.
    pub links_added: u64,
    /// Rows removed from `links`.
    pub links_removed: u64,
    /// Rows added to `uris`.
    pub uris_new: u64,
    /// For search, sorted by URL key.
    pub page_changes: Vec<PageChange>,
    /// The page of each upsert in `page_changes`, in the same order.
    pub pages: Vec<ChangedPage>,
    /// Keys whose past versions are others, sorted; each is in `page_changes`, too.
    pub past: Vec<ChangedPast>,
    /// How long each step of the chain took, in order.
    pub step_times: Vec<(&'static str, Duration)>,
}
