//! Completions for a search box.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks for completions of the last word of a query that is being typed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Suggest {
    /// The text typed so far.
    pub text: String,
    /// Maximum number of completions, at most 50.
    pub limit: usize,
}

/// Completions of the text typed so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestionsBody {
    /// The text typed so far.
    #[schemars(example = &"root zo")]
    pub text: String,
    /// Epoch that the search index covers.
    pub search_epoch: u64,
    /// Completions, those of the most pages first. Empty if no word has been started, if no page
    /// contains such a word, or if they could not be found quickly enough.
    pub rows: Vec<SuggestionRow>,
}

/// A completion.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestionRow {
    /// The typed text with its last word completed.
    #[schemars(example = &"root zone")]
    pub text: String,
    /// The completed word in its most frequent spelling.
    #[schemars(example = &"zone")]
    pub word: String,
    /// Number of pages that contain the word together with the text typed before it.
    pub pages: u64,
}
