//! Rows as answers show them.

use extract::CaptureKind;

use crate::bucket::anchor_weight;
use crate::ids::{Epoch, InputId};

/// Sums over the archive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Totals {
    /// Epoch of the sums.
    pub epoch: Epoch,
    /// Records read and woven.
    pub records: u64,
    /// Rows of `captures`.
    pub captures: u64,
    /// Rows of `pages`.
    pub pages: u64,
    /// Rows of `links`.
    pub links: u64,
    /// Rows of `uris`.
    pub uris: u64,
    /// Rows of `domains`.
    pub domains: u64,
    /// Rows of `quarantine`.
    pub quarantined: u64,
    /// Inputs known.
    pub inputs: u64,
    /// Inputs not begun.
    pub inputs_pending: u64,
    /// Inputs read in part.
    pub inputs_loading: u64,
    /// Inputs read to their end.
    pub inputs_done: u64,
    /// Inputs given up.
    pub inputs_failed: u64,
    /// Inputs taken down whole.
    pub inputs_taken_down: u64,
    /// Captures that takedowns keep out.
    pub captures_taken_down: u64,
    /// Lines of indexes.
    pub index_lines: u64,
    /// Least and greatest fetch time of all captures, in milliseconds since 1970.
    pub fetch_time_ms: Option<(i64, i64)>,
    /// Collection labels in use, sorted.
    pub collections: Vec<String>,
}

/// An anchor text of the links to a page, and from how many hosts they come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnchorRow {
    /// At most 120 bytes.
    pub text: String,
    /// Hosts with a page that links so.
    pub hosts: u64,
}

impl AnchorRow {
    /// How much it counts: [`crate::anchor_weight`].
    pub fn weight(&self) -> u8 {
        anchor_weight(self.hosts)
    }
}

/// The current version of a URL key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRow {
    /// Its key.
    pub url_key: String,
    /// As archived, in the spelling of this version.
    pub url: String,
    /// Milliseconds since 1970.
    pub fetch_time_ms: i64,
    /// Greatest fetch time of this version and of all captures since that say it was still there and are no versions
    /// themselves (docs/views.md), milliseconds since 1970.
    pub last_seen_ms: i64,
    /// Kind of its record.
    pub kind: CaptureKind,
    /// HTTP status, 0 if there is none.
    pub status: u16,
    /// Declared type.
    pub mime: String,
    /// Payload digest.
    pub digest: String,
    /// Whether it is a page; else a redirect or not HTML.
    pub is_page: bool,
    /// Whether it is no page and has a text for search all the same: plain text, a feed, a PDF, an office file.
    pub is_document: bool,
    /// Title; empty if none.
    pub title: String,
    /// BCP 47; empty if unknown.
    pub language: String,
    /// `link rel=canonical`.
    pub canonical: Option<String>,
    /// `meta name=robots`.
    pub robots: Option<String>,
    /// Links of this version.
    pub links: u32,
    /// Links not kept.
    pub links_dropped: u32,
    /// Whether there is text, and whether it was cut.
    pub text_truncated: Option<bool>,
    /// The capture that the text is of, where it is another one.
    pub text_capture: Option<TextCapture>,
    /// The capture that its content is of, if it is a revisit of another URL: who may not see that one sees nothing of this version.
    pub original: Option<OriginalCapture>,
    /// Input of its record.
    pub input: InputId,
    /// Collection of that input.
    pub collection: String,
    /// Offset of its record.
    pub offset: u64,
}

/// The capture that the text of a version is of, if it is another than the version's: of the same URL key and time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextCapture {
    /// Payload digest.
    pub digest: String,
    /// Collection of its input.
    pub collection: String,
    /// Declared type.
    pub mime: String,
}

/// The capture whose content a revisit of another URL has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OriginalCapture {
    /// Its URL key.
    pub url_key: String,
    /// Its fetch time, in milliseconds since 1970.
    pub fetch_time_ms: i64,
    /// Payload digest.
    pub digest: String,
    /// Collection of its input.
    pub collection: String,
    /// Declared type.
    pub mime: String,
}

impl OriginalCapture {
    pub(crate) fn of(original: &extract::Original, collection: String) -> OriginalCapture {
        OriginalCapture {
            url_key: original.url_key.clone(),
            fetch_time_ms: original.fetch_time_ms,
            digest: original.digest.clone(),
            collection,
            mime: original.mime.clone(),
        }
    }
}

