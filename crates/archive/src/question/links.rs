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
    /// Maximum number of rows per answer; 0 means 100.
    pub limit: usize,
    /// Return the links of the versions that were current at the end of this time, 1 to 14 digits.
    /// If absent, return the links of the current versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Return the links of all versions. Cannot be combined with `at`.
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
    /// Maximum number of rows per answer; 0 means 100.
    pub limit: usize,
}

/// One part of the links to a URL or of a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinksBody {
    /// Key of the URL asked for.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// The links, sorted by the key of the other end.
    pub rows: Vec<LinkRow>,
    /// Number of all links, including those not in this answer. Absent with `at` or `ever`, where
    /// links are not counted.
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
    /// When the current version of that page was captured (ISO 8601). Absent if versions other than
    /// the current one were asked for: `version` has the times then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub source_fetch_time: Option<String>,
    /// Key of the URL linked to.
    #[schemars(example = &"org,archive)/")]
    pub target_key: String,
    /// URL that the link points to, resolved from the text in the page.
    #[schemars(example = &"http://www.archive.org/")]
    pub target_url: String,
    /// Text of the link's first occurrence on the page that has any text.
    #[schemars(example = &"the archive")]
    pub anchor: String,
    /// Whether every occurrence of the link on the page is `nofollow`, `ugc` or `sponsored`.
    pub nofollow: bool,
    /// Whether source and target belong to different registered domains.
    pub external: bool,
    /// The version that contains the link, if versions other than the current one were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<LinkVersion>,
}

/// The versions of a page that contain a link. All times are times of captures; changes between two
/// captures are not known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkVersion {
    /// When the first version with such a link was captured (ISO 8601).
    #[schemars(example = &"2008-01-26T20:06:24.000Z")]
    pub first_seen: String,
    /// With `ever`, when the last version with the link was captured. With `at`, when the version
    /// of that time was captured. Anchor, URL and title are those of this version.
    #[schemars(example = &"2012-01-26T20:06:24.000Z")]
    pub fetch_time: String,
    /// Whether the page's current version contains such a link.
    pub is_current: bool,
}
