//! What somebody sees of the archive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks whether who asks sees everything.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Sight {}

/// What who asks may see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SightBody {
    /// Whether nothing is hidden, whatever will be loaded.
    pub everything: bool,
    /// Whether the archive has rules at all.
    pub has_rules: bool,
}
