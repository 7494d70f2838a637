//! Handles of prepared statements. The server keeps nothing between requests, so a handle contains
//! the statement and, once they are bound, the values of its parameters.
//!
//! | bytes | a statement by itself | with values |
//! |---|---|---|
//! | first | the statement, as UTF-8 | 0, which no statement begins with |
//! | next 4 | | length of the statement, little-endian |
//! | next | | the statement, as UTF-8 |
//! | rest | | the values: a stream of Arrow IPC, with one batch of one row |

use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::sql::server::PeekableFlightDataStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use sql::arrow::array::RecordBatch;
use sql::arrow::error::ArrowError;
use sql::arrow::ipc::reader::StreamReader;
use sql::arrow::ipc::writer::StreamWriter;
use tonic::Status;

/// Size limit of a handle: clients send it with each request, which can have 4 MiB.
const HANDLE_BYTES_MAX: usize = 2 << 20;

const WITH_VALUES: u8 = 0;

/// A prepared statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PreparedStatement {
    pub(super) statement: String,
    /// Values of the parameters: a column for each, of one row.
    pub(super) values: Option<RecordBatch>,
}

impl PreparedStatement {
    /// Returns the handle.
    pub(super) fn encode(&self) -> Result<Vec<u8>, Status> {
        let mut handle = Vec::new();
        let statement = self.statement.as_bytes();
        match &self.values {
            None => handle.extend_from_slice(statement),
            Some(values) => {
                handle.push(WITH_VALUES);
                let length = u32::try_from(statement.len()).unwrap_or(u32::MAX);
                handle.extend_from_slice(&length.to_le_bytes());
                handle.extend_from_slice(statement);
                append_values(values, &mut handle).map_err(|error| Status::internal(error.to_string()))?;
            }
        }
        if handle.len() > HANDLE_BYTES_MAX {
            return Err(Status::invalid_argument(format!(
                "the statement and its values take {} bytes; {HANDLE_BYTES_MAX} are allowed",
                handle.len()
            )));
        }
        Ok(handle)
    }

    /// Returns the statement of a handle.
    pub(super) fn decode(handle: &[u8]) -> Result<PreparedStatement, Status> {
        let Some((&WITH_VALUES, rest)) = handle.split_first() else {
            return Ok(PreparedStatement {
                statement: text(handle)?,
                values: None,
            });
        };
        let parts = rest.split_first_chunk::<4>().and_then(|(length, rest)| {
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            rest.split_at_checked(length)
        });
        let Some((statement, values)) = parts else {
            return Err(no_handle("it is cut off"));
        };
        Ok(PreparedStatement {
            statement: text(statement)?,
            values: read_values(values).map_err(no_handle)?,
        })
    }
}

fn text(bytes: &[u8]) -> Result<String, Status> {
    String::from_utf8(bytes.to_vec()).map_err(no_handle)
}

fn no_handle(why: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("no handle of a prepared statement: {why}"))
}

fn append_values(values: &RecordBatch, handle: &mut Vec<u8>) -> Result<(), ArrowError> {
    let mut writer = StreamWriter::try_new(handle, &values.schema())?;
    writer.write(values)?;
    writer.finish()
}

fn read_values(bytes: &[u8]) -> Result<Option<RecordBatch>, ArrowError> {
    StreamReader::try_new(bytes, None)?.next().transpose()
}

/// Reads the values that a client binds; `None` if it sends no row.
pub(super) async fn bound_values(sent: PeekableFlightDataStream) -> Result<Option<RecordBatch>, Status> {
    let mut batches = FlightRecordBatchStream::new_from_flight_data(sent.map_err(FlightError::from));
    let mut values = None;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        match batch.num_rows() {
            0 => {}
            1 if values.is_none() => values = Some(batch),
            _ => {
                return Err(Status::invalid_argument(
                    "a statement is run with one row of values at a time, but several were sent",
                ));
            }
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sql::arrow::array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    fn prepared(text: &str) -> PreparedStatement {
        let columns: [(&str, ArrayRef); 2] = [
            ("a", Arc::new(Int64Array::from(vec![None::<i64>]))),
            ("b", Arc::new(StringArray::from(vec![text]))),
        ];
        PreparedStatement {
            statement: "SELECT ?, ?".into(),
            values: Some(
                RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
                    .unwrap(),
            ),
        }
    }

    #[test]
    fn handles_contain_the_statement_and_its_values() {
        let unbound = PreparedStatement {
            statement: "SELECT 1".into(),
            values: None,
        };
        assert_eq!(unbound.encode().unwrap(), b"SELECT 1");
        for prepared in [unbound, prepared("x")] {
            let handle = prepared.encode().unwrap();
            assert_eq!(PreparedStatement::decode(&handle).unwrap(), prepared);
        }
    }

    #[test]
    fn wrong_handles_and_large_ones_are_refused() {
        let whole = prepared("x").encode().unwrap();
        let values_at = 5 + "SELECT ?, ?".len();
        for end in 1..whole.len() {
            let cut = PreparedStatement::decode(&whole[..end]);
            assert!(cut.is_err() || end > values_at, "{end}: {cut:?}");
        }
        assert!(PreparedStatement::decode(&[0xff]).is_err());
        let error = prepared(&"x".repeat(HANDLE_BYTES_MAX)).encode().unwrap_err();
        assert!(error.message().contains("are allowed"), "{error}");
    }
}
