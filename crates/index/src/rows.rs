//! Rows as answers show them.

use extract::CaptureKind;
use serde::{Deserialize, Serialize};

use crate::bucket::anchor_weight;
use crate::ids::{Epoch, InputId};

/// Sums over the archive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Totals {
    /// Epoch of the sums.
    pub epoch: Epoch,
    /// Records read and indexed.
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
    /// Known inputs.
    pub inputs: u64,
    /// Inputs that are not started.
    pub inputs_pending: u64,
    /// Inputs that are partly read.
    pub inputs_loading: u64,
    /// Inputs read to their end.
    pub inputs_done: u64,
    /// Inputs given up.
    pub inputs_failed: u64,
    /// Inputs taken down as a whole.
    pub inputs_taken_down: u64,
    /// Captures that takedowns keep out.
    pub captures_taken_down: u64,
    /// Rows of `index_lines` that are lines of indexes.
    pub index_lines: u64,
    /// Rows of `index_lines` that are attachments of pages.
    pub attachments: u64,
    /// Least and greatest fetch time of all captures, in milliseconds since 1970.
    pub fetch_time_ms: Option<(i64, i64)>,
    /// Collection labels in use, sorted.
    pub collections: Vec<String>,
}

/// An anchor text of the links to a page, with its number of hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnchorRow {
    /// At most 120 bytes.
    pub text: String,
    /// Hosts with a page that links with this text.
    pub hosts: u64,
}

impl AnchorRow {
    /// Weight of the text: [`crate::anchor_weight`].
    pub fn weight(&self) -> u8 {
        anchor_weight(self.hosts)
    }
}

/// The current version of a URL key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRow {
    /// URL key.
    pub url_key: String,
    /// URL as archived, in the spelling of this version.
    pub url: String,
    /// Milliseconds since 1970.
    pub fetch_time_ms: i64,
    /// Greatest fetch time of this version and of the later captures that confirm it without being
    /// versions themselves (docs/views.md), in milliseconds since 1970.
    pub last_seen_ms: i64,
    /// Kind of its record.
    pub kind: CaptureKind,
    /// HTTP status, 0 if unknown.
    pub status: u16,
    /// Declared media type.
    pub mime: String,
    /// Payload digest.
    pub digest: String,
    /// Whether it is a page; otherwise it is a redirect or not HTML.
    pub is_page: bool,
    /// Whether it is a document: no page, but with a text for search (plain text, a feed, a PDF, an
    /// office file).
    pub is_document: bool,
    /// Title; empty if none.
    pub title: String,
    /// Language (BCP 47); empty if unknown.
    pub language: String,
    /// `link rel=canonical`.
    pub canonical: Option<String>,
    /// `meta name=robots`.
    pub robots: Option<String>,
    /// Number of links of this version.
    pub links: u32,
    /// Number of links not kept.
    pub links_dropped: u32,
    /// Whether the text is truncated; `None` if there is no text.
    pub text_truncated: Option<bool>,
    /// The capture that the text comes from, if it is another one.
    pub text_capture: Option<TextCapture>,
    /// The capture that its content comes from, if it is a revisit of another URL. Callers who may
    /// not see that capture must not see this version.
    pub original: Option<OriginalCapture>,
    /// Input of its record.
    pub input: InputId,
    /// Collection of that input.
    pub collection: String,
    /// Offset of its record.
    pub offset: u64,
}

/// The capture that the text of a version comes from, if it is not the version's own. It has the
/// same URL key and time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextCapture {
    /// Payload digest.
    pub digest: String,
    /// Collection of its input.
    pub collection: String,
    /// Declared media type.
    pub mime: String,
}

/// The original of a revisit of another URL: the capture with its content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OriginalCapture {
    /// URL key.
    pub url_key: String,
    /// Fetch time, in milliseconds since 1970.
    pub fetch_time_ms: i64,
    /// Payload digest.
    pub digest: String,
    /// Collection of its input.
    pub collection: String,
    /// Declared media type.
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

