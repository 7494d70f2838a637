//! A file that is acted on, and how the action ended.

use catalogue::{ActRow, Attributes, CatalogueError, Digest, PathHandle};

use crate::plan::PlannedFile;

/// A completed action.
pub(super) struct Outcome {
    pub(super) why: String,
    /// The digest of the content, if the action computed it.
    pub(super) digest: Option<Digest>,
}

impl Outcome {
    pub(super) fn new(why: impl Into<String>) -> Outcome {
        Outcome {
            why: why.into(),
            digest: None,
        }
    }
}

/// An action that was not completed, and why.
pub(super) enum ActError {
    Skipped(String),
    Failed(String),
}

impl From<CatalogueError> for ActError {
    fn from(error: CatalogueError) -> ActError {
        ActError::Failed(error.to_string())
    }
}

impl ActError {
    pub(super) fn failed(what: &str, error: impl std::fmt::Display) -> ActError {
        ActError::Failed(format!("{what}: {error}"))
    }
}

/// A file that has been checked and is still the one that was planned.
pub(super) struct CheckedFile<'a> {
    pub(super) item: &'a PlannedFile,
    pub(super) place: PathHandle,
    pub(super) file: Attributes,
    pub(super) act: u64,
    pub(super) row: ActRow,
}
