//! The collections: labels that inputs get when they are loaded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks for all collections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Collections {
    /// Read at most this many captures, in the order of URL keys; all if absent.
    pub captures_max: Option<u64>,
}

/// The collections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CollectionsBody {
    /// The collections by name. Inputs without a label have a row with an empty name.
    pub rows: Vec<CollectionRow>,
    /// Whether all captures were read; `false` if reading ended at `captures_max`. Then the times
    /// cover only the captures read. So do the counts for a client that does not see everything.
    pub complete: bool,
}

/// One collection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CollectionRow {
    /// The label; empty for inputs without one.
    #[schemars(example = &"news")]
    pub name: String,
    /// Number of inputs. A client that does not see everything gets the number of inputs with
    /// visible captures.
    pub inputs: u64,
    /// Number of captures.
    pub captures: u64,
    /// When the earliest capture was fetched (ISO 8601), if any.
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time_first: Option<String>,
    /// When the latest capture was fetched (ISO 8601), if any.
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time_last: Option<String>,
}
