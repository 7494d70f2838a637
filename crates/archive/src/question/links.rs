//! Links to a URL and links of a page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks for the links to a URL.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Inlinks {
    /// The URL that the links point to, or its key.
    pub url: String,
    /// Cursor to continue from: `next` of the previous answer.
    #[serde(default)]
    pub after: Option<String>,
    /// Most rows in one answer; 0 means 100.
    pub limit: usize,
    /// The links of the versions that were current at the end of this time, 1 to 14 digits; of those that are current now if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The links of all versions. Not with `at`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ever: bool,
}

/// Asks for the links of a page.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outlinks {
    /// URL of the page, or its key.
    pub url: String,
    /// Cursor to continue from: `next` of the previous answer.
    #[serde(default)]
    pub after: Option<String>,
    /// Most rows in one answer; 0 means 100.
    pub limit: usize,
}

/// One part of the links to a URL or of a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinksBody {
    /// Key of the URL that was asked for.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// The links, sorted by the key of the other end.
    pub rows: Vec<LinkRow>,
    /// Number of all links, including those that are not in this answer. Links with `at` or `ever` are not counted: absent.
    pub total: Option<u64>,
    /// Cursor for the next part; absent at the end of the list.
    pub next: Option<String>,
}

/// One link from a page to a URL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkRow {
    /// Key of the page that contains the link.
    #[schemars(example = &"com,example)/")]
    pub source_key: String,
    /// URL of that page.
    #[schemars(example = &"http://example.com/")]
    pub source_url: String,
    /// Title of that page.
    pub source_title: String,
    /// Key of the URL linked to.
    #[schemars(example = &"org,archive)/")]
    pub target_key: String,
    /// URL that the link points to, resolved from what the page writes.
    #[schemars(example = &"http://www.archive.org/")]
    pub target_url: String,
    /// Text of the link's first occurrence on the page that has any text.
    #[schemars(example = &"the archive")]
    pub anchor: String,
    /// Whether every occurrence of the link on the page is `nofollow`, `ugc` or `sponsored`.
    pub nofollow: bool,
    /// Whether source and target belong to different registered domains.
    pub external: bool,
    /// Which version has it, where versions other than the current one were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<LinkVersion>,
}

/// The versions of a page that have a link. Times are those of captures: between two of them nobody knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkVersion {
    /// When the first version with such a link was captured (ISO 8601).
    #[schemars(example = &"2008-01-26T20:06:24.000Z")]
    pub first_seen: String,
    /// With `ever`, when the last version with it was captured; with `at`, when the one of that time was. Anchor, URL and title are
    /// those of this version.
    #[schemars(example = &"2012-01-26T20:06:24.000Z")]
    pub fetch_time: String,
    /// Whether the page's current version has such a link.
    pub is_current: bool,
}
