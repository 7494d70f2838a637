//! The note of an operation of several steps, kept until its last step is done.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::PostError;
use super::segment::put;

const NAME: &str = "pending.json";

/// The operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    /// Add the lines, and remove those that they replace.
    Replace,
    /// Remove the posted lines that match.
    Delete,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) action: Action,
    pub(super) collection: String,
    pub(super) text: String,
}

impl Pending {
    pub(super) fn path(root: &Path) -> PathBuf {
        root.join(NAME)
    }

    /// Returns the unfinished operation, if any.
    pub(super) fn read(root: &Path) -> Result<Option<Pending>, PostError> {
        let path = Pending::path(root);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(PostError::io("read", &path, error)),
        };
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| PostError::Pending {
                path: path.display().to_string(),
                message: error.to_string(),
            })
    }

    /// Writes the note, and returns when it is durable.
    pub(super) fn write(&self, root: &Path) -> Result<(), PostError> {
        let path = Pending::path(root);
        let text = serde_json::to_vec(self).map_err(|error| PostError::io("write", &path, error.into()))?;
        put(&path, &[&text])
    }

    pub(super) fn remove(root: &Path) -> Result<(), PostError> {
        let path = Pending::path(root);
        // Not synced: if the removal is lost in a crash, the operation is run again, which changes
        // nothing.
        fs::remove_file(&path).map_err(|error| PostError::io("remove", &path, error))
    }
}
