//! Input and result of an epoch.

use std::time::Duration;

use extract::Capture;

use crate::ids::{Epoch, InputId};
use crate::ledger::InputProgress;
use crate::rows::{AnchorRow, OriginalCapture, PastVersion, TextCapture};
use extract::IndexLine;

/// The input of one epoch.
#[derive(Debug, Default)]
pub struct Batch {
    /// Captures, in any order.
    pub captures: Vec<(InputId, Capture)>,
    /// Captures listed by indexes, and attachments of pages, in any order.
    pub lines: Vec<(InputId, IndexLine)>,
    /// Ledger positions; they are committed with the captures.
    pub progress: Vec<InputProgress>,
}

/// An arrival of an epoch: a capture, or an index line that describes one.
pub(crate) trait Arrival {
    fn url_key(&self) -> &str;

    fn fetch_time_ms(&self) -> i64;

    /// First byte in its input.
    fn offset(&self) -> u64;

    /// Length in its input, in bytes.
    fn length(&self) -> u64;

    /// Request method; empty if unknown.
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
    /// New, or its title, text, date or another property changed.
    Upsert(String),
    /// No longer a page.
    Delete(String),
    /// Only its past versions changed. The key need not be a page now.
    Past(String),
    /// Only the bucket of its external in-links ([`crate::inlinks_bucket`]) changed; this is the
    /// new one.
    Bucket(String, u8),
    /// The anchor texts of the links to it ([`crate::AnchorRow`]) or its rendered text
    /// ([`crate::RenderedText`]) changed, and possibly its bucket. The key need not be a page.
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

/// A page that an epoch added or changed, as search shows it. With it search need not read the
/// views.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPage {
    /// URL key.
    pub url_key: String,
    /// Whether the key had no page before the epoch.
    pub is_new: bool,
    /// URL as archived.
    pub url: String,
    /// Title; empty if none.
    pub title: String,
    /// Declared media type.
    pub mime: String,
    /// Language (BCP 47); empty if unknown.
    pub language: String,
    /// Payload digest.
    pub digest: String,
    /// Collection label of its input.
    pub collection: String,
    /// The capture that its text comes from, if it is another one.
    pub text_capture: Option<TextCapture>,
    /// The capture that its content comes from, if the page is a revisit of another URL.
    pub original: Option<OriginalCapture>,
    /// Milliseconds since 1970.
    pub fetch_time_ms: i64,
    /// Fetch time of the first capture in the unbroken run of captures of this version.
    pub since_ms: i64,
    /// Number of past versions of the page.
    pub past_versions: u32,
    /// Bucket of its external in-links. `None` if no in-link was added or removed, so that the
    /// epoch did not read them.
    pub inlinks_bucket: Option<u8>,
    /// Anchor texts of its in-links; `None` if they did not change.
    pub anchors: Option<Vec<AnchorRow>>,
    /// Text. `None` if it did not change; then the view has it.
    pub text: Option<String>,
}

impl ChangedPage {
    /// Size of its texts in bytes.
    pub fn bytes(&self) -> u64 {
        let text = self.text.as_ref().map_or(0, String::len);
        (self.url_key.len() + self.url.len() + self.title.len() + text) as u64
    }
}

/// Changes of the past versions of a key in an epoch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedPast {
    /// URL key.
    pub url_key: String,
    /// Removed past versions, by their start times.
    pub gone: Vec<i64>,
    /// New or changed past versions.
    pub put: Vec<PastVersion>,
}

/// The result of an epoch.
#[derive(Debug, Default)]
pub struct EpochReport {
    /// Number of the epoch; that of the previous epoch if the batch changed nothing.
    pub epoch: Epoch,
    /// Captures added.
    pub captures_new: u64,
    /// Captures that were already known.
    pub captures_known: u64,
    /// Attachments of pages added.
    pub attachments_new: u64,
    /// Index lines added.
    pub lines_new: u64,
    /// Index lines and attachments that were already known.
    pub lines_known: u64,
    /// Captures and lines of the batch that a takedown keeps out.
    pub captures_taken_down: u64,
    /// Pages added, changed or removed.
    pub pages_changed: u64,
    /// Pages removed; they are also in `pages_changed`.
    pub pages_gone: u64,
    /// Rows added to `links`.
    pub links_added: u64,
    /// Rows removed from `links`.
    pub links_removed: u64,
    /// Rows added to `uris`.
    pub uris_new: u64,
    /// Changes for search, sorted by URL key.
    pub page_changes: Vec<PageChange>,
    /// The page of each upsert in `page_changes`, in the same order.
    pub pages: Vec<ChangedPage>,
    /// Keys whose past versions changed, sorted. Each is also in `page_changes`.
    pub past: Vec<ChangedPast>,
    /// Duration of each step of the chain, in order.
    pub step_times: Vec<(&'static str, Duration)>,
}
