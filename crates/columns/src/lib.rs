//! Rows of typed columns as one Parquet file, made in pieces: for who sends a file while its rows are still being found.
//!
//! Invariants:
//! - rows are held until their texts come to [`GROUP_TEXT_BYTES`], then they become a row group, so that memory is bounded however
//!   many rows there are (of each row group some hundreds of bytes for each column are kept for the footer);
//! - the footer comes with [`Pieces::finish`] alone: a file that broke off before has none, and no reader takes it for a whole one.
//!
//! Not here: where the bytes go, what the rows are, tables of many files (`facts` has those).

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

/// Bytes of texts after which rows become a row group. A file has 32,767 row groups at most: 256 GiB of texts.
pub const GROUP_TEXT_BYTES: usize = 8 << 20;

/// Rows after which they become a row group, however short their texts.
pub const GROUP_ROWS: usize = 100_000;

/// Level of zstd: that of the facts.
const ZSTD_LEVEL: i32 = 1;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// A signed number of 64 bits.
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
    /// Whether a row may have no value in it.
    pub is_nullable: bool,
}

/// The value of a row in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    /// Of a column of [`Kind::Text`].
    Text(&'a str),
    /// Of a column of [`Kind::Long`].
    Long(i64),
    /// Of a column of [`Kind::TimeMs`].
    TimeMs(i64),
    /// None; of a nullable column.
    Absent,
}

/// Why a file cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PiecesError {
    /// A row is not of these columns.
    #[error(
        "a row with {found} for column {expected} ({place} of {columns}); this is a mistake in the program"
    )]
    Row {
        /// Place of the column, from 1.
        place: usize,
        /// How many columns there are.
        columns: usize,
        /// What the row has there.
        found: String,
        /// The column's name and kind.
        expected: String,
    },
    /// Parquet does not take it.
    #[error("encode as Parquet: {0}")]
    Parquet(#[from] ParquetError),
}

/// A file on its way.
#[derive(Debug)]
pub struct Pieces {
    columns: &'static [Column],
    writer: SerializedFileWriter<Vec<u8>>,
    group: Group,
}

impl Pieces {
    /// A file with these columns, without rows yet.
    ///
    /// # Errors
    /// [`PiecesError::Parquet`], where columns are not what Parquet takes.
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

    /// Adds a row, its values in the order of the columns.
    ///
    /// # Errors
    /// [`PiecesError`]. The file is of no use then.
    pub fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), PiecesError> {
        self.group.row(self.columns, cells)?;
        match self.group.text_bytes() >= GROUP_TEXT_BYTES || self.group.rows() >= GROUP_ROWS {
            true => self.end_group(),
            false => Ok(()),
        }
    }

    /// The bytes that have come to be since the last call. Often there are none, because rows wait for their row group.
    ///
    /// # Errors
    /// [`PiecesError::Parquet`].
    pub fn take(&mut self) -> Result<Vec<u8>, PiecesError> {
        // The writer counts what it was given, so that the bytes need not stay with it.
        self.writer.flush().map_err(ParquetError::from)?;
        Ok(std::mem::take(self.writer.inner_mut()))
    }

    /// The last bytes: the rows that waited, and the footer.
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
