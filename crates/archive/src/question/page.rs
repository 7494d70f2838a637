//! Everything known of one URL.

use serde::{Deserialize, Serialize};

use super::CdxRow;

/// Asks for everything known of one URL.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Page {
    /// The URL, or its key.
    pub url: String,
}

/// Everything known of one URL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageBody {
    /// Its sort key.
    pub url_key: String,
    /// As its current version has it, else its newest capture, else the first page that links to it.
    pub url: String,
    /// Its host.
    pub host: String,
    /// Its registered domain.
    pub domain: String,
    /// Whether any capture of it is held (else it is only linked to).
    pub captured: bool,
    /// Whether the current version is a page.
    pub is_page: bool,
    /// When the current version was captured (ISO 8601), if there is one.
    pub fetch_time: Option<String>,
    /// When it was last seen unchanged (ISO 8601).
    pub last_seen: Option<String>,
    /// HTTP status of the current version, 0 if it has none.
    pub status: u16,
    /// Media type of the current version.
    pub mime: String,
    /// Payload digest of the current version.
    pub digest: String,
    /// Title of the page.
    pub title: String,
    /// BCP 47 language of the page, empty if unknown.
    pub language: String,
    /// `link rel=canonical` of the page, resolved.
    pub canonical: Option<String>,
    /// `meta name=robots` of the page, lower case.
    pub robots: Option<String>,
    /// Links of the page.
    pub links: u64,
    /// Links of the page that were too many or too long to be kept.
    pub links_dropped: u64,
    /// Pages that link here.
    pub inlinks: u64,
    /// Of these, the ones of other registered domains.
    pub inlinks_external: u64,
    /// The first 2,000 characters of the page's text.
    pub text_preview: String,
    /// Whether the text that is searched was cut.
    pub text_truncated: bool,
    /// The capture that is the current version, if there is one.
    pub current: Option<CdxRow>,
    /// Newest first, at most 1,000.
    pub captures: Vec<CdxRow>,
}