/// A version of a page before its current one: successive captures with the same digest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastVersion {
    /// Fetch time of its first capture.
    pub since_ms: i64,
    /// Fetch time of the first capture of the next version. `i64::MAX` for the last version of a
    /// page other than the current version's ([`PastVersion::page`]).
    pub until_ms: i64,
    /// Fetch time of its last capture, which the other fields describe.
    pub fetch_time_ms: i64,
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
    /// Name of its text ([`crate::Snapshot::past_text`]); `None` if it has none.
    pub text: Option<[u8; 16]>,
    /// The capture that its text comes from, if it is another one.
    pub text_capture: Option<TextCapture>,
    /// The capture that its content comes from, if it is a revisit of another URL.
    pub original: Option<OriginalCapture>,
    /// The least [spelling](urlkey::Spelling) of its page, if that is another page than the current
    /// version's. Addresses that differ only in case have the same key, but may be different pages.
    pub page: Option<String>,
}

impl PastVersion {
    /// Returns whether it is the last version of its page, and so its present state.
    pub fn is_open(&self) -> bool {
        self.until_ms == i64::MAX
    }
}

/// Returns how many past versions the current version's page has.
pub fn past_count(past: &[PastVersion]) -> u32 {
    let own = past.iter().filter(|past| past.page.is_none());
    u32::try_from(own.count()).unwrap_or(u32::MAX)
}

/// A URL key that is captured or linked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriRow {
    /// URL key.
    pub url_key: String,
    /// Whether the archive has a capture of it.
    pub captured: bool,
    /// Whether the current version is a page.
    pub is_page: bool,
    /// Distinct sources that link to it now.
    pub inlinks: u64,
    /// Number of these sources in other domains.
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

/// A link in versions of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionLink {
    /// The link in the version of `fetch_time_ms`.
    pub link: LinkRow,
    /// URL of that version, as archived.
    pub source_url: String,
    /// Title of that version; empty if none.
    pub source_title: String,
    /// Fetch time of the requested version; for all versions, of the last one that has a link to
    /// the key.
    pub fetch_time_ms: i64,
    /// Fetch time of the first version that has a link to the key.
    pub first_ms: i64,
    /// Whether the current version has one.
    pub is_current: bool,
}

/// A capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureRow {
    /// URL key.
    pub url_key: String,
    /// Milliseconds since 1970.
    pub fetch_time_ms: i64,
    /// URL as archived.
    pub url: String,
    /// Declared media type.
    pub mime: String,
    /// HTTP status, 0 if unknown.
    pub status: u16,
    /// Request method; empty if unknown.
    pub method: String,
    /// Payload digest.
    pub digest: String,
    /// Length of the stored record in bytes.
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
    /// Whether its record is damaged.
    pub is_damaged: bool,
    /// Whether only an index lists it, and its record is not loaded. Then `input`, `location` and
    /// `collection` are those of the index, and `input_name` is the file that the index names.
    pub index_only: bool,
}

/// One domain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DomainRow {
    /// The registered domain.
    #[cfg_attr(feature = "schema", schemars(example = &"example.com"))]
    pub domain: String,
    /// URIs of the domain that are captured or linked to.
    pub uris: u64,
    /// Number of these URIs whose current version is a page.
    pub pages: u64,
    /// Links from other domains to this one.
    pub inlinks_external: u64,
}

/// A place in a ranking, also used as the cursor of the next page of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopRow {
    /// The URI.
    pub url_key: String,
    /// Distinct sources that link to it now.
    pub inlinks: u64,
    /// Number of these sources in other domains.
    pub inlinks_external: u64,
}

/// A selection of captures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyRange {
    /// All captures.
    All,
    /// Captures of one URL key.
    Exact(String),
    /// Captures whose URL key begins with this prefix (`com,example)` is a host, `com,example,` its
    /// subdomains).
    Prefix(String),
    /// Captures with URL keys from the first (inclusive) to the second (exclusive); see
    /// [`urlkey::url_ranges`].
    Between(String, String),
}

impl From<urlkey::KeyRange> for KeyRange {
    /// A range from a key to the same key followed by a NUL is a single key.
    fn from(range: urlkey::KeyRange) -> KeyRange {
        match range.end.strip_suffix('\0') {
            Some(only) if only == range.start => KeyRange::Exact(range.start),
            _ => KeyRange::Between(range.start, range.end),
        }
    }
}
