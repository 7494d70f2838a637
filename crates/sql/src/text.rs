//! Formats rows like `weft dump`.

use std::io::Write;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, TimeUnit, TimestampMillisecondType};
use datafusion::arrow::error::ArrowError;

/// Appends the rows of a batch: tab-separated, with `\t`, `\n`, `\r` and `\\` escaped, and times to
/// the millisecond. NULL becomes an empty cell, as in dumps.
pub(crate) fn append_rows(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError> {
    let columns: Vec<Cells> = batch.columns().iter().map(Cells::of).collect::<Result<_, _>>()?;
    for row in 0..batch.num_rows() {
        for (place, column) in columns.iter().enumerate() {
            if place > 0 {
                out.push(b'\t');
            }
            column.append(row, out);
        }
        out.push(b'\n');
    }
    Ok(())
}

enum Cells {
    Text(ArrayRef),
    Number(ArrayRef),
    Time(ArrayRef),
}

impl Cells {
    fn of(column: &ArrayRef) -> Result<Cells, ArrowError> {
        Ok(match column.data_type() {
            DataType::Timestamp(_, zone) => {
                let of_ms = DataType::Timestamp(TimeUnit::Millisecond, zone.clone());
                Cells::Time(cast(column, &of_ms)?)
            }
            r#type if r#type.is_integer() || *r#type == DataType::Boolean => {
                Cells::Number(cast(column, &DataType::Int64)?)
            }
            _ => Cells::Text(cast(column, &DataType::Utf8View)?),
        })
    }

    fn append(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Cells::Text(texts) if !texts.is_null(row) => escaped(texts.as_string_view().value(row), out),
            Cells::Number(numbers) if !numbers.is_null(row) => {
                // Writing to memory cannot fail.
                let _ = write!(out, "{}", numbers.as_primitive::<Int64Type>().value(row));
            }
            Cells::Time(times) if !times.is_null(row) => {
                let ms = times.as_primitive::<TimestampMillisecondType>().value(row);
                out.extend_from_slice(format::date::iso(ms).as_bytes());
            }
            _ => {}
        }
    }
}

fn escaped(text: &str, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{Int64Array, StringArray, TimestampMicrosecondArray};

    use super::*;

    #[test]
    fn rows_are_as_dumps_have_them() {
        let times = TimestampMicrosecondArray::from(vec![1_390_766_784_123_000]).with_timezone("UTC");
        let batch = RecordBatch::try_from_iter([
            (
                "t",
                Arc::new(StringArray::from(vec!["a\tb\\c\nd\re"])) as ArrayRef,
            ),
            ("n", Arc::new(Int64Array::from(vec![7]))),
            ("m", Arc::new(times)),
            ("x", Arc::new(StringArray::from(vec![None::<&str>]))),
        ])
        .unwrap();
        let mut out = Vec::new();
        append_rows(&batch, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "a\\tb\\\\c\\nd\\re\t7\t2014-01-26T20:06:24.123Z\t\n"
        );
    }
}
