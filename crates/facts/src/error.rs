//! Errors of writing and reading facts.

use std::io;

/// Why facts cannot be written or read. What was published before stays unchanged.
#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    /// The place failed.
    #[error("cannot {doing} {path}: {source}")]
    Io {
        /// The failed operation.
        doing: &'static str,
        /// The file.
        path: String,
        /// Cause.
        source: io::Error,
    },
    /// A file of a table violates its format.
    #[error(
        "{path} is damaged ({why}); to rebuild the facts, move their folder away and load the inputs into \
         a new archive"
    )]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// A data file could not be written as Parquet.
    #[error("cannot encode rows of {table}: {why}")]
    Encode {
        /// The table.
        table: &'static str,
        /// Cause.
        why: String,
    },
    /// The table belongs to another archive.
    #[error(
        "{table} contains facts of {found}, not of this archive ({expected}); give each archive its own \
         place (--facts)"
    )]
    Foreign {
        /// The table.
        table: String,
        /// The archive that it names.
        found: String,
        /// This archive.
        expected: String,
    },
    /// The table has other columns.
    #[error(
        "{table} has other columns than this program writes ({found}); load with the program that created \
         it, or into a new archive"
    )]
    Columns {
        /// The table.
        table: String,
        /// Its columns.
        found: String,
    },
    /// The table has epochs that the archive does not have.
    #[error(
        "{table} has facts up to epoch {found}, but the archive is at epoch {expected}: it was restored to \
         an older state; restore the facts of that time too"
    )]
    Ahead {
        /// The table.
        table: String,
        /// The last epoch of the table.
        found: u64,
        /// The epoch of the archive.
        expected: u64,
    },
    /// A published or staged file is missing.
    #[error(
        "{path} is missing: facts of epochs before {epoch} were removed or restored to an older state; \
         restore them, or load the inputs into a new archive"
    )]
    Missing {
        /// The table or file.
        path: String,
        /// The epoch that cannot be added.
        epoch: u64,
    },
    /// Other writers committed first every time.
    #[error(
        "{table} is being written by other programs: {attempts} attempts to commit failed; try again later"
    )]
    Contended {
        /// The table.
        table: String,
        /// Number of attempts.
        attempts: usize,
    },
}
