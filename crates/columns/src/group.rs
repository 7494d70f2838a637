//! Rows that wait to become a row group, column by column.

use bytes::Bytes;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};

use crate::{Cell, Column, Kind, PiecesError};

/// Values of a column. A row without a value has none in it.
#[derive(Debug)]
enum Values {
    /// One text after another, and where each ends.
    Texts {
        bytes: Vec<u8>,
        ends: Vec<usize>,
    },
    Longs(Vec<i64>),
}

#[derive(Debug)]
struct Waiting {
    values: Values,
    /// Of each row 1 if it has a value, else 0: Parquet's definition levels. Always empty if the column is not nullable.
    levels: Vec<i16>,
}

#[derive(Debug)]
pub(crate) struct Group {
    columns: Vec<Waiting>,
    rows: usize,
    text_bytes: usize,
}

impl Group {
    pub(crate) fn new(columns: &[Column]) -> Group {
        let waiting = |column: &Column| Waiting {
            values: match column.kind {
                Kind::Text => Values::Texts {
                    bytes: Vec::new(),
                    ends: Vec::new(),
                },
                Kind::Long | Kind::TimeMs => Values::Longs(Vec::new()),
            },
            levels: Vec::new(),
        };
        Group {
            columns: columns.iter().map(waiting).collect(),
            rows: 0,
            text_bytes: 0,
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    pub(crate) fn row(&mut self, columns: &[Column], cells: &[Cell<'_>]) -> Result<(), PiecesError> {
        for (index, (column, waiting)) in columns.iter().zip(&mut self.columns).enumerate() {
            let cell = cells.get(index);
            let is_there = match (cell, column.kind, &mut waiting.values) {
                (Some(Cell::Text(text)), Kind::Text, Values::Texts { bytes, ends }) => {
                    bytes.extend_from_slice(text.as_bytes());
                    ends.push(bytes.len());
                    self.text_bytes += text.len();
                    true
                }
                (Some(Cell::Long(number)), Kind::Long, Values::Longs(values))
                | (Some(Cell::TimeMs(number)), Kind::TimeMs, Values::Longs(values)) => {
                    values.push(*number);
                    true
                }
                (Some(Cell::Absent), ..) if column.is_nullable => false,
                _ => return Err(wrong(columns, index, cell)),
            };
            if column.is_nullable {
                waiting.levels.push(i16::from(is_there));
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Writes the rows as one row group, if there are any.
    pub(crate) fn write(self, writer: &mut SerializedFileWriter<Vec<u8>>) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = writer.next_row_group()?;
        for column in self.columns {
            if let Some(writer) = group.next_column()? {
                write_column(writer, column)?;
            }
        }
        group.close().map(drop)
    }
}

fn wrong(columns: &[Column], index: usize, cell: Option<&Cell<'_>>) -> PiecesError {
    PiecesError::Row {
        place: index + 1,
        columns: columns.len(),
        found: cell.map_or_else(|| "nothing".to_owned(), |cell| format!("{cell:?}")),
        expected: columns.get(index).map_or_else(String::new, |column| {
            format!("{} of kind {:?}", column.name, column.kind)
        }),
    }
}

fn write_column(mut writer: SerializedColumnWriter<'_>, column: Waiting) -> Result<(), ParquetError> {
    let levels = (!column.levels.is_empty()).then_some(column.levels.as_slice());
    match column.values {
        Values::Texts { bytes, ends } => {
            let bytes = Bytes::from(bytes);
            let mut begin = 0;
            let cut = |end: usize| ByteArray::from(bytes.slice(std::mem::replace(&mut begin, end)..end));
            let texts: Vec<ByteArray> = ends.into_iter().map(cut).collect();
            writer
                .typed::<ByteArrayType>()
                .write_batch(&texts, levels, None)?;
        }
        Values::Longs(values) => {
            writer.typed::<Int64Type>().write_batch(&values, levels, None)?;
        }
    }
    writer.close()
}
