//! What has changed on a page between two of its versions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks what has changed between two versions of a page.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Diff {
    /// The URL, or its key.
    pub url: String,
    /// The version of this time, 1 to 14 digits; the one before the other if absent.
    #[serde(default)]
    pub from: Option<String>,
    /// The version of this time; the newest if absent.
    #[serde(default)]
    pub to: Option<String>,
}

/// What has changed between two versions of a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffBody {
    /// Sort key of the URL.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// The older version.
    pub from: DiffVersion,
    /// The newer version.
    pub to: DiffVersion,
    /// The texts in order: what both have, what is gone, what is new.
    pub parts: Vec<DiffPart>,
    /// Number of words that are gone.
    pub words_gone: u64,
    /// Number of words that are new.
    pub words_new: u64,
}

/// A version that is compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffVersion {
    /// When it was captured first (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub since: String,
    /// When it was captured last (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time: String,
    /// When what came after it was captured first; absent of the current version.
    pub until: Option<String>,
    /// Its title.
    #[schemars(example = &"Example")]
    pub title: String,
    /// Its payload digest.
    pub digest: String,
}

/// A stretch of text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffPart {
    /// What became of it.
    pub change: DiffChange,
    /// The text. Of a long stretch that stayed the beginning and the end, around `…`.
    pub text: String,
}

/// What became of a stretch of text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffChange {
    /// Both versions have it.
    #[default]
    Same,
    /// The older one has it.
    Gone,
    /// The newer one has it.
    New,
}
