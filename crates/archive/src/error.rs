//! Why an archive cannot be opened, and why a question cannot be answered.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// Why an archive could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no archive in the directory.
    #[error("{dir} is not an archive; load something first: weft load INPUT --archive {dir}")]
    Missing {
        /// The directory.
        dir: String,
    },
    /// The directory contains other files.
    #[error(
        "{dir} is not an archive and not empty; it contains {found}: give the folder of the archive (--archive, \
         WEFT_ARCHIVE)"
    )]
    NotEmpty {
        /// The directory.
        dir: String,
        /// A file in it.
        found: String,
    },
    /// The archive has another format.
    #[error(
        "archive in {dir} has format {found}, this program reads format {expected}: load its inputs again into \
         a new archive"
    )]
    Format {
        /// The directory.
        dir: String,
        /// Format number in its settings.
        found: u32,
        /// The format that this program reads.
        expected: u32,
    },
    /// The settings file is invalid.
    #[error("read {path}: {message}")]
    Settings {
        /// The settings file.
        path: String,
        /// Description of the error.
        message: String,
    },
    /// Another process owns the archive and does not answer, or this process had to become the
    /// owner.
    #[error("{dir} is owned by {owner}{hint}")]
    Owned {
        /// The directory.
        dir: String,
        /// `process 123`, or `another process`.
        owner: String,
        /// Why the owner could not answer instead; may be empty.
        hint: String,
    },
    /// Other processes have the archive open read-only, and this process had to change it.
    #[error(
        "{dir} is held open read-only by {readers} (weft serve --read-only, for example), so it cannot be changed: \
         stop that first, then try again"
    )]
    Read {
        /// The directory.
        dir: String,
        /// `process 123`, `processes 123, 124`, or `other processes`.
        readers: String,
    },
    /// The owner runs a different version of the program.
    #[error("the owner of {dir} is weft {found}, this is weft {expected}; use the same version for both")]
    Version {
        /// The directory.
        dir: String,
        /// Version of the owner.
        found: String,
        /// Version of this program.
        expected: String,
    },
    /// An I/O call failed.
    #[error("{action} {path}: {source}")]
    Io {
        /// The attempted action, for example `create`.
        action: &'static str,
        /// The file or directory.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The index cannot be opened.
    #[error("open the index of {dir}: {message}")]
    Index {
        /// The directory.
        dir: String,
        /// The index's error.
        message: String,
    },
    /// A new archive cannot keep its facts at the given place.
    #[error("--facts {address}: {message}")]
    Facts {
        /// The address.
        address: String,
        /// The reason.
        message: String,
    },
    /// The search index cannot be opened.
    #[error(
        "open the search index of {dir}: {message}; if it is damaged, remove {dir}/search, and weft rebuilds it"
    )]
    Search {
        /// The directory.
        dir: String,
        /// The search index's error.
        message: String,
    },
    /// The table of word vectors cannot be used.
    #[error("--vectors: {0}")]
    Vectors(#[from] vectors::VectorsError),
}

impl OpenError {
    /// Returns whether the error means that the place can never be written to.
    pub(crate) fn forbids_writing(&self) -> bool {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        matches!(self, OpenError::Io { source, .. } if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem))
    }

    pub(crate) fn io(action: &'static str, path: &std::path::Path, source: std::io::Error) -> OpenError {
        OpenError::Io {
            action,
            path: path.display().to_string(),
            source,
        }
    }
}

/// Why a question cannot be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The object is not in the archive.
    NotFound,
    /// The question is invalid.
    BadRequest,
    /// The client is not permitted to ask this question.
    Forbidden,
    /// The question cannot be answered now. A retry may help.
    Unavailable,
    /// The archive or the disk failed.
    Internal,
}

impl ErrorCode {
    /// Returns the name of the code in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ErrorCode::NotFound => "not_found",
            ErrorCode::BadRequest => "bad_request",
            ErrorCode::Forbidden => "forbidden",
            ErrorCode::Unavailable => "unavailable",
            ErrorCode::Internal => "internal",
        }
    }
}

/// Why a question cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct AskError {
    /// A code that tells the client how to react.
    pub code: ErrorCode,
    /// The reason, for people.
    pub message: String,
}

impl AskError {
    /// Makes the error for an object that is not in the archive.
    pub fn not_found(message: impl Display) -> AskError {
        AskError::new(ErrorCode::NotFound, message)
    }

    /// Makes the error for an invalid question.
    pub fn bad_request(message: impl Display) -> AskError {
        AskError::new(ErrorCode::BadRequest, message)
    }

    /// Makes the error for a question that the client is not permitted to ask.
    pub fn forbidden(message: impl Display) -> AskError {
        AskError::new(ErrorCode::Forbidden, message)
    }

    /// Makes the error for a question that cannot be answered now. A retry may help.
    pub fn unavailable(message: impl Display) -> AskError {
        AskError::new(ErrorCode::Unavailable, message)
    }

    /// Makes the error for a failure of the archive or the disk.
    pub fn internal(message: impl Display) -> AskError {
        AskError::new(ErrorCode::Internal, message)
    }

    fn new(code: ErrorCode, message: impl Display) -> AskError {
        AskError {
            code,
            message: message.to_string(),
        }
    }
}
