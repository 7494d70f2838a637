//! Parquet files: encoding of rows, and rewriting of files to remove rows.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaDataPtr;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::record::Field as Cell;

use crate::delta::{Bounds, FileStats};
use crate::field::{Field, properties};
use crate::rows::{Column, Rows, Values};

/// The column with the name of a row's input.
const INPUT_NAME: &str = "warc_filename";

/// Returns whether rows with these columns change when an input is renamed.
pub(crate) fn has_input_names(fields: &[Field]) -> bool {
    fields.iter().any(|field| field.name == INPUT_NAME)
}

/// A data file that is ready to be written.
pub(crate) struct DataFile {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stats: FileStats,
}

/// Writes a file, row group by row group, so that a large epoch is not in memory twice.
pub(crate) struct Writer {
    fields: &'static [Field],
    writer: SerializedFileWriter<Vec<u8>>,
    stats: FileStats,
}

impl Writer {
    pub(crate) fn new(fields: &'static [Field]) -> Result<Writer, ParquetError> {
        let schema = crate::field::parquet_schema(fields)?;
        let properties = Arc::new(properties(fields)?);
        Ok(Writer {
            fields,
            writer: SerializedFileWriter::new(Vec::new(), schema, properties)?,
            stats: FileStats::default(),
        })
    }

    /// Writes rows as one row group, if there are any.
    pub(crate) fn write(&mut self, rows: Rows) -> Result<(), ParquetError> {
        if rows.is_empty() {
            return Ok(());
        }
        self.stats.records += rows.len() as u64;
        let written = write_group(&mut self.writer, rows)?;
        for (field, column) in self.fields.iter().zip(written.columns()) {
            if field.has_bounds {
                self.stats.widen(field, column.statistics().and_then(Bounds::of));
            }
        }
        Ok(())
    }

    /// Returns the size of the row groups written so far.
    pub(crate) fn size_bytes(&self) -> usize {
        self.writer.bytes_written()
    }

    /// Returns the file; `None` if it has no rows.
    pub(crate) fn finish(self) -> Result<Option<DataFile>, ParquetError> {
        if self.stats.records == 0 {
            return Ok(None);
        }
        Ok(Some(DataFile {
            bytes: self.writer.into_inner()?,
            stats: self.stats,
        }))
    }
}

/// Writes rows as one row group.
pub(crate) fn write_group(
    writer: &mut SerializedFileWriter<Vec<u8>>,
    rows: Rows,
) -> Result<RowGroupMetaDataPtr, ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in rows.columns {
        if let Some(writer) = group.next_column()? {
            write_column(writer, column)?;
        }
    }
    group.close()
}

fn write_column(mut writer: SerializedColumnWriter<'_>, column: Column) -> Result<(), ParquetError> {
    let levels = (!column.levels.is_empty()).then_some(column.levels.as_slice());
    match column.values {
        Values::Text { bytes, ends } => {
            let bytes = Bytes::from(bytes);
            let mut begin = 0;
            let cut = |end: usize| {
                let text = bytes.slice(begin..end);
                begin = end;
                ByteArray::from(text)
            };
            let texts: Vec<ByteArray> = ends.into_iter().map(cut).collect();
            writer
                .typed::<ByteArrayType>()
                .write_batch(&texts, levels, None)?;
        }
        Values::Int(values) => {
            writer.typed::<Int32Type>().write_batch(&values, levels, None)?;
        }
        Values::Long(values) => {
            writer.typed::<Int64Type>().write_batch(&values, levels, None)?;
        }
        Values::Bool(values) => {
            writer.typed::<BoolType>().write_batch(&values, levels, None)?;
        }
    }
    writer.close()
}

/// What happens to a row when its file is rewritten.
pub(crate) enum Fate<'a> {
    Stays,
    Leaves,
    /// Its input has this new name.
    Renamed(&'a str),
}

/// Rewrites a file. `fate` decides each row by its columns `input_id` and `warc_record_offset`.
/// Returns `None` if all rows stay unchanged.
pub(crate) fn rewrite<'a>(
    fields: &'static [Field],
    bytes: Bytes,
    row_group_rows: usize,
    fate: impl Fn(i64, i64) -> Fate<'a>,
) -> Result<Option<Writer>, ParquetError> {
    guarded(|| rewritten(fields, bytes, row_group_rows, fate))
}

/// Reads a file. The Parquet library checks most of its input, but not all: a panic on a damaged
/// file becomes an error.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ParquetError::General("the Parquet library panicked".to_owned())))
}

fn rewritten<'a>(
    fields: &'static [Field],
    bytes: Bytes,
    row_group_rows: usize,
    fate: impl Fn(i64, i64) -> Fate<'a>,
) -> Result<Option<Writer>, ParquetError> {
    let reader = SerializedFileReader::new(bytes)?;
    let mut writer = Writer::new(fields)?;
    let mut rows = Rows::new(fields);
    let mut is_changed = false;
    for row in reader.get_row_iter(None)? {
        let mut cells = row?.into_columns();
        let number = |name: &str| {
            let cell = cells.iter().find(|(column, _)| column == name);
            match cell {
                Some((_, Cell::Long(number))) => Ok(*number),
                other => Err(unexpected(name, other.map(|(_, cell)| cell))),
            }
        };
        match fate(number("input_id")?, number("warc_record_offset")?) {
            Fate::Stays => {}
            Fate::Leaves => {
                is_changed = true;
                continue;
            }
            Fate::Renamed(name) => {
                for (_, cell) in cells.iter_mut().filter(|(column, _)| column == INPUT_NAME) {
                    is_changed |= !matches!(cell, Cell::Str(before) if before == name);
                    *cell = Cell::Str(name.to_owned());
                }
            }
        }
        copy(fields, &cells, &mut rows)?;
        if rows.len() >= row_group_rows {
            writer.write(std::mem::replace(&mut rows, Rows::new(fields)))?;
        }
    }
    writer.write(rows)?;
    Ok(is_changed.then_some(writer))
}

fn copy(fields: &[Field], cells: &[(String, Cell)], rows: &mut Rows) -> Result<(), ParquetError> {
    // All values are checked before any is written, because a started row must be finished.
    let mut values = Vec::with_capacity(fields.len());
    for field in fields {
        let cell = cells
            .iter()
            .find(|(name, _)| name == field.name)
            .map(|(_, cell)| cell);
        let fits = match cell {
            None | Some(Cell::Null) => field.is_nullable,
            Some(cell) => fits(field, cell),
        };
        if !fits {
            return Err(unexpected(field.name, cell));
        }
        values.push(cell.unwrap_or(&Cell::Null));
    }
    let mut row = rows.row();
    for value in values {
        match value {
            Cell::Str(text) => row.text(text),
            Cell::Int(number) => row.int(*number),
            Cell::Long(number) | Cell::TimestampMicros(number) => row.long(*number),
            Cell::Bool(yes) => row.bool(*yes),
            _ => row.none(),
        };
    }
    row.end();
    Ok(())
}

fn fits(field: &Field, cell: &Cell) -> bool {
    use crate::field::Kind;
    matches!(
        (field.kind, cell),
        (Kind::Text, Cell::Str(_))
            | (Kind::Int, Cell::Int(_))
            | (Kind::Long, Cell::Long(_))
            | (Kind::Time, Cell::TimestampMicros(_))
            | (Kind::Bool, Cell::Bool(_))
    )
}

fn unexpected(column: &str, found: Option<&Cell>) -> ParquetError {
    ParquetError::General(format!("column {column} contains {found:?}"))
}
