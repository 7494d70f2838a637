//! What was begun and takes several steps, written down until the last one is done.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::PostError;
use super::segment::put;

const NAME: &str = "pending.json";

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    /// Add the lines, and take out what they replace.
    Replace,
    /// Take out what is like the lines.
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

    /// What was not finished, if anything.
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

    /// Durable when it returns.
    pub(super) fn write(&self, root: &Path) -> Result<(), PostError> {
        let path = Pending::path(root);
        let text = serde_json::to_vec(self).map_err(|error| PostError::io("write", &path, error.into()))?;
        put(&path, &[&text])
    }

    pub(super) fn remove(root: &Path) -> Result<(), PostError> {
        let path = Pending::path(root);
        // Should its end not be durable, all of it is done once more, which changes nothing: so nobody waits for that.
        fs::remove_file(&path).map_err(|error| PostError::io("remove", &path, error))
    }
}
