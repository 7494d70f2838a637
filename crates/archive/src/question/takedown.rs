//! Takedowns: captures that are removed from the archive and kept out, and the register of
//! takedowns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ForgottenBody;

/// The captures that a takedown selects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TakedownSelector {
    /// All captures of a URL, or of a URL key.
    Url(String),
    /// All captures of URLs with this prefix; a prefix of a URL key works too.
    Prefix(String),
    /// Whole inputs, each by its name, location or digest.
    Inputs(Vec<String>),
    /// All captures of inputs with this label.
    Collection(String),
    /// All captures fetched before this time: 4 to 17 digits, or as ISO 8601.
    Before(String),
}

/// Takes captures down.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TakeDown {
    /// The captures to take down.
    pub takes: TakedownSelector,
    /// The reason, for the register.
    #[serde(default)]
    pub reason: String,
    /// The account that requests it, for the register.
    #[serde(default)]
    pub who: String,
    /// Only report what would be taken down.
    #[serde(default)]
    pub dry_run: bool,
    /// Maximum number of captures that a dry run lists; 0 means 100.
    #[serde(default)]
    pub limit: usize,
}

/// The captures taken down, or that would be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TakenDownBody {
    /// Whether this was a dry run, which changes nothing.
    pub dry_run: bool,
    /// Its row in the register; absent in a dry run, and if only unfinished inputs were selected.
    pub takedown: Option<TakedownRow>,
    /// Whether the same selection was already taken down, so that nothing had to be removed.
    pub known: bool,
    /// Number of these captures.
    pub captures: u64,
    /// The inputs that contain them, with the number for each.
    pub inputs: Vec<TakenDownInput>,
    /// The first of them. Only in a dry run.
    pub rows: Vec<TakenDownCapture>,
    /// Captures that would now be current but cannot be read again, so that an older capture is
    /// current.
    pub unreadable: Vec<UnreadableCapture>,
    /// Inputs that were not read to their end, or have no captures. They are removed from the
    /// ledger, and are new when they are loaded again.
    pub forgotten: ForgottenBody,
}

/// Captures of one input that are taken down.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TakenDownInput {
    /// Its name.
    #[schemars(example = &"iana.warc.gz")]
    pub input: String,
    /// Number of these captures.
    pub captures: u64,
}

/// A capture that would be taken down.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TakenDownCapture {
    /// Its URL.
    #[schemars(example = &"http://www.iana.org/")]
    pub url: String,
    /// When it was fetched (ISO 8601).
    pub fetch_time: String,
    /// The input that contains it.
    pub input: String,
    /// Offset in the input.
    pub offset: u64,
}

/// A capture that would be current but cannot be read again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadableCapture {
    /// Its URL.
    #[schemars(example = &"http://www.iana.org/")]
    pub url: String,
    /// The input that contains it.
    pub input: String,
    /// Offset in the input.
    pub offset: u64,
    /// Why it cannot be read.
    pub why: String,
}

/// Asks for the register of takedowns.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Takedowns {}

/// The register of takedowns. It does not contain the captures taken down.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TakedownsBody {
    /// All takedowns, the oldest first.
    pub rows: Vec<TakedownRow>,
    /// Number of captures kept out now.
    pub captures_taken_down: u64,
    /// Number of inputs kept out completely.
    pub inputs_taken_down: u64,
}

/// One takedown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TakedownRow {
    /// Number of the takedown.
    pub id: u32,
    /// When the takedown was made (ISO 8601).
    pub at: String,
    /// The account that requested it.
    pub who: String,
    /// The reason given in the request.
    pub reason: String,
    /// What it selects by: `url`, `prefix`, `inputs`, `collection` or `before`.
    #[schemars(example = &"url")]
    pub kind: String,
    /// For a takedown by time: the time before which captures were fetched (ISO 8601); absent
    /// otherwise.
    pub before: Option<String>,
    /// Number of captures removed by it.
    pub captures: u64,
    /// Number of pages that no longer existed after it.
    pub pages: u64,
    /// Number of inputs that contained the captures.
    pub inputs: u64,
    /// When it was undone (ISO 8601); absent while it is in force.
    pub undone: Option<String>,
    /// The account that undid it.
    pub undone_by: Option<String>,
}

/// Ends a takedown.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct UndoTakedown {
    /// Number of the takedown.
    pub id: u32,
    /// The account that requests it, for the register.
    #[serde(default)]
    pub who: String,
}

/// A takedown that has ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UndoneBody {
    /// Its row in the register.
    pub takedown: TakedownRow,
    /// Locations of the inputs that restore the captures when they are loaded again.
    pub inputs: Vec<String>,
}

/// Rewrites all files that may still contain captures removed from the archive.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Purge {}

/// The result of a purge.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PurgedBody {
    /// Size of all files in the archive's directory before, in bytes.
    pub disk_bytes_before: u64,
    /// Size of all files in the archive's directory afterwards, in bytes.
    pub disk_bytes: u64,
    /// Files of the archive that may still contain removed captures, and why.
    pub notes: Vec<String>,
    /// Inputs outside the archive's directory that still contain removed captures. A purge does not
    /// change them.
    #[serde(default)]
    pub inputs: Vec<String>,
}

/// Asks for the rules of all takedowns, in a form that can be tested on captures elsewhere (`weft
/// verify`). Not part of the HTTP API.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TakedownRulesQuestion {}

/// The rules of all takedowns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TakedownRulesBody {
    /// The rules as JSON, with the key of their hashes.
    pub rules: String,
}
