//! Inputs: how far each was loaded, what of it could not be used, and taking one out again.

use serde::{Deserialize, Serialize};

use super::InputState;
use crate::as_text;

/// Asks for inputs, sorted by name, then digest.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// Only those in this state.
    #[serde(default)]
    pub state: Option<LedgerState>,
    /// `next` of the answer before.
    #[serde(default)]
    pub after: Option<String>,
    /// Most rows; 100 for 0.
    pub limit: usize,
}

/// Rows of the ledger that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerState {
    /// Known, nothing read yet.
    Pending,
    /// Read in part.
    Loading,
    /// Read to its end.
    Done,
    /// Given up.
    Failed,
    /// Ends in the middle of a record.
    Cut,
    /// There was nothing to read when it was last asked for.
    Missing,
}

impl LedgerState {
    /// The state of that name, as JSON has it.
    pub fn of_name(name: &str) -> Option<LedgerState> {
        serde_json::from_value(name.into()).ok()
    }
}

/// Inputs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LedgerBody {
    /// Sorted by name, then digest.
    pub rows: Vec<LedgerRow>,
    /// Where the list goes on; nothing at its end.
    pub next: Option<String>,
}

/// One input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// Its name, as given when it was loaded.
    pub input: String,
    /// `sha256:<hex>` of its first `size` bytes.
    pub digest: String,
    /// Bytes known when it was last looked at.
    pub size: u64,
    /// `pending`, `loading`, `done`, `failed(<reason>)`.
    #[serde(with = "as_text")]
    pub state: InputState,
    /// Records read and woven.
    pub records: u64,
    /// Of these, captures.
    pub captures: u64,
    /// Records and spans that could not be used.
    pub quarantined: u64,
    /// Every byte before this offset is accounted for and woven.
    pub bytes_done: u64,
    /// Its label, empty if it has none.
    pub collection: String,
    /// Absolute path or address the bytes are read from.
    pub location: String,
    /// How its end is cut off, empty if it is whole.
    pub cut: String,
    /// Why there was nothing to read when it was last asked for, empty if there was; what was loaded stays.
    pub missing: String,
}

/// Asks for what could not be used, by input in the order of loading, then offset.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Quarantine {
    /// Only of inputs with this name, location or digest.
    #[serde(default)]
    pub input: Option<String>,
    /// `next` of the answer before.
    #[serde(default)]
    pub after: Option<String>,
    /// Most rows; 100 for 0.
    pub limit: usize,
}

/// What could not be used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QuarantineBody {
    /// By input in the order of loading, then offset.
    pub rows: Vec<QuarantineRow>,
    /// Where the list goes on; nothing at its end.
    pub next: Option<String>,
}

/// A record or a span of bytes that could not be used, or was used with a defect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QuarantineRow {
    /// The input's name.
    pub input: String,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// A short word for programs.
    pub reason: String,
    /// The same in words; may be empty.
    pub detail: String,
}

/// Takes inputs out of the ledger: those not loaded to their end, and those without captures.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Forget {
    /// By name, location or digest.
    pub inputs: Vec<String>,
}

/// What was taken out of the ledger, and of every view with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ForgottenBody {
    /// Names of the inputs.
    pub inputs: Vec<String>,
    /// Captures that left the views.
    pub captures: u64,
    /// Rows that left the quarantine.
    pub quarantined: u64,
}
