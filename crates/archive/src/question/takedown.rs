//! Takedowns: captures that leave the archive and stay out, and the register of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ForgottenBody;

/// What a takedown selects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Takes {
    /// All captures of a URL, or of a URL key.
    Url(String),
    /// All captures of URLs that begin so; also a URL key's beginning.
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
    /// What.
    pub takes: Takes,
    /// Why, for the register.
    #[serde(default)]
    pub reason: String,
    /// Who asks for it, for the register.
    #[serde(default)]
    pub who: String,
    /// Only say what would leave.
    #[serde(default)]
    pub dry_run: bool,
    /// Most captures that a dry run lists; 0 means 100.
    #[serde(default)]
    pub limit: usize,
}

/// What left, or would leave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TakenDownBody {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Its row of the register; absent in a dry run, and if only unfinished inputs were meant.
    pub takedown: Option<TakedownRow>,
    /// Whether the same had been taken down before, so that nothing had to leave.
    pub known: bool,
    /// Captures that leave.
    pub captures: u64,
    /// Inputs that they are in, with how many of each.
    pub inputs: Vec<TakenDownInput>,
    /// The first of them; in a dry run alone.
    pub rows: Vec<TakenDownCapture>,
    /// Captures that would be current now and cannot be read again, so that an older one is.
    pub unreadable: Vec<UnreadableCapture>,
    /// Inputs that were not read to their end, or have no captures: they are removed from the ledger, and are new when they are
    /// loaded again.
    pub forgotten: ForgottenBody,
}

/// How much of an input leaves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TakenDownInput {
    /// Its name.
    #[schemars(example = &"iana.warc.gz")]
    pub input: String,
    /// Captures that leave.
    pub captures: u64,
}

/// A capture that would leave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TakenDownCapture {
    /// Its URL.
    #[schemars(example = &"http://www.iana.org/")]
    pub url: String,
    /// When it was fetched (ISO 8601).
    pub fetch_time: String,
    /// The input that it is in.
    pub input: String,
    /// Its place there.
    pub offset: u64,
}

/// A capture that would be current and cannot be read again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadableCapture {
    /// Its URL.
    #[schemars(example = &"http://www.iana.org/")]
    pub url: String,
    /// The input that it is in.
    pub input: String,
    /// Its place there.
    pub offset: u64,
    /// Why it cannot be read.
    pub why: String,
}

/// Asks for the register of takedowns.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Takedowns {}

/// The register of takedowns. It does not say what was taken down.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TakedownsBody {
    /// All takedowns, the oldest first.
    pub rows: Vec<TakedownRow>,
    /// Captures that are kept out now.
    pub captures_taken_down: u64,
    /// Inputs that are kept out whole.
    pub inputs_taken_down: u64,
}

/// One takedown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TakedownRow {
    /// Its number.
    pub id: u32,
    /// When it was made (ISO 8601).
    pub at: String,
    /// The account of whoever asked for it.
    pub who: String,
    /// Why, in that person's words.
    pub reason: String,
    /// What it is about: `url`, `prefix`, `inputs`, `collection` or `before`.
    #[schemars(example = &"url")]
    pub kind: String,
    /// The time of a takedown of all that was fetched before it (ISO 8601); absent otherwise.
    pub before: Option<String>,
    /// Captures that left with it.
    pub captures: u64,
    /// Pages that were gone after it.
    pub pages: u64,
    /// Inputs that the captures were in.
    pub inputs: u64,
    /// When it was undone (ISO 8601); absent while it is in force.
    pub undone: Option<String>,
    /// The account of whoever undid it.
    pub undone_by: Option<String>,
}

/// Ends a takedown.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct UndoTakedown {
    /// Its number.
    pub id: u32,
    /// Who asks for it, for the register.
    #[serde(default)]
    pub who: String,
}

/// A takedown that has ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UndoneBody {
    /// Its row of the register.
    pub takedown: TakedownRow,
    /// Locations of the inputs that bring back what it kept out when they are loaded again.
    pub inputs: Vec<String>,
}

/// Writes everything anew that holds files, so that none has what left the archive.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Purge {}

/// What a purge came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PurgedBody {
    /// Size of all files in the archive's directory before, in bytes.
    pub disk_bytes_before: u64,
    /// The same afterwards.
    pub disk_bytes: u64,
    /// Files that may still hold what left, and why.
    pub notes: Vec<String>,
}

/// Asks what is kept out, in a form that can be asked of captures elsewhere: for `weft verify`. It is no part of the HTTP API.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TakedownRulesQuestion {}

/// What is kept out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TakedownRulesBody {
    /// The rules as JSON, with the key of their hashes.
    pub rules: String,
}
