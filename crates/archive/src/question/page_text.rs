//! The text of one version of a page or document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks for a part of the text of one version.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PageText {
    /// The URL, or its key.
    pub url: String,
    /// Time of the version, 1 to 14 digits. If absent, the newest version.
    #[serde(default)]
    pub at: Option<String>,
    /// Characters to skip: `next` of the previous answer.
    #[serde(default)]
    pub start: u64,
    /// Maximum number of characters per answer: at most 100,000; 0 means 10,000.
    #[serde(default)]
    pub limit: usize,
}

/// A part of the text of one version.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PageTextBody {
    /// Sort key of the URL.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// URL of the version.
    #[schemars(example = &"http://example.com/")]
    pub url: String,
    /// When the version was first captured (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub since: String,
    /// When it was last captured (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time: String,
    /// When the following version was first captured (ISO 8601); absent for the current version.
    pub until: Option<String>,
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
    /// The part of the text.
    pub text: String,
    /// Number of characters before the part.
    pub start: u64,
    /// Number of characters of the whole text that the archive keeps.
    pub chars: u64,
    /// `start` of the next part; absent at the end of the text.
    pub next: Option<u64>,
}
