//! Errors of writing a redacted copy.

use std::io;
use std::path::PathBuf;

use warc::ReadError;

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The copy could not be written, or the input not be read.
    #[error("{what} {}", path.display())]
    Io {
        /// The attempted action.
        what: &'static str,
        /// The copy.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The copy was written, but is wrong.
    #[error(transparent)]
    CopyMismatch(#[from] CopyMismatch),
}

/// Why a package has no copy.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// The package, or a member of it, cannot be read.
    #[error("{name} cannot be read")]
    Read {
        /// The package or the member.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A member with records cannot be read as such.
    #[error(transparent)]
    Records(#[from] ReadError),
    /// The package contains packages.
    #[error("{0} is a package in a package, which cannot be redacted: unpack the outer one, and redact each")]
    Nested(String),
    /// The package was changed meanwhile.
    #[error("the package changed while it was read; nothing was written. Run weft redact again")]
    Changed,
    /// The copy was written, but is wrong.
    #[error("the copy is wrong, and was removed: {0}")]
    Wrong(String),
    /// A member of the copy is wrong.
    #[error("{name}")]
    Member {
        /// The member.
        name: String,
        /// What is wrong.
        source: CopyMismatch,
    },
    /// The copy cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Why a copy is wrong.
#[derive(Debug, thiserror::Error)]
pub enum CopyMismatch {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its records differ from those of the input without the removed ones.
    #[error(
        "record {number} of the kept ones (offset {offset} of the input, {length} bytes) cannot be read from the copy: a \
         record that shares a compressed member with others, or is damaged, cannot be cut out; decompress the input and \
         redact the result"
    )]
    Record {
        /// Number of the record among those kept, counted from 1.
        number: usize,
        /// Offset in the input.
        offset: u64,
        /// Length in the input in bytes.
        length: u64,
    },
    /// It has more records than were kept.
    #[error("the copy has {found} records, expected {expected}; decompress the input and redact the result")]
    More {
        /// Number of records in the copy.
        found: usize,
        /// Number of records kept.
        expected: usize,
    },
}
