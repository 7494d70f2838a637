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
    /// Number of all links, including those that are not in this answer.
    pub total: u64,
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
}
