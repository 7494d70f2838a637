//! Inputs: how far each was loaded, which parts could not be used, and how to remove one from the
//! ledger.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InputState, LedgerRow};

/// Asks for inputs, sorted by name and then by digest.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// Return only inputs in this state.
    #[serde(default)]
    pub state: Option<LedgerState>,
    /// Return only inputs with this name, last part of the name (as CDX names files), location or
    /// digest.
    #[serde(default)]
    pub input: Option<String>,
    /// Cursor to continue from: `next` of the previous answer.
    #[serde(default)]
    pub after: Option<String>,
    /// Maximum number of rows per answer; 0 means 100.
    pub limit: usize,
}

/// Which rows of the ledger to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerState {
    /// Inputs that are known but not read yet.
    Pending,
    /// Inputs that were read in part.
    Loading,
    /// Inputs that were read to their end.
    Done,
    /// Inputs whose loading failed permanently.
    Failed,
    /// Inputs that end in the middle of a record.
    Cut,
    /// Inputs that could not be read or continued, or whose file was replaced, when they were last
    /// loaded.
    Missing,
    /// Inputs that are taken down completely.
    TakenDown,
}

impl LedgerState {
    /// Returns the state with this name in JSON.
    pub fn of_name(name: &str) -> Option<LedgerState> {
        serde_json::from_value(name.into()).ok()
    }

    /// Returns whether an input is in this state. It may be in several.
    pub fn includes(self, row: &LedgerRow) -> bool {
        match self {
            LedgerState::Pending => row.state == InputState::Pending,
            LedgerState::Loading => row.state == InputState::Loading,
            LedgerState::Done => row.state == InputState::Done,
            LedgerState::Failed => matches!(row.state, InputState::Failed { .. }),
            LedgerState::Cut => !row.cut.is_empty(),
            LedgerState::TakenDown => row.state == InputState::TakenDown,
            LedgerState::Missing => !row.missing.is_empty(),
        }
    }
}

/// One part of the ledger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerBody {
    /// The inputs, sorted by name and then by digest.
    pub rows: Vec<LedgerRow>,
    /// Cursor for the next part; absent at the end of the list.
    pub next: Option<String>,
}

/// Asks for records and byte ranges that are damaged or could not be used, by input in the order of
/// loading, then by offset.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Quarantine {
    /// Return only rows of inputs with this name, location or digest.
    #[serde(default)]
    pub input: Option<String>,
    /// Cursor to continue from: `next` of the previous answer.
    #[serde(default)]
    pub after: Option<String>,
    /// Maximum number of rows per answer; 0 means 100.
    pub limit: usize,
}

/// One part of the list of records and byte ranges that are damaged or could not be used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuarantineBody {
    /// The rows, by input in the order of loading, then by offset.
    pub rows: Vec<QuarantineRow>,
    /// Cursor for the next part; absent at the end of the list.
    pub next: Option<String>,
}

/// A record or a byte range that could not be used, or was used with a defect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuarantineRow {
    /// Name of the input.
    #[schemars(example = &"iana.warc.gz")]
    pub input: String,
    /// Offset in bytes at which the record or range begins in the input.
    pub offset: u64,
    /// A short code for programs to compare.
    #[schemars(example = &"truncated-member")]
    pub reason: String,
    /// An explanation for people; may be empty.
    #[schemars(example = &"found the end of the file, expected 120 more bytes")]
    pub detail: String,
}

/// Removes inputs from the ledger. Only inputs that were not loaded to their end, or have no
/// captures, can be removed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Forget {
    /// Name, location or digest of each input to remove.
    pub inputs: Vec<String>,
}

/// The inputs removed from the ledger and from every view.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForgottenBody {
    /// Names of the removed inputs.
    pub inputs: Vec<String>,
    /// Number of captures removed from the views.
    pub captures: u64,
    /// Number of rows removed from the quarantine.
    pub quarantined: u64,
}
