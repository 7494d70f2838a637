//! Views made anew from what they follow from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes views anew while the state before goes on answering. What differs from what it follows from is mended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Rebuild {
    /// `uris`, `inlinks`, `domains` and `top`. The other views follow from the inputs alone.
    #[serde(default)]
    pub views: Vec<String>,
    /// Whether the search index is made anew, too, after the views.
    #[serde(default)]
    pub search: bool,
}

/// What was made anew.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RebuiltBody {
    /// The epoch in which views were mended; the newest one if nothing was wrong.
    pub rebuilt_epoch: u64,
    /// What was compared, in this order.
    pub parts: Vec<RebuiltPart>,
    /// Whether search ranks by in-links that were mended, and must be made anew as well.
    pub search_is_behind: bool,
}

/// One table of the index, or the search index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RebuiltPart {
    /// Name of the table; `search` for the search index.
    #[schemars(example = &"uris")]
    pub part: String,
    /// Rows that it must have, all compared; documents of the search index.
    pub rows: u64,
    /// Rows that were missing, wrong or too many. Of the search index all documents: it is written anew.
    pub mended: u64,
}

/// Asks how far a rebuild is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Rebuilding {}

/// How far a rebuild is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RebuildingBody {
    /// The table at hand, or `search`; empty if no rebuild runs, or it has just begun.
    #[schemars(example = &"uris")]
    pub part: String,
    /// Rows of it that were compared so far, about.
    pub rows: u64,
}
