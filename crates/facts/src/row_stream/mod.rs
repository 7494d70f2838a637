//! One Parquet file written in pieces, so that it can be sent while its rows are still being read.
//!
//! Invariants:
//!  - rows are held in memory until they make a row group ([`GROUP_TEXT_BYTES`], [`GROUP_ROWS`]), so memory is bounded
//!    by that and by the footer, which grows by some hundred bytes per column and row group;
//!  - only [`RowStream::finish`] writes the footer: no reader accepts a file that was cut off before.

use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;

use crate::data_file::write_group;
use crate::field::{Field, common_properties, parquet_schema};
use crate::rows::{Row, Rows};

/// Bytes of text that make a row group. A file has at most 32,767 row groups: 256 GiB of text.
const GROUP_TEXT_BYTES: usize = 8 << 20;

/// Rows that make a row group if their texts are short.
const GROUP_ROWS: usize = 100_000;

/// Parquet rejected a row group or the footer.
#[derive(Debug, thiserror::Error)]
#[error("encode as Parquet: {0}")]
pub struct RowStreamError(#[from] ParquetError);

/// A Parquet file on its way to a client.
///
/// ```
/// use facts::{Field, Kind, RowStream};
///
/// static FIELDS: [Field; 2] = [Field::new("url", Kind::Text), Field::new("links", Kind::Long)];
/// let mut stream = RowStream::new(&FIELDS)?;
/// stream.row()?.text("http://example.com/").long(3).end();
/// let mut file = stream.take()?;
/// file.extend(stream.finish()?);
/// assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
/// # Ok::<(), facts::RowStreamError>(())
/// ```
pub struct RowStream {
    fields: &'static [Field],
    writer: SerializedFileWriter<Vec<u8>>,
    waiting: Rows,
}

impl RowStream {
    /// Begins a file with these columns.
    ///
    /// # Errors
    /// Parquet does not accept the columns.
    pub fn new(fields: &'static [Field]) -> Result<RowStream, RowStreamError> {
        let properties = common_properties()?.build();
        Ok(RowStream {
            fields,
            writer: SerializedFileWriter::new(Vec::new(), parquet_schema(fields)?, Arc::new(properties))?,
            waiting: Rows::new(fields),
        })
    }

    /// Begins a row.
    ///
    /// # Errors
    /// The rows before it made a row group, and Parquet failed to encode it. The file is of no use then.
    pub fn row(&mut self) -> Result<Row<'_>, RowStreamError> {
        if self.waiting.text_bytes() >= GROUP_TEXT_BYTES || self.waiting.len() >= GROUP_ROWS {
            self.end_group()?;
        }
        Ok(self.waiting.row())
    }

    /// Returns the bytes encoded since the last call. Often there are none, because rows wait for their row group.
    ///
    /// # Errors
    /// As [`RowStream::row`].
    pub fn take(&mut self) -> Result<Vec<u8>, RowStreamError> {
        // The writer counts what it was given, so the bytes need not stay with it.
        self.writer.flush().map_err(ParquetError::from)?;
        Ok(std::mem::take(self.writer.inner_mut()))
    }

    /// Returns the last bytes: the waiting rows and the footer.
    ///
    /// # Errors
    /// As [`RowStream::row`].
    pub fn finish(mut self) -> Result<Vec<u8>, RowStreamError> {
        self.end_group()?;
        Ok(self.writer.into_inner()?)
    }

    fn end_group(&mut self) -> Result<(), RowStreamError> {
        let rows = std::mem::replace(&mut self.waiting, Rows::new(self.fields));
        if !rows.is_empty() {
            write_group(&mut self.writer, rows)?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for RowStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream")
            .field("fields", &self.fields)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
