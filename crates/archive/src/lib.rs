//! The facade: open, load, ask. What server and program talk to.

use std::io::Write;
use std::path::Path;

use question::{Answer, Question};

pub mod question;

/// An archive opened by this process, which owns it (lock file), or the owner reached over its socket.
///
/// Both kinds answer every call alike.
#[derive(Clone)]
pub struct Archive {}

/// How to open.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OpenSettings {
    /// Create the archive where there is none.
    pub create: bool,
    /// Become the owner or fail; never go through a socket.
    pub own: bool,
}

/// Why an archive could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No archive there.
    #[error("{dir} is not an archive; load something first: weft load INPUT --archive {dir}")]
    Missing {
        /// The directory.
        dir: String,
    },
}

/// Why a question has no answer.
#[derive(Debug, Clone, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[error("{message}")]
pub struct AskError {
    /// `not_found`, `bad_request`, `unavailable`, `internal`.
    pub code: String,
    /// For people.
    pub message: String,
}

impl Archive {
    /// Opens `dir`: as owner if nobody is, else through the owner's socket.
    pub fn open(dir: &Path, settings: OpenSettings) -> Result<Archive, OpenError> {
        let _ = settings;
        Err(OpenError::Missing {
            dir: dir.display().to_string(),
        })
    }

    /// Answers a question.
    pub fn ask(&self, question: &Question) -> Result<Answer, AskError> {
        let _ = question;
        Err(AskError {
            code: "unavailable".into(),
            message: "nothing here yet".into(),
        })
    }

    /// Writes all rows of a view (DESIGN 4.3), `tsv` or `jsonl`; gives the number of rows.
    pub fn dump(&self, view: &str, format: &str, out: &mut dyn Write) -> Result<u64, AskError> {
        let _ = (view, format, out);
        Ok(0)
    }
}
