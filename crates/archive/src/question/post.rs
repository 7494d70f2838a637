//! Captures added and deleted as lines of indexes.

use access::Groups;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adds the captures described by lines of CDX or CDXJ. All are committed in one epoch and durable
/// before the answer is sent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Post {
    /// Label of the captures; empty for none.
    pub collection: String,
    /// The lines.
    pub text: String,
    /// Leave out unreadable lines instead of refusing the request.
    pub skip_bad_lines: bool,
    /// Skip captures that would be listed in another collection because their record is loaded
    /// there, instead of refusing the request.
    pub skip_loaded: bool,
    /// Groups whose access decides what the answer reveals about loaded captures. If absent,
    /// everything may be revealed.
    pub seen_by: Option<Groups>,
}

/// Deletes captures that were added by [`Post`], given by lines in the same format.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Unpost {
    /// The label with which they were added; empty for none.
    pub collection: String,
    /// The lines.
    pub text: String,
    /// Skip captures that would stay listed because their record or another index is loaded,
    /// instead of refusing the request.
    pub skip_loaded: bool,
    /// See [`Post::seen_by`].
    pub seen_by: Option<Groups>,
}

/// The result of adding or deleting lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostedBody {
    /// Number of lines added or deleted, including those that already were.
    pub lines: u64,
    /// Number of lines that describe no capture (other schemes, such as `dns:`).
    pub passed_over: u64,
    /// Number of unreadable lines that were left out.
    pub bad: u64,
    /// Number of lines whose captures are also loaded. In a deletion, these captures would stay
    /// listed. Otherwise they would be listed in another collection, because their record is loaded
    /// there. If there are any and skipping was not requested, the whole request is refused.
    pub stay: u64,
    /// Why the first of them stays, or is listed elsewhere.
    #[schemars(example = &"line 1: its record is loaded, at offset 334 of iana.warc.gz")]
    pub why_it_stays: Option<String>,
}
