//! Errors of the tools that write files.

use std::io;
use std::path::{Path, PathBuf};

use warc::ReadError;

/// Why no output was written. The path of the output is unchanged then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The input, or the written file, cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The output cannot be written.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was being done.
        what: &'static str,
        /// The output.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The output exists and was not to be replaced.
    #[error("{} already exists; --force replaces it", path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// The input is damaged, so a copy of its records would lose data.
    #[error("{path} at offset {offset}: {reason}: {detail}; repair it with weft warc repair")]
    Damaged {
        /// The input.
        path: String,
        /// The offset, in stored bytes.
        offset: u64,
        /// One of the words in [`warc::reason`].
        reason: &'static str,
        /// What was found.
        detail: String,
    },
    /// The input is a ZIP file, whose parts are not records.
    #[error(
        "{path} is a package (ZIP), not a file of records; unzip it, and name the files of its folder archive"
    )]
    Package {
        /// The input.
        path: String,
    },
    /// The input has no record.
    #[error("{path} contains no records")]
    NoRecord {
        /// The input.
        path: String,
    },
    /// The input was changed while it was read.
    #[error("{} changed while it was read; nothing was written, try again when it is complete", path.display())]
    Changed {
        /// The input.
        path: PathBuf,
    },
    /// The written file does not have the expected records.
    #[error(
        "{path}: record {number} of the written file is wrong: {detail}; the file was not moved into place"
    )]
    NotTheSame {
        /// The written file.
        path: String,
        /// The number of the first record that differs, from 1.
        number: u64,
        /// The difference.
        detail: String,
    },
    /// No dictionary could be trained.
    #[error(
        "cannot train a dictionary on {path}: {source}; {samples} records are too few or too different, \
         write without a dictionary"
    )]
    Untrained {
        /// The input.
        path: String,
        /// Number of records sampled.
        samples: usize,
        /// The error of zstd.
        source: io::Error,
    },
    /// The output exists and is not an empty folder.
    #[error("{} already exists; name a new or an empty folder", path.display())]
    FolderExists {
        /// The output.
        path: PathBuf,
    },
    /// Two inputs have the same name, so both would be written to one file.
    #[error("{}: another input has the same name, and both would be written to one file", path.display())]
    SameName {
        /// The second of the two.
        path: PathBuf,
    },
    /// The caller stopped the work.
    #[error("stopped; nothing was written")]
    Stopped,
}

/// Returns a function that wraps an error of the system while `what` was being done to a file.
pub(crate) fn io_error(what: &'static str, path: &Path) -> impl Fn(io::Error) -> WriteError + use<> {
    let path = path.to_owned();
    move |source| WriteError::Io {
        what,
        path: path.clone(),
        source,
    }
}
