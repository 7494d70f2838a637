//! Completions of what is typed into a search box.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks for completions of the last word of a query that is being typed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Suggest {
    /// What was typed so far.
    pub text: String,
    /// Most completions; 50 where more are asked for.
    pub limit: usize,
}

/// Completions of what was typed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestionsBody {
    /// What was typed.
    #[schemars(example = &"root zo")]
    pub text: String,
    /// Epoch that the search index covers.
    pub search_epoch: u64,
    /// Completions, those of most pages first. None where there is nothing to complete, where no page has such a word, or where they
    /// could not be found quickly enough.
    pub rows: Vec<SuggestionRow>,
}

/// A completion.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestionRow {
    /// What was typed, with its last word completed.
    #[schemars(example = &"root zone")]
    pub text: String,
    /// The completed word, as most pages write it.
    #[schemars(example = &"zone")]
    pub word: String,
    /// Number of pages that have it, together with what was typed before it.
    pub pages: u64,
}
