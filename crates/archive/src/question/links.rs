//! Links of a URL, from either end.

use serde::{Deserialize, Serialize};

/// Asks for the links to a URL.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Inlinks {
    /// The URL linked to, or its key.
    pub url: String,
    /// `next` of the answer before.
    #[serde(default)]
    pub after: Option<String>,
    /// Most rows; 100 for 0.
    pub limit: usize,
}

/// Asks for the links of a page.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outlinks {
    /// The page's URL, or its key.
    pub url: String,
    /// `next` of the answer before.
    #[serde(default)]
    pub after: Option<String>,
    /// Most rows; 100 for 0.
    pub limit: usize,
}

/// Links to a URL, or of a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinksBody {
    /// Key of the URL that was asked for.
    pub url_key: String,
    /// By key of the other end.
    pub rows: Vec<LinkRow>,
    /// All there are, in this answer or not.
    pub total: u64,
    /// Where the list goes on; nothing at its end.
    pub next: Option<String>,
}

/// A link, from either end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkRow {
    /// Key of the page that has the link.
    pub source_key: String,
    /// URL of that page.
    pub source_url: String,
    /// Title of that page.
    pub source_title: String,
    /// Key of the URL linked to.
    pub target_key: String,
    /// That URL, as the page writes it, resolved.
    pub target_url: String,
    /// The first text of the link that is not empty.
    pub anchor: String,
    /// Whether all occurrences are `nofollow`, `ugc` or `sponsored`.
    pub nofollow: bool,
    /// Whether the registered domains differ.
    pub external: bool,
}
