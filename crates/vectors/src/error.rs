//! Why a table cannot be used.

use std::io;
use std::path::{Path, PathBuf};

/// Why a table of word vectors cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VectorsError {
    /// A file cannot be read.
    #[error("read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file of vectors has another format, or is too large.
    #[error("{} is not a table of word vectors: {reason}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no tokenizer for the table.
    #[error("tokenizer.json is missing in the folder of {}", path.display())]
    NoTokenizer {
        /// The file of vectors.
        path: PathBuf,
    },
    /// The tokenizer has another format, uses a step that is not supported, or does not fit the
    /// table.
    #[error("tokenizer {}: {reason}", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl VectorsError {
    pub(crate) fn read(path: &Path, source: io::Error) -> VectorsError {
        VectorsError::Read {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn table(path: &Path, reason: &'static str) -> VectorsError {
        VectorsError::Table {
            path: path.to_owned(),
            reason,
        }
    }

    pub(crate) fn tokenizer(path: &Path, reason: String) -> VectorsError {
        VectorsError::Tokenizer {
            path: path.to_owned(),
            reason,
        }
    }
}
