//! The errors of reading. A bad format is never an error: it becomes a [`crate::Defect`].

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// An I/O call failed.
    #[error("read {path} at offset {offset}: {source}")]
    Io {
        /// The name of the input.
        path: String,
        /// Offset of the call, in stored bytes.
        offset: u64,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The input is compressed in a way that is not read.
    #[error("{path} is compressed with {compression}, which is not read: decompress it first ({program})")]
    Compression {
        /// The name of the input.
        path: String,
        /// The name of the compression.
        compression: &'static str,
        /// The program that decompresses it.
        program: &'static str,
    },
    /// The part of a record that exceeds memory could not be kept aside.
    #[error("keep a large record aside in {}: {source}", folder.display())]
    Keep {
        /// Where files without names are made.
        folder: std::path::PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The caller asked for a record at an offset where none begins.
    #[error("read {path} at offset {offset}: no record begins here")]
    NoRecord {
        /// The name of the input.
        path: String,
        /// The offset that was asked for, in stored bytes.
        offset: u64,
    },
}

impl ReadError {
    pub(crate) fn io(path: &str, offset: u64, source: std::io::Error) -> ReadError {
        ReadError::Io {
            path: path.to_owned(),
            offset,
            source,
        }
    }
}
