//! The rows of one row group, decoded.

use parquet::basic::{LogicalType, TimeUnit};
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;

use crate::field::{Field, Kind};

/// Rows of a row group.
#[derive(Debug)]
pub struct Group {
    fields: &'static [Field],
    /// The columns that the rows are sorted by.
    key: &'static [Field],
    columns: Vec<Cells>,
    rows: usize,
}

/// The values of a column, one for each row.
#[derive(Debug)]
enum Cells {
    Text(Vec<Option<ByteArray>>),
    /// Numbers, and times in milliseconds.
    Number(Vec<Option<i64>>),
    Bool(Vec<Option<bool>>),
}

impl Cells {
    fn size_bytes(&self) -> u64 {
        let bytes = match self {
            Cells::Text(texts) => {
                let of_texts: usize = texts.iter().flatten().map(ByteArray::len).sum();
                of_texts + size_of_val(texts.as_slice())
            }
            Cells::Number(numbers) => size_of_val(numbers.as_slice()),
            Cells::Bool(values) => size_of_val(values.as_slice()),
        };
        bytes as u64
    }
}

impl Group {
    /// Decodes the columns `fields` of a row group, which may have others.
    pub(super) fn read(
        group: &dyn RowGroupReader,
        fields: &'static [Field],
        key: &'static [Field],
    ) -> Result<Group, ParquetError> {
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| ParquetError::General("negative number of rows".to_owned()))?;
        let columns = fields.iter().map(|field| read_column(group, field, rows));
        Ok(Group {
            fields,
            key,
            columns: columns.collect::<Result<_, _>>()?,
            rows,
        })
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the approximate memory in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.columns.iter().map(Cells::size_bytes).sum()
    }

    /// Returns a text; `None` if the row has none, or if there is no such row or column of texts.
    pub fn text(&self, column: &str, row: usize) -> Option<&str> {
        match self.column(column)? {
            Cells::Text(texts) => texts.get(row)?.as_ref()?.as_utf8().ok(),
            Cells::Number(_) | Cells::Bool(_) => None,
        }
    }

    /// Returns a number, or a time in milliseconds since 1970. `None` as in [`Group::text`].
    pub fn number(&self, column: &str, row: usize) -> Option<i64> {
        match self.column(column)? {
            Cells::Number(numbers) => *numbers.get(row)?,
            Cells::Text(_) | Cells::Bool(_) => None,
        }
    }

    /// Returns true or false. `None` as in [`Group::text`].
    pub fn bool(&self, column: &str, row: usize) -> Option<bool> {
        match self.column(column)? {
            Cells::Bool(values) => *values.get(row)?,
            Cells::Text(_) | Cells::Number(_) => None,
        }
    }

    fn column(&self, name: &str) -> Option<&Cells> {
        let place = self.fields.iter().position(|field| field.name == name)?;
        self.columns.get(place)
    }

    /// Returns the key of a row as bytes, which sort like the rows: texts end with a NUL, numbers
    /// are big-endian. Keys of captures are the row keys of an archive's index.
    pub fn key(&self, row: usize) -> Vec<u8> {
        let mut key = Vec::with_capacity(64);
        for field in self.key {
            let number = || self.number(field.name, row).unwrap_or_default();
            match field.kind {
                Kind::Text => {
                    key.extend_from_slice(self.text(field.name, row).unwrap_or_default().as_bytes());
                    key.push(0);
                }
                Kind::Int => key.extend_from_slice(&(number() as u32).to_be_bytes()),
                Kind::Long => key.extend_from_slice(&(number() as u64).to_be_bytes()),
                // Flipping the sign makes times before 1970 sort first.
                Kind::Time | Kind::TimeMs => {
                    key.extend_from_slice(&((number() as u64) ^ (1 << 63)).to_be_bytes());
                }
                Kind::Bool => key.push(u8::from(self.bool(field.name, row).unwrap_or_default())),
            }
        }
        key
    }

    /// Returns the first row with a key of `from` or greater, or else the number of rows.
    pub fn lower_bound(&self, from: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle).as_slice() < from {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

fn read_column(group: &dyn RowGroupReader, field: &Field, rows: usize) -> Result<Cells, ParquetError> {
    let wrong = |what: &str| ParquetError::General(format!("column {}: {what}", field.name));
    let schema = group.metadata().schema_descr();
    let place = (0..schema.num_columns()).find(|place| schema.column(*place).name() == field.name);
    let place = place.ok_or_else(|| wrong("missing"))?;
    let column = schema.column(place);
    let (mut levels, is_optional) = (Vec::new(), column.max_def_level() > 0);
    let cells = match (field.kind, group.get_column_reader(place)?) {
        (Kind::Text, ColumnReader::ByteArrayColumnReader(mut reader)) => {
            let mut values = Vec::new();
            reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            if let Some(Err(error)) = values.iter().map(ByteArray::as_utf8).find(Result::is_err) {
                return Err(error);
            }
            Cells::Text(spread(values, &levels, is_optional))
        }
        (Kind::Bool, ColumnReader::BoolColumnReader(mut reader)) => {
            let mut values = Vec::new();
            reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            Cells::Bool(spread(values, &levels, is_optional))
        }
        (Kind::Int | Kind::Long, ColumnReader::Int32ColumnReader(mut reader)) => {
            let mut values = Vec::new();
            reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            let values = values.into_iter().map(i64::from).collect();
            Cells::Number(spread(values, &levels, is_optional))
        }
        (Kind::Int | Kind::Long | Kind::Time | Kind::TimeMs, ColumnReader::Int64ColumnReader(mut reader)) => {
            let mut values = Vec::new();
            reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            if in_micros(column.logical_type_ref()) {
                values.iter_mut().for_each(|us| *us = i64::div_euclid(*us, 1000));
            }
            Cells::Number(spread(values, &levels, is_optional))
        }
        _ => return Err(wrong("unexpected type")),
    };
    let (found, is_whole) = match &cells {
        Cells::Text(cells) => (cells.len(), cells.iter().all(Option::is_some)),
        Cells::Number(cells) => (cells.len(), cells.iter().all(Option::is_some)),
        Cells::Bool(cells) => (cells.len(), cells.iter().all(Option::is_some)),
    };
    if found != rows {
        return Err(wrong(&format!("found {found} rows, expected {rows}")));
    }
    if !is_whole && !field.is_nullable {
        return Err(wrong("a row has no value"));
    }
    Ok(cells)
}

fn in_micros(kind: Option<&LogicalType>) -> bool {
    matches!(kind, Some(LogicalType::Timestamp(time)) if time.unit == TimeUnit::MICROS)
}

/// Puts each value into its row. Rows without a value have definition level 0.
fn spread<V>(values: Vec<V>, levels: &[i16], is_optional: bool) -> Vec<Option<V>> {
    if !is_optional {
        return values.into_iter().map(Some).collect();
    }
    let mut values = values.into_iter();
    let value = |level: &i16| if *level > 0 { values.next() } else { None };
    levels.iter().map(value).collect()
}
