//! Serving tables: sorted rows that answer look-ups without an index (docs/format-serving.md).
//!
//! Invariants:
//!  - a reader uses only the files that its manifest names, and files never change;
//!  - the manifest is written last, so a batch that was cut off has no effect;
//!  - the key of a row as bytes ([`Group::key`]) sorts like the rows of its table.

mod group;
mod manifest;
mod reader;
mod tables;
mod writer;

use std::io;
use std::sync::Arc;

pub use group::Group;
pub use manifest::{MANIFEST, Manifest, ServedFile, ServedTable};
pub use reader::{GroupPlace, ServingReader};
pub use tables::ServingTable;
pub use writer::ServingWriter;

/// Why serving tables cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// A file cannot be read or written.
    #[error("{doing} {path}: {source}")]
    Io {
        /// The failed operation.
        doing: &'static str,
        /// The file.
        path: String,
        /// Cause.
        source: io::Error,
    },
    /// There is no manifest.
    #[error("{path} does not exist; write serving tables with weft export --serving")]
    Missing {
        /// The manifest.
        path: String,
    },
    /// The tables have another format.
    #[error("{path} has format {found}, this program reads format {expected}; write the tables again")]
    Format {
        /// The manifest.
        path: String,
        /// Its format.
        found: u32,
        /// The format that this program reads.
        expected: u32,
    },
    /// A file violates its format.
    #[error("{path} is damaged: {why}; write the tables again")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// A row lacks a value, or has one of another type.
    #[error("table {table}: column {column} cannot hold {found}")]
    Row {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The value, as JSON.
        found: String,
    },
    /// Rows could not be encoded as Parquet.
    #[error("encode rows of {table}: {why}")]
    Encode {
        /// The table.
        table: &'static str,
        /// Cause.
        why: String,
    },
}

/// A file that is read by ranges.
pub trait ReadAt: Send + Sync {
    /// Returns the size in bytes.
    ///
    /// # Errors
    /// Errors of the file system or store.
    fn size(&self) -> io::Result<u64>;

    /// Reads from `offset` into `into`. May return fewer bytes than requested, but 0 only at the end
    /// (or if `into` is empty).
    ///
    /// # Errors
    /// Errors of the file system or store.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
}

/// The folder with the tables.
pub trait ServingFolder: Send + Sync {
    /// Opens a file by its path in the folder.
    ///
    /// # Errors
    /// Errors of the file system or store; `NotFound` if there is no such file.
    fn open(&self, path: &str) -> io::Result<Arc<dyn ReadAt>>;

    /// Returns the path of a file for messages.
    fn locate(&self, path: &str) -> String;
}

/// Reads a whole file.
fn read_whole(file: &dyn ReadAt) -> io::Result<Vec<u8>> {
    let size = usize::try_from(file.size()?).map_err(io::Error::other)?;
    let mut bytes = vec![0; size];
    let mut done = 0;
    while done < size {
        match file.read_at(&mut bytes[done..], done as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => done += read,
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