/// What a page was before its current version: captures of one digest that follow each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastVersion {
    /// Fetch time of its first capture.
    pub since_ms: i64,
    /// Fetch time of the first capture of what came after it; the greatest number of the last version of a page that the current
    /// version is not of ([`PastVersion::page`]).
    pub until_ms: i64,
    /// Fetch time of its last capture, which the rest is of.
    pub fetch_time_ms: i64,
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
    /// Name of its text ([`crate::Snapshot::past_text`]); `None` where it has none.
    pub text: Option<[u8; 16]>,
    /// The capture that its text is of, where it is another one.
    pub text_capture: Option<TextCapture>,
    /// The capture that its content is of, if it is a revisit of another URL.
    pub original: Option<OriginalCapture>,
    /// Addresses whose letters differ in case have one key, and may be different pages. If this is a version of another page than the
    /// current version, the least [spelling](urlkey::Spelling) of that page.
    pub page: Option<String>,
}

impl PastVersion {
    /// Whether it is the last version of its page: what that page is now.
    pub fn is_open(&self) -> bool {
        self.until_ms == i64::MAX
    }
}

/// How many versions the current one had before it, among what its key was.
pub fn past_count(past: &[PastVersion]) -> u32 {
    let own = past.iter().filter(|past| past.page.is_none());
    u32::try_from(own.count()).unwrap_or(u32::MAX)
}

/// A URL key that is captured or linked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriRow {
    /// The key.
    pub url_key: String,
    /// Whether any capture is held.
    pub captured: bool,
    /// Whether the current version is a page.
    pub is_page: bool,
    /// Distinct sources linking here now.
    pub inlinks: u64,
    /// Of these, in other domains.
    pub inlinks_external: u64,
}

/// A link of a current version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkRow {
    /// Key of the source.
    pub source_key: String,
    /// Key of the target.
    pub target_key: String,
    /// Target as the source writes it, resolved.
    pub target_url: String,
    /// Anchor text.
    pub anchor: String,
    /// Whether it is nofollow.
    pub nofollow: bool,
    /// Whether source and target are in different domains.
    pub external: bool,
}

/// A link of versions of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionLink {
    /// As the version of `fetch_time_ms` has it.
    pub link: LinkRow,
    /// URL of that version, as archived.
    pub source_url: String,
    /// Title of that version; empty if none.
    pub source_title: String,
    /// Fetch time of the version that was asked for; of all versions, of the last that has a link to the key.
    pub fetch_time_ms: i64,
    /// Fetch time of the first version that has a link to the key.
    pub first_ms: i64,
    /// Whether the current version has one.
    pub is_current: bool,
}

/// A capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureRow {
    /// Key.
    pub url_key: String,
    /// Milliseconds since 1970.
    pub fetch_time_ms: i64,
    /// As archived.
    pub url: String,
    /// Declared type.
    pub mime: String,
    /// HTTP status, 0 if there is none.
    pub status: u16,
    /// Method of the request; empty if unknown.
    pub method: String,
    /// Payload digest.
    pub digest: String,
    /// Bytes of the record as stored.
    pub length: u64,
    /// First byte of the record.
    pub offset: u64,
    /// Input.
    pub input: InputId,
    /// Name of the input.
    pub input_name: String,
    /// Where the input is read from.
    pub location: String,
    /// Collection of the input.
    pub collection: String,
    /// Kind of record.
    pub kind: CaptureKind,
    /// Whether an index alone tells of it, and its record is not loaded. `input`, `location` and `collection` are those of
    /// the index then, and `input_name` is the file that the index names.
    pub index_only: bool,
}

/// A registered domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainRow {
    /// Name.
    pub domain: String,
    /// URIs in it.
    pub uris: u64,
    /// Of these, pages.
    pub pages: u64,
    /// Sum over its URIs.
    pub inlinks_external: u64,
}

/// A place in a ranking: also where the next page of it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopRow {
    /// The URI.
    pub url_key: String,
    /// Distinct sources linking here now.
    pub inlinks: u64,
    /// Of these, in other domains.
    pub inlinks_external: u64,
}

/// Which captures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyRange {
    /// All.
    All,
    /// Those of one URL key.
    Exact(String),
    /// Those whose URL key begins so (`com,example)` is a host, `com,example,` its subdomains).
    Prefix(String),
    /// Those of URL keys from the first on, up to but without the second (see [`urlkey::url_ranges`]).
    Between(String, String),
}

impl From<urlkey::KeyRange> for KeyRange {
    /// A range that ends with the next key after its first is that one key: rows have a zero behind their key, as that end has.
    fn from(range: urlkey::KeyRange) -> KeyRange {
        match range.end.strip_suffix('\0') {
            Some(only) if only == range.start => KeyRange::Exact(range.start),
            _ => KeyRange::Between(range.start, range.end),
        }
    }
}
