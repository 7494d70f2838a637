//! What can go wrong while a redacted copy is written.

use std::io;
use std::path::PathBuf;

use warc::ReadError;

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file could not be written, or the input not be read.
    #[error("{what} {}", path.display())]
    Io {
        /// What was being done.
        what: &'static str,
        /// The copy.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It was written, and is not what it has to be.
    #[error(transparent)]
    NotTheRest(#[from] NotTheRest),
}

/// Why a copy is not what it has to be.
#[derive(Debug, thiserror::Error)]
pub enum NotTheRest {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has other records than the input without those left out.
    #[error(
        "record {number} of those that stay (offset {offset} of the input, {length} bytes) does not come back from the copy: a \
         record that shares a compressed member with others, or is damaged, cannot be cut out; decompress the input and redact that"
    )]
    Record {
        /// Its number among those that stay, from 1.
        number: usize,
        /// Where it is in the input.
        offset: u64,
        /// How many bytes it has there.
        length: u64,
    },
    /// It has more records than stay.
    #[error(
        "the copy has {found} records where {expected} are to stay; decompress the input and redact that"
    )]
    More {
        /// Records of the copy.
        found: usize,
        /// Records that are to stay.
        expected: usize,
    },
}
