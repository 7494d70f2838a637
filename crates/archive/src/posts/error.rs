//! Errors of posts.

use std::path::Path;

use crate::AskError;
use crate::facts_writer::EpochError;

/// Why posted lines could not be added, deleted or indexed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PostError {
    #[error("{action} {path}: {source}")]
    Io {
        action: &'static str,
        path: String,
        source: std::io::Error,
    },
    #[error("read {path}: {message}; the file records an unfinished post: repair or remove it")]
    Pending { path: String, message: String },
    #[error(transparent)]
    Epoch(#[from] EpochError),
    #[error(transparent)]
    Index(#[from] index::ApplyError),
    #[error(transparent)]
    Snapshot(#[from] index::SnapshotError),
}

impl PostError {
    pub(super) fn io(action: &'static str, path: &Path, source: std::io::Error) -> PostError {
        PostError::Io {
            action,
            path: path.display().to_string(),
            source,
        }
    }
}

impl From<PostError> for AskError {
    fn from(error: PostError) -> AskError {
        AskError::internal(error)
    }
}
