//! Errors of reading. An invalid format is not an error: it becomes a [`crate::Defect`].

/// Why an input cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// An I/O operation failed.
    #[error("read {path} at offset {offset}: {source}")]
    Io {
        /// The name of the input.
        path: String,
        /// Offset of the operation, in stored bytes.
        offset: u64,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The input has an unsupported compression.
    #[error("{path} is compressed with {compression}, which is not read: decompress it first ({program})")]
    Compression {
        /// The name of the input.
        path: String,
        /// The name of the compression.
        compression: &'static str,
        /// The program that decompresses it.
        program: &'static str,
    },
    /// The part of a record that exceeds the memory limit could not be written to a temporary file.
    #[error("keep a large record aside in {}: {source}", folder.display())]
    Keep {
        /// The folder of the temporary files.
        folder: std::path::PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// No record begins at the requested offset.
    #[error("read {path} at offset {offset}: no record begins here")]
    NoRecord {
        /// The name of the input.
        path: String,
        /// The requested offset, in stored bytes.
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
