//! What can fail: the disk, never the format.

/// The disk failed, not the format.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// An I/O call failed.
    #[error("read {path} at offset {offset}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Where.
        offset: u64,
        /// What the system said.
        source: std::io::Error,
    },
    /// Asked for a record where none begins.
    #[error("read {path} at offset {offset}: no record begins here")]
    NoRecord {
        /// The file.
        path: String,
        /// Where.
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
