//! Rebuilds of views from the data they are derived from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rebuilds views while queries continue to be answered from the previous state. Rows that differ
/// from the data they are derived from are repaired.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Rebuild {
    /// `uris`, `inlinks`, `domains` and `top`. The other views are derived from the inputs only.
    #[serde(default)]
    pub views: Vec<String>,
    /// Whether to rebuild the search index too, after the views.
    #[serde(default)]
    pub search: bool,
}

/// The result of a rebuild.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RebuiltBody {
    /// The epoch in which views were repaired, or the newest epoch if all rows were correct.
    pub rebuilt_epoch: u64,
    /// The parts compared, in this order.
    pub parts: Vec<RebuiltPart>,
    /// Whether the search index ranks by in-links that were repaired and must be rebuilt as well.
    pub search_is_behind: bool,
}

/// One table of the index, or the search index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RebuiltPart {
    /// Name of the table; `search` for the search index.
    #[schemars(example = &"uris")]
    pub part: String,
    /// Number of correct rows, all of them compared. For the search index, the number of documents.
    pub rows: u64,
    /// Number of rows that were missing, wrong or superfluous. For the search index, all documents,
    /// because it is rewritten.
    pub mended: u64,
}

/// Asks for the progress of a rebuild.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Rebuilding {}

/// Progress of a rebuild.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RebuildingBody {
    /// The table being rebuilt, or `search`; empty if no rebuild is running or it has just begun.
    #[schemars(example = &"uris")]
    pub part: String,
    /// Approximate number of rows compared so far.
    pub rows: u64,
}
