//! Errors of graphs.

use std::io;

use archive::AskError;
use facts::RowStreamError;

/// Why a graph could not be built or written.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// The archive did not answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// A temporary file cannot be used.
    #[error("sort the graph in temporary files below {dir}: {source}")]
    Scratch {
        /// The directory for temporary files.
        dir: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Writing to the output failed.
    #[error("write the graph: {0}")]
    Output(#[source] io::Error),
    /// The Parquet file could not be written.
    #[error(transparent)]
    Parquet(#[from] RowStreamError),
}
