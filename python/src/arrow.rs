//! Columns of facts as Arrow arrays, with the names, order, types and nullability of the tables.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    TimestampMillisecondArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use facts::{Column, Kind, Table, TableRows, Values};

/// Returns the schema of a table.
pub(crate) fn schema(table: Table) -> SchemaRef {
    let field = |field: &facts::Field| Field::new(field.name, data_type(field.kind), field.is_nullable);
    Arc::new(Schema::new(table.fields().iter().map(field).collect::<Vec<_>>()))
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Text => DataType::Utf8,
        Kind::Int => DataType::Int32,
        Kind::Long => DataType::Int64,
        Kind::Bool => DataType::Boolean,
        Kind::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Kind::TimeMs => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
    }
}

/// Converts rows of a table to a batch.
pub(crate) fn batch(rows: TableRows) -> Result<RecordBatch, ArrowError> {
    let schema = schema(rows.table());
    let columns: Result<Vec<_>, _> = rows.into_columns().into_iter().map(array).collect();
    RecordBatch::try_new(schema, columns?)
}

fn array(column: Column) -> Result<ArrayRef, ArrowError> {
    let Column {
        field,
        values,
        levels,
    } = column;
    let nulls = field
        .is_nullable
        .then(|| NullBuffer::new(BooleanBuffer::from_iter(levels.iter().map(|level| *level == 1))));
    Ok(match values {
        Values::Text { bytes, ends } => {
            let offsets = offsets(&ends, field.is_nullable.then_some(&levels))?;
            Arc::new(StringArray::try_new(offsets, Buffer::from_vec(bytes), nulls)?)
        }
        Values::Int(values) => Arc::new(Int32Array::try_new(spread(values, nulls.as_ref()), nulls)?),
        Values::Long(values) => {
            let values = spread(values, nulls.as_ref());
            match field.kind {
                Kind::Time => {
                    Arc::new(TimestampMicrosecondArray::try_new(values, nulls)?.with_timezone("UTC"))
                }
                Kind::TimeMs => {
                    Arc::new(TimestampMillisecondArray::try_new(values, nulls)?.with_timezone("UTC"))
                }
                _ => Arc::new(Int64Array::try_new(values, nulls)?),
            }
        }
        // No column of this type is nullable. If one becomes nullable, the lengths differ and the
        // batch is rejected.
        Values::Bool(values) => Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls)),
    })
}

/// Returns the offsets of all texts. A NULL row gets an empty text at the end of the previous one.
fn offsets(ends: &[usize], levels: Option<&Vec<i16>>) -> Result<OffsetBuffer<i32>, ArrowError> {
    let number = |end: usize| i32::try_from(end).map_err(|_| ArrowError::OffsetOverflowError(end));
    let mut offsets = Vec::with_capacity(levels.map_or(ends.len(), Vec::len) + 1);
    offsets.push(0);
    match levels {
        None => {
            for end in ends {
                offsets.push(number(*end)?);
            }
        }
        Some(levels) => {
            let (mut ends, mut last) = (ends.iter(), 0);
            for level in levels {
                if *level == 1 {
                    last = number(ends.next().copied().unwrap_or_default())?;
                }
                offsets.push(last);
            }
        }
    }
    Ok(OffsetBuffer::new(offsets.into()))
}

/// Returns values for all rows, with a placeholder where a row is NULL.
fn spread<T: Copy + Default + arrow_buffer::ArrowNativeType>(
    values: Vec<T>,
    nulls: Option<&NullBuffer>,
) -> ScalarBuffer<T> {
    match nulls {
        None => values.into(),
        Some(nulls) => {
            let mut values = values.into_iter();
            let spread = nulls.iter().map(|is_there| {
                if is_there {
                    values.next().unwrap_or_default()
                } else {
                    T::default()
                }
            });
            spread.collect::<Vec<T>>().into()
        }
    }
}
