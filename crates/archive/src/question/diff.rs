//! The changes of a page between two of its versions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks for the changes between two versions of a page.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Diff {
    /// The URL, or its key.
    pub url: String,
    /// Time of the older version, 1 to 14 digits. If absent, the version before the newer one.
    #[serde(default)]
    pub from: Option<String>,
    /// Time of the newer version, 1 to 14 digits. If absent, the newest version.
    #[serde(default)]
    pub to: Option<String>,
}

/// The changes between two versions of a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffBody {
    /// Sort key of the URL.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// The older version.
    pub from: DiffVersion,
    /// The newer version.
    pub to: DiffVersion,
    /// The texts in order, in parts that both versions have, that were removed or that were added.
    pub parts: Vec<DiffPart>,
    /// Number of removed words.
    pub words_gone: u64,
    /// Number of added words.
    pub words_new: u64,
}

/// One of the two compared versions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffVersion {
    /// When it was first captured (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub since: String,
    /// When it was last captured (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time: String,
    /// When the following version was first captured (ISO 8601); absent for the current version.
    pub until: Option<String>,
    /// Its title.
    #[schemars(example = &"Example")]
    pub title: String,
    /// Its payload digest.
    pub digest: String,
}

/// A part of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffPart {
    /// Whether the part was kept, removed or added.
    pub change: DiffChange,
    /// The text. A long unchanged part is shortened to its beginning and end, around `…`.
    pub text: String,
}

/// How a part of the text changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffChange {
    /// Both versions have it.
    #[default]
    Same,
    /// Only the older version has it.
    Gone,
    /// Only the newer version has it.
    New,
}
