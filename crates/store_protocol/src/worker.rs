//! The status that every background worker of a node reports.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The status of a background worker. The command line, the Store page and the metrics show all
/// workers alike.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerStatus {
    /// `scrub NODE/VOLUME`, `repair`, `rebalance`, ...
    pub name: String,
    /// Its current state: `idle`, `busy`, `paused: <reason>` or `failed: <reason>`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub state: WorkerState,
    /// Items done since the pass began.
    pub done: u64,
    /// Items of the whole pass, if known.
    pub total: Option<u64>,
    /// Bytes read since the start of the process.
    pub bytes: u64,
    /// Bad or missing replicas found since the start.
    pub found: u64,
    /// How many of `found` were repaired.
    pub repaired: u64,
    /// End of the last whole pass, milliseconds since 1970.
    pub last_pass_ms: Option<u64>,
    /// The last failure. Empty if there was none.
    pub last_error: String,
}

/// A text that is no [`WorkerState`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown worker state {0:?}")]
pub struct WorkerStateError(String);

/// The current state of a background worker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum WorkerState {
    /// Waiting for its next pass.
    #[default]
    Idle,
    /// In the middle of a pass.
    Busy,
    /// In the middle of a pass and waiting, for this reason.
    Paused(String),
    /// Ended for this reason. It stays so until the node restarts.
    Failed(String),
}

impl fmt::Display for WorkerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkerState::Idle => f.write_str("idle"),
            WorkerState::Busy => f.write_str("busy"),
            WorkerState::Paused(why) => write!(f, "paused: {why}"),
            WorkerState::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}

impl From<WorkerState> for String {
    fn from(state: WorkerState) -> String {
        state.to_string()
    }
}

impl TryFrom<String> for WorkerState {
    type Error = WorkerStateError;

    fn try_from(text: String) -> Result<WorkerState, WorkerStateError> {
        // The reason may contain ": " itself, so the text is split at the first one only.
        match text.split_once(": ") {
            None if text == "idle" => Ok(WorkerState::Idle),
            None if text == "busy" => Ok(WorkerState::Busy),
            Some(("paused", why)) => Ok(WorkerState::Paused(why.to_owned())),
            Some(("failed", why)) => Ok(WorkerState::Failed(why.to_owned())),
            _ => Err(WorkerStateError(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_as_they_are_written() {
        for (state, text) in [
            (WorkerState::Idle, "idle"),
            (WorkerState::Busy, "busy"),
            (
                WorkerState::Paused("the node is busy".into()),
                "paused: the node is busy",
            ),
            (WorkerState::Failed("x: y".into()), "failed: x: y"),
        ] {
            assert_eq!(state.to_string(), text);
            assert_eq!(WorkerState::try_from(text.to_owned()), Ok(state));
        }
        assert!(WorkerState::try_from("asleep".to_owned()).is_err());
    }
}
