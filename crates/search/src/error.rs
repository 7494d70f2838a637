//! What can go wrong: opening, applying, searching.

use std::path::{Path, PathBuf};

use tantivy::TantivyError;

/// Why an index could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory could not be made or emptied.
    #[error("prepare search index {dir}: {source}")]
    Io {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// tantivy could not open what is there. The index can be removed: it is filled again from the views.
    #[error("open search index {dir}: {message}; remove that directory: it is made anew from the index")]
    Index {
        /// The directory.
        dir: PathBuf,
        /// What tantivy said.
        message: String,
    },
}

impl OpenError {
    pub(crate) fn index(dir: &Path, error: &TantivyError) -> OpenError {
        OpenError::Index {
            dir: dir.to_owned(),
            message: error.to_string(),
        }
    }
}

/// Epochs could not be kept: those after `covered_epoch` are gone from the index and must be applied again.
#[derive(Debug, Clone, thiserror::Error)]
#[error("search index fell back to epoch {covered_epoch}: {message}")]
pub struct ApplyError {
    /// What the index covers now.
    pub covered_epoch: u64,
    /// What went wrong.
    pub message: String,
}

/// The index could not be read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("search: {message}")]
pub struct SearchError {
    /// What tantivy said.
    pub message: String,
}

impl SearchError {
    pub(crate) fn no_cursor() -> SearchError {
        SearchError {
            message: "this is no cursor of an answer".to_owned(),
        }
    }
}

impl From<TantivyError> for SearchError {
    fn from(error: TantivyError) -> SearchError {
        SearchError {
            message: error.to_string(),
        }
    }
}
