//! Writes rows of typed columns as one Parquet file in pieces, for callers that send a file while
//! its rows are still being found.
//!
//! Invariants:
//! - Rows are buffered until their texts reach [`GROUP_TEXT_BYTES`], then they become a row group.
//!   So memory is bounded whatever the number of rows (for the footer, each row group keeps some
//!   hundreds of bytes per column).
//! - Only [`Pieces::finish`] writes the footer. An interrupted file has none, and no reader takes
//!   it for complete.
//!
//! Not here: the destination of the bytes, the meaning of the rows, and tables of many files (see
//! `facts`).

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod group;

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use group::Group;

/// Size of texts at which rows become a row group. A file has at most 32,767 row groups: 256 GiB of
/// texts.
pub const GROUP_TEXT_BYTES: usize = 8 << 20;

/// Number of rows at which they become a row group, however short their texts.
pub const GROUP_ROWS: usize = 100_000;

/// Compression level of zstd, the same as for facts.
const ZSTD_LEVEL: i32 = 1;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// A signed 64-bit integer.
    Long,
    /// A point in time, in milliseconds since 1970-01-01T00:00:00Z.
    TimeMs,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether its value may be missing.
    pub is_nullable: bool,
}

/// The value of a row in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    /// For a column of [`Kind::Text`].
    Text(&'a str),
    /// For a column of [`Kind::Long`].
    Long(i64),
    /// For a column of [`Kind::TimeMs`].
    TimeMs(i64),
    /// No value; only for a nullable column.
    Absent,
}

/// Why a file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum PiecesError {
    /// A row does not match the columns.
    #[error("a row has {found} for column {expected} ({place} of {columns}); this is a bug in the program")]
    Row {
        /// Position of the column, from 1.
        place: usize,
        /// Number of columns.
        columns: usize,
        /// The row's value.
        found: String,
        /// The column's name and type.
        expected: String,
    },
    /// Parquet rejects it.
    #[error("encode as Parquet: {0}")]
    Parquet(#[from] ParquetError),
}

/// A file being written.
#[derive(Debug)]
pub struct Pieces {
    columns: &'static [Column],
    writer: SerializedFileWriter<Vec<u8>>,
    group: Group,
}

impl Pieces {
    /// Creates a file with these columns and without rows.
    ///
    /// # Errors
    /// [`PiecesError::Parquet`] if Parquet rejects the columns.
    pub fn new(columns: &'static [Column]) -> Result<Pieces, PiecesError> {
        let properties = WriterProperties::builder()
            // Version 2 of the format saves nothing here, and some readers lack it.
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_created_by(concat!("weft ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
            .build();
        Ok(Pieces {
            columns,
            writer: SerializedFileWriter::new(Vec::new(), schema(columns)?, Arc::new(properties))?,
            group: Group::new(columns),
        })
    }

    /// Adds a row, with its values in the order of the columns.
    ///
    /// # Errors
    /// [`PiecesError`]. The file is unusable then.
    pub fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), PiecesError> {
        self.group.row(self.columns, cells)?;
        match self.group.text_bytes() >= GROUP_TEXT_BYTES || self.group.rows() >= GROUP_ROWS {
            true => self.end_group(),
            false => Ok(()),
        }
    }

    /// Returns the bytes written since the last call. Often they are empty, because rows wait for
    /// their row group.
    ///
    /// # Errors
    /// [`PiecesError::Parquet`].
    pub fn take(&mut self) -> Result<Vec<u8>, PiecesError> {
        // The writer counts the bytes itself, so they can be taken from its buffer.
        self.writer.flush().map_err(ParquetError::from)?;
        Ok(std::mem::take(self.writer.inner_mut()))
    }

    /// Returns the last bytes: the remaining rows and the footer.
    ///
    /// # Errors
    /// [`PiecesError::Parquet`].
    pub fn finish(mut self) -> Result<Vec<u8>, PiecesError> {
        self.end_group()?;
        Ok(self.writer.into_inner()?)
    }

    fn end_group(&mut self) -> Result<(), PiecesError> {
        let group = std::mem::replace(&mut self.group, Group::new(self.columns));
        Ok(group.write(&mut self.writer)?)
    }
}

fn schema(columns: &[Column]) -> Result<TypePtr, ParquetError> {
    let field = |column: &Column| {
        let (physical, logical) = match column.kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Long => (Physical::INT64, None),
            Kind::TimeMs => (
                Physical::INT64,
                Some(LogicalType::timestamp(true, TimeUnit::MILLIS)),
            ),
        };
        let repetition = match column.is_nullable {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        };
        Type::primitive_type_builder(column.name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
            .map(Arc::new)
    };
    let fields: Vec<TypePtr> = columns.iter().map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder("row")
        .with_fields(fields)
        .build()
        .map(Arc::new)
}

#[cfg(test)]
mod tests;
