//! Why nothing was written.

use std::io;
use std::path::PathBuf;

use warc::ReadError;

/// Why nothing was written. There is nothing new under the name of the output then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The input, or what was written, cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The output cannot be written.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was being done.
        what: &'static str,
        /// The output.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There is a file of this name, and it was not to be replaced.
    #[error("{} is there already; --force replaces it", path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// The input has damage, so that a copy of its records would lose something.
    #[error("{path} at offset {offset}: {reason}: {detail}; weft warc repair mends it")]
    Damaged {
        /// The input.
        path: String,
        /// Where, in bytes as stored.
        offset: u64,
        /// One of the words in [`warc::reason`].
        reason: &'static str,
        /// What was found.
        detail: String,
    },
    /// The input holds no record.
    #[error("{path} holds no record")]
    NoRecord {
        /// The input.
        path: String,
    },
    /// The input was changed while it was read.
    #[error("{} changed while it was read; nothing was written, try again once it is whole", path.display())]
    Changed {
        /// The input.
        path: PathBuf,
    },
    /// What was written does not have the records that it has to have.
    #[error(
        "{path}: record {number} of what was written is not what it has to be: {detail}; the file was not put in its place"
    )]
    NotTheSame {
        /// What was written.
        path: String,
        /// The number of the first record that differs, from 1.
        number: u64,
        /// In what it differs.
        detail: String,
    },
    /// No dictionary could be made.
    #[error(
        "train a dictionary on {path}: {source}; {samples} records are too few or too different, write without one"
    )]
    Untrained {
        /// The input.
        path: String,
        /// Number of records looked at.
        samples: usize,
        /// What zstd says.
        source: io::Error,
    },
    /// There is something of this name that is no empty folder.
    #[error("{} is there already; name a folder that is not there, or an empty one", path.display())]
    FolderExists {
        /// The output.
        path: PathBuf,
    },
    /// Two inputs have the same name, under which both would be written.
    #[error("{}: another input has the same name, and both would be written to one file", path.display())]
    SameName {
        /// The second of the two.
        path: PathBuf,
    },
    /// The caller asked for a stop.
    #[error("stopped; nothing was written")]
    Stopped,
}
