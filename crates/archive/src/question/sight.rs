//! How much of the archive the client may see.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks whether the client sees everything.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct AccessScope {}

/// How much the client may see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessScopeBody {
    /// Whether nothing is hidden from the client, now or after future loads.
    pub everything: bool,
    /// Whether the archive has any access rules.
    pub has_rules: bool,
}
