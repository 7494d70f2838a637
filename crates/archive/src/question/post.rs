//! Captures added and deleted as lines of indexes.

use rights::Groups;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adds the captures that lines of CDX or CDXJ tell of. They are durable, and in one epoch, when it is answered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Post {
    /// Label of the captures; empty for none.
    pub collection: String,
    /// The lines.
    pub text: String,
    /// Leave out lines that cannot be read, instead of refusing all.
    pub skip_bad_lines: bool,
    /// Pass over captures that would be listed in another collection, because their record is loaded there, instead of refusing all.
    pub skip_loaded: bool,
    /// Whose view decides what is told of what is loaded; everybody's who sees everything if there are no groups.
    pub seen_by: Option<Groups>,
}

/// Deletes captures that were added by [`Post`], by lines of the same forms.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Unpost {
    /// The label that they were added with; empty for none.
    pub collection: String,
    /// The lines.
    pub text: String,
    /// Pass over captures that would stay listed, because their record or another index is loaded, instead of refusing all.
    pub skip_loaded: bool,
    /// As [`Post::seen_by`].
    pub seen_by: Option<Groups>,
}

/// What became of lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostedBody {
    /// Lines that were added or deleted, also those that had been before.
    pub lines: u64,
    /// Lines that tell of no capture (of other schemes, as `dns:`).
    pub passed_over: u64,
    /// Lines that could not be read and were left out.
    pub bad: u64,
    /// Lines of captures whose record is loaded: of a deletion those that stay listed, else those that would be listed in another
    /// collection. Unless they were to be passed over, nothing was added or deleted.
    pub stay: u64,
    /// Why the first of them stays, or is listed elsewhere.
    #[schemars(example = &"line 1: its record is loaded, at offset 334 of iana.warc.gz")]
    pub why_it_stays: Option<String>,
}
