//! Everything known about one URL.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AttachmentRow, CdxRow};

/// Asks for everything known about one URL.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Page {
    /// The URL, or its key.
    pub url: String,
}

/// Everything known about one URL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PageBody {
    /// Sort key of the URL.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// The URL as in the current version, or else as in the newest capture, or else as in the first
    /// page that links to it.
    #[schemars(example = &"http://example.com/")]
    pub url: String,
    /// Host of the URL.
    pub host: String,
    /// Registered domain of the URL.
    pub domain: String,
    /// Whether the archive has a capture of the URL. If not, it is known only from links.
    pub captured: bool,
    /// Whether the current version is a page.
    pub is_page: bool,
    /// Whether the current version is a searchable document other than a page: plain text, a feed,
    /// a PDF, EPUB or office file.
    pub is_document: bool,
    /// When the current version was captured (ISO 8601), if any.
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time: Option<String>,
    /// When the current version was first captured, without another version in between (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub since: Option<String>,
    /// When the current version was last seen unchanged (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub last_seen: Option<String>,
    /// HTTP status of the current version; 0 if it has none.
    pub status: u16,
    /// Media type of the current version.
    #[schemars(example = &"text/html")]
    pub mime: String,
    /// Payload digest of the current version.
    pub digest: String,
    /// Title of the page.
    #[schemars(example = &"Example")]
    pub title: String,
    /// BCP 47 language of the page; empty if unknown.
    pub language: String,
    /// URL in the page's `link rel=canonical`, resolved.
    #[schemars(example = &"http://example.com/")]
    pub canonical: Option<String>,
    /// Content of the page's `meta name=robots`, in lower case.
    #[schemars(example = &"noindex")]
    pub robots: Option<String>,
    /// Number of links on the page that the archive keeps.
    pub links: u64,
    /// Number of links on the page that were dropped because there were too many or they were too
    /// long.
    pub links_dropped: u64,
    /// Number of pages that link to the URL.
    pub inlinks: u64,
    /// Number of these pages that belong to another registered domain.
    pub inlinks_external: u64,
    /// The first 2,000 characters of the page's text.
    pub text_preview: String,
    /// Whether the searchable text of the page was cut because it was too long.
    pub text_truncated: bool,
    /// The capture that is the current version, if any.
    pub current: Option<CdxRow>,
    /// Captures of the URL, newest first, at most 1,000.
    pub captures: Vec<CdxRow>,
    /// What crawlers added to the page, newest first, at most 1,000.
    pub attachments: Vec<AttachmentRow>,
    /// Earlier versions of the page, newest first, at most 1,000.
    pub past_versions: Vec<PastVersionRow>,
}

/// A past version of a page: consecutive captures with the same digest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastVersionRow {
    /// When it was first captured (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub since: String,
    /// When the following version was first captured (ISO 8601).
    #[schemars(example = &"2014-06-01T00:00:00.000Z")]
    pub until: String,
    /// When it was last captured (ISO 8601).
    #[schemars(example = &"2014-02-01T00:00:00.000Z")]
    pub fetch_time: String,
    /// URL of that last capture.
    #[schemars(example = &"http://example.com/")]
    pub url: String,
    /// Title of the version.
    #[schemars(example = &"Example")]
    pub title: String,
    /// Media type of the version.
    #[schemars(example = &"text/html")]
    pub mime: String,
    /// BCP 47 language of the version; empty if unknown.
    pub language: String,
    /// Payload digest of the version.
    pub digest: String,
    /// Label of the input of the version; empty if it has none.
    pub collection: String,
}
