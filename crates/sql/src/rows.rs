//! Converts the text of a dump, as it arrives, to batches of columns.

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Int64Builder, RecordBatch, StringViewBuilder, TimestampMicrosecondBuilder,
};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::error::ArrowError;

/// Rows per batch.
const BATCH_ROWS: usize = 8192;

/// A writer that parses the text of a dump (tab-separated, see `docs/views.md`) and produces
/// batches.
pub(crate) struct RowSink<F> {
    schema: SchemaRef,
    /// For each column of the text its column in the schema, if any.
    targets: Vec<Option<usize>>,
    columns: Vec<Column>,
    rows: usize,
    /// An incomplete row.
    rest: Vec<u8>,
    unescaped: String,
    give: F,
}

enum Column {
    Text(StringViewBuilder),
    Number(Int64Builder),
    Time(TimestampMicrosecondBuilder),
}

impl<F: FnMut(RecordBatch) -> io::Result<()>> RowSink<F> {
    /// Makes a sink for text with the columns `names`. Batches are passed to `give`, which may end
    /// the dump with an error.
    pub(crate) fn new(names: &[&str], schema: SchemaRef, give: F) -> RowSink<F> {
        let columns = schema
            .fields()
            .iter()
            .map(|field| match field.data_type() {
                DataType::Int64 => Column::Number(Int64Builder::new()),
                DataType::Timestamp(..) => {
                    Column::Time(TimestampMicrosecondBuilder::new().with_timezone("UTC"))
                }
                _ => Column::Text(StringViewBuilder::new()),
            })
            .collect();
        RowSink {
            targets: names.iter().map(|name| schema.index_of(name).ok()).collect(),
            schema,
            columns,
            rows: 0,
            rest: Vec::new(),
            unescaped: String::new(),
            give,
        }
    }

    /// Passes on the last batch.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if !self.rest.is_empty() {
            return Err(malformed("the last row is truncated"));
        }
        match self.rows {
            0 => Ok(()),
            _ => self.flush_rows(),
        }
    }

    fn row(&mut self, line: &[u8]) -> io::Result<()> {
        let line = std::str::from_utf8(line).map_err(|_| malformed("a row is not UTF-8"))?;
        let mut cells = line.split('\t');
        for target in &self.targets {
            let cell = cells
                .next()
                .ok_or_else(|| malformed("a row has too few columns"))?;
            let Some(target) = target else { continue };
            match &mut self.columns[*target] {
                Column::Number(column) => {
                    let number: u64 = cell.parse().map_err(|_| malformed("a number is invalid"))?;
                    column.append_value(i64::try_from(number).unwrap_or(i64::MAX));
                }
                Column::Time(column) => {
                    column.append_value(micros(cell).ok_or_else(|| malformed("a time is invalid"))?);
                }
                Column::Text(column) if cell.contains('\\') => {
                    unescape(cell, &mut self.unescaped);
                    column.append_value(&self.unescaped);
                }
                Column::Text(column) => column.append_value(cell),
            }
        }
        self.rows += 1;
        if self.rows == BATCH_ROWS {
            self.flush_rows()?;
        }
        Ok(())
    }

    fn flush_rows(&mut self) -> io::Result<()> {
        let array = |column: &mut Column| -> ArrayRef {
            match column {
                Column::Text(column) => Arc::new(column.finish()),
                Column::Number(column) => Arc::new(column.finish()),
                Column::Time(column) => Arc::new(column.finish()),
            }
        };
        let arrays = self.columns.iter_mut().map(array).collect();
        let options = datafusion::arrow::array::RecordBatchOptions::new().with_row_count(Some(self.rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .map_err(|error: ArrowError| malformed(&error.to_string()))?;
        self.rows = 0;
        (self.give)(batch)
    }
}

impl<F: FnMut(RecordBatch) -> io::Result<()>> Write for RowSink<F> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut left = data;
        while let Some(end) = left.iter().position(|&byte| byte == b'\n') {
            let (line, after) = (&left[..end], &left[end + 1..]);
            if self.rest.is_empty() {
                self.row(line)?;
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(line);
                self.row(&whole)?;
                whole.clear();
                self.rest = whole;
            }
            left = after;
        }
        self.rest.extend_from_slice(left);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn malformed(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("rows of a view: {why}"))
}

fn unescape(cell: &str, out: &mut String) {
    out.clear();
    let mut characters = cell.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('t') => out.push('\t'),
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            other => out.push(other),
        }
    }
}

/// Parses a time in a dump into microseconds since 1970.
pub(crate) fn micros(cell: &str) -> Option<i64> {
    // A time beyond the range of dates is written as a number of milliseconds.
    if let Ok(ms) = cell.parse::<i64>() {
        return ms.checked_mul(1000);
    }
    datafusion::arrow::compute::kernels::cast_utils::string_to_timestamp_nanos(cell)
        .ok()
        .map(|nanos| nanos.div_euclid(1000))
}

#[cfg(test)]
mod tests {
    use archive::question::View;
    use datafusion::arrow::util::pretty::pretty_format_batches;
    use expect_test::{Expect, expect};

    use super::*;
    use crate::LiveTable;

    /// Feeds the text in pieces of every size and expects the same rows.
    fn check(view: View, text: &str, expected: Expect) {
        let table = LiveTable { view };
        let schema = table.schema();
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        let mut seen: Option<Vec<String>> = None;
        for piece in 1..text.len() + 1 {
            let mut batches = Vec::new();
            let mut sink = RowSink::new(&names, schema.clone(), |batch| {
                batches.push(batch);
                Ok(())
            });
            for piece in text.as_bytes().chunks(piece) {
                sink.write_all(piece).unwrap();
            }
            sink.finish().unwrap();
            let shown = pretty_format_batches(&batches).unwrap().to_string();
            let shown: Vec<String> = shown.lines().map(str::to_owned).collect();
            assert_eq!(seen.get_or_insert_with(|| shown.clone()), &shown);
        }
        expected.assert_eq(&seen.unwrap().join("\n"));
    }

    #[test]
    fn text_becomes_columns() {
        check(
            View::Uris,
            "com,a)/\t1\t2\t0\ncom,b)/x\\ty\\\\\t0\t7\t7\n",
            expect![[r#"
                +-------------+----------+---------+------------------+
                | url_key     | captured | inlinks | inlinks_external |
                +-------------+----------+---------+------------------+
                | com,a)/     | 1        | 2       | 0                |
                | com,b)/x	y\ | 0        | 7       | 7                |
                +-------------+----------+---------+------------------+"#]],
        );
    }

    #[test]
    fn what_is_no_row_is_an_error() {
        let schema = LiveTable { view: View::Uris }.schema();
        for text in ["a\t1\n", "a\tx\t1\t1\n", "a\t1\t1\t1"] {
            let mut sink = RowSink::new(
                &["url_key", "captured", "inlinks", "inlinks_external"],
                schema.clone(),
                |_| Ok(()),
            );
            let outcome = sink.write_all(text.as_bytes()).and_then(|()| sink.finish());
            assert!(outcome.is_err(), "{text:?}");
        }
    }

    #[test]
    fn times_are_read_as_they_are_dumped() {
        assert_eq!(micros("1970-01-01T00:00:01.002Z"), Some(1_002_000));
        assert_eq!(micros("2014-01-26T20:06:24.123Z"), Some(1_390_766_784_123_000));
        assert_eq!(micros("5"), Some(5000));
        assert_eq!(micros("yesterday"), None);
    }
}
