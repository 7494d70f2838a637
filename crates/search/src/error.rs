//! Errors of opening, applying and searching.

use std::path::{Path, PathBuf};

use tantivy::TantivyError;

/// Why an index could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory could not be created or emptied.
    #[error("prepare search index {dir}: {source}")]
    Io {
        /// The directory.
        dir: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// tantivy could not open the index. The directory can be removed: the index is rebuilt from
    /// the views.
    #[error("open search index {dir}: {message}; remove that directory: it is rebuilt from the index")]
    Index {
        /// The directory.
        dir: PathBuf,
        /// tantivy's error message.
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

/// Epochs could not be stored. The epochs after `covered_epoch` are lost from the index and must be
/// applied again.
#[derive(Debug, Clone, thiserror::Error)]
#[error("search index fell back to epoch {covered_epoch}: {message}")]
pub struct ApplyError {
    /// The epoch that the index covers now.
    pub covered_epoch: u64,
    /// The error message.
    pub message: String,
}

/// The index could not be read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("search: {message}")]
pub struct SearchError {
    /// tantivy's error message.
    pub message: String,
}

impl SearchError {
    pub(crate) fn no_cursor() -> SearchError {
        SearchError {
            message: "this cursor belongs to another query".to_owned(),
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
